// Work inside a cgroup, and the truth about it.
//
//   work CGROUP_DIRECTORY CPU TRUTH REPORT KIND [AMOUNT]
//
// Moves itself into the cgroup and onto the CPU, opens the counter TRUTH of its own, and stops
// (SIGSTOP), as it does at each SIGUSR1 and after each round. Before it stops it appends the
// counter to the file REPORT, in hexadecimal. SIGCONT lets it go on. Between two stops lies the
// same code, whatever the numbers, so differences can be compared to the last instruction.
//
//   TRUTH  instructions, instructions:u   retired by this process
//          cgroup/instructions            retired by the cgroup on the CPU, which is a little more:
//                                         the kernel changes to and from a cgroup before and after
//                                         the counters of its task
//          cpu/instructions               retired by all that runs on the CPU
//          -                              none: reports 0 and needs no counter
//   KIND   loop AMOUNT    rounds of AMOUNT instructions, and a few to stop
//          spin           one round without end
//          wake AMOUNT    recv(2) until its timeout of 8 ms, then works for AMOUNT us, and again.
//                         The timeout ends on a tick, so the work always lies between two ticks
//          pulse AMOUNT   works for AMOUNT us, then sleeps 99 times that, and again
//          burst AMOUNT   works for AMOUNT us on average, sleeps for twice that, and again
//          calls AMOUNT   the same, with few of the instructions in user mode: in system calls
//          switch AMOUNT  AMOUNT instructions, then a process of the cgroup
//          CGROUP_DIRECTORY-partner
//                         has the CPU for a moment, and again: as many switches as there can be

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "counter.h"

namespace {

using namespace pex::test;

int truth_fd = -1;
int report_fd = -1;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// No branch depends on the value.
void report_and_stop() {
  std::uint64_t count = 0;
  if (truth_fd >= 0 && ::read(truth_fd, &count, sizeof count) != sizeof count) {
    die("read the true count");  // 0 bytes: it lost its place on the PMU
  }
  char line[17];
  for (int digit = 0; digit < 16; ++digit) {
    line[digit] = "0123456789abcdef"[(count >> (60 - 4 * digit)) & 15];
  }
  line[16] = '\n';
  if (::write(report_fd, line, sizeof line) != sizeof line) die("write the report");
  ::kill(::getpid(), SIGSTOP);
}

void stop_at_signal() {
  struct sigaction action {};
  action.sa_handler = [](int) { report_and_stop(); };
  action.sa_flags = SA_RESTART;
  if (::sigaction(SIGUSR1, &action, nullptr) != 0) die("sigaction");
}

/// Exactly two instructions in each turn.
void retire(std::uint64_t instructions) {
  std::uint64_t turns = instructions / 2;
#ifdef __aarch64__
  asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(turns) : : "cc");
#else
  asm volatile("1: sub $1, %0\n jne 1b" : "+r"(turns) : : "cc");
#endif
}

void work_for_us(long us) {
  const std::int64_t until = now_ns() + us * 1000;
  while (now_ns() < until) retire(1000);
}

int open_truth(const std::string& name, const char* cgroup_directory, int cpu) {
  if (name == "-") return -1;
  perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.pinned = 1;  // always on the PMU, before all that take turns
  attr.exclude_kernel = name.ends_with(":u") ? 1 : 0;
  if (name.starts_with("cpu/")) return open_counter(attr, -1, cpu);
  if (!name.starts_with("cgroup/")) return open_counter(attr, 0, -1);
  const int cgroup = ::open(cgroup_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup < 0) die("open the cgroup");
  return open_counter(attr, cgroup, cpu, -1, PERF_FLAG_PID_CGROUP);
}

[[noreturn]] void wake_on_ticks(long work_us) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) die("socketpair");
  const timeval timeout{0, 8000};
  if (::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) die("timeout");
  for (;;) {
    char byte;
    (void)!::recv(ends[0], &byte, 1, 0);
    work_for_us(work_us);
  }
}

[[noreturn]] void pulse(long work_us) {
  const long pause_us = 99 * work_us;
  const timespec pause{pause_us / 1'000'000, pause_us % 1'000'000 * 1000};
  for (;;) {
    work_for_us(work_us);
    ::nanosleep(&pause, nullptr);
  }
}

/// Exponential in length, so that no rhythm follows that of the PMU.
class Bursts {
 public:
  explicit Bursts(long mean_us) : mean_us_(static_cast<double>(mean_us)) {}

  template <typename Step>
  [[noreturn]] void run(Step step) {
    for (;;) {
      const std::int64_t until = now_ns() + next_us(1) * 1000;
      while (now_ns() < until) step();
      const long pause_us = next_us(2);
      const timespec pause{pause_us / 1'000'000, pause_us % 1'000'000 * 1000};
      ::nanosleep(&pause, nullptr);
    }
  }

 private:
  long next_us(double times) {
    return static_cast<long>(std::exponential_distribution{1 / (times * mean_us_)}(random_));
  }

  double mean_us_;
  std::minstd_rand random_{1};
};

void call_often() {
  for (int call = 0; call < 20; ++call) ::syscall(SYS_getppid);
}

/// A process of another cgroup that gives back each byte that it is given.
class Partner {
 public:
  explicit Partner(const std::string& cgroup_directory) {
    if (::pipe(there_) != 0 || ::pipe(back_) != 0) die("pipe");
    const pid_t child = ::fork();
    if (child < 0) die("fork");
    if (child > 0) {
      ::close(there_[0]);  // so that it sees the end of this process
      return;
    }
    ::close(there_[1]);
    join_cgroup(cgroup_directory);
    for (char byte = 0; ::read(there_[0], &byte, 1) == 1 && ::write(back_[1], &byte, 1) == 1;) {
    }
    ::_exit(0);
  }

  void take_and_give_back() {
    char byte = 0;
    if (::write(there_[1], &byte, 1) != 1) die("write to the partner");
    while (::read(back_[0], &byte, 1) != 1) {  // SIGUSR1 may interrupt it
    }
  }

 private:
  int there_[2];
  int back_[2];
};

[[noreturn]] void switch_cgroups(Partner& partner, long instructions) {
  for (;;) {
    retire(static_cast<std::uint64_t>(instructions));
    partner.take_and_give_back();
  }
}

[[noreturn]] void work(std::string_view kind, long amount, const std::string& cgroup_directory) {
  std::optional<Partner> partner;
  if (kind == "switch") partner.emplace(cgroup_directory + "-partner");
  report_and_stop();
  if (partner) switch_cgroups(*partner, amount);
  if (kind == "wake") wake_on_ticks(amount);
  if (kind == "pulse") pulse(amount);
  if (kind == "burst") Bursts(amount).run([] { retire(1000); });
  if (kind == "calls") Bursts(amount).run(call_often);
  if (kind == "spin") {
    for (;;) retire(1'000'000);
  }
  for (;;) {
    retire(static_cast<std::uint64_t>(amount));
    report_and_stop();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fputs("usage: work CGROUP_DIRECTORY CPU TRUTH REPORT KIND [AMOUNT]\n", stderr);
    return 2;
  }
  const int cpu = std::atoi(argv[2]);
  report_fd = ::open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (report_fd < 0) die("open the report");
  join_cgroup(argv[1]);
  pin_to(cpu);
  truth_fd = open_truth(argv[3], argv[1], cpu);
  stop_at_signal();
  work(argv[5], argc > 6 ? std::atol(argv[6]) : 0, argv[1]);
}
