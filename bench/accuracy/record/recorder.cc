// The first and only process of the emulated machine: runs one load on the one CPU, reads the
// counters of four groups that take turns once a second, and prints what the kernel reported.
//
//   recorder SCOPE LOAD SECONDS         SCOPE: cpu, cgroup; LOAD: one of kLoads
//
// All events are of the CPU, or of the cgroup that the load is in. Of each group: user instructions
// (y), all instructions (x) and a cpu-clock; of a pinned group, always on the PMU: user
// instructions (the truth) and all instructions (X); and a cpu-clock that is always counted.
// Printed are increments, a line for each second:
//
//   truth X enabled [cpu-clock enabled]   enabled running y x [cpu-clock]
//
// The last five are printed for each group; times are in ns. The clocks are left out for the scope
// cpu, whose times are right on every kernel.

#include <signal.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/vm/guest/counter.h"

namespace {

using namespace pex::test;

// --- time and load
// --------------------------------------------------------------------------------

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(std::int64_t ns) {
  const timespec until{ns / 1'000'000'000, ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

/// 32 us of this machine.
void retire_4000() {
  std::uint64_t turns = 2000;
  asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(turns) : : "cc");
}

void compute_until(std::int64_t ns) {
  while (now_ns() < ns) retire_4000();
}

/// Nearly all of it in the kernel.
void stay_in_kernel_until(std::int64_t ns) {
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (zero < 0) die("open /dev/zero");
  static char buffer[1 << 16];
  while (now_ns() < ns) (void)!::read(zero, buffer, sizeof buffer);
  ::close(zero);
}

/// Exponential, always the same sequence: minimal standard generator (Park and Miller, 1988).
std::int64_t random_ns(double mean_ms) {
  static std::uint64_t state = 20'061;
  state = state * 48'271 % 2'147'483'647;
  const double uniform = static_cast<double>(state) / 2'147'483'647;
  return static_cast<std::int64_t>(-mean_ms * 1e6 * std::log(uniform));
}

/// The load is on for `on_ms` and off for `off_ms`: of a fixed period, or on average. `user_ms`: it
/// changes between user and kernel mode after so long on average; 0: never. `switches`: while it is
/// on, it passes the CPU to a process of another cgroup and back, as fast as it can.
struct Load {
  std::string_view name;
  double on_ms;
  double off_ms;
  bool is_periodic;
  double user_ms;
  bool switches = false;
};

constexpr Load kLoads[] = {
    {"steady", 1000, 0, true, 0},
    {"on-2ms-off-6ms", 2, 6, false, 0},
    {"on-40ms-off-120ms", 40, 120, false, 0},
    {"on-2s-off-6s", 2000, 6000, false, 0},
    {"on-3s-every-60s", 3000, 57'000, true, 0},
    {"on-4ms-every-16.005ms", 4, 12.005, true, 0},
    {"user-kernel-idle", 40, 120, false, 20},
    {"user-kernel-busy", 1000, 0, true, 60},
    {"1-percent", 5, 495, false, 0},
    {"5-percent", 5, 95, false, 0},
    {"switches", 1000, 0, true, 0, true},
};

const Load& load_named(std::string_view name) {
  for (const Load& load : kLoads) {
    if (load.name == name) return load;
  }
  std::fputs("no such load\n", stderr);
  std::exit(2);
}

constexpr const char* kLoadCgroup = "/sys/fs/cgroup/load";
constexpr const char* kPartnerCgroup = "/sys/fs/cgroup/partner";

/// A process of another cgroup that gives back each byte that it is given.
class Partner {
 public:
  Partner() {
    if (::pipe(there_) != 0 || ::pipe(back_) != 0) die("pipe");
    const pid_t child = ::fork();
    if (child < 0) die("fork");
    if (child > 0) return;
    join_cgroup(kPartnerCgroup);
    for (char byte = 0; ::read(there_[0], &byte, 1) == 1 && ::write(back_[1], &byte, 1) == 1;) {
    }
    ::_exit(0);
  }

  void take_and_give_back() {
    char byte = 0;
    if (::write(there_[1], &byte, 1) != 1 || ::read(back_[0], &byte, 1) != 1) die("partner");
  }

 private:
  int there_[2];
  int back_[2];
};

void switch_until(std::int64_t until) {
  static Partner partner;
  while (now_ns() < until) {
    retire_4000();
    partner.take_and_give_back();
  }
}

void work_until(const Load& load, std::int64_t until) {
  if (load.switches) return switch_until(until);
  static bool in_user = true;
  static std::int64_t change = 0;
  while (load.user_ms > 0 && now_ns() < until) {
    if (change <= now_ns()) {
      in_user = !in_user;
      change = now_ns() + random_ns(load.user_ms);
    }
    const std::int64_t next = std::min(change, until);
    in_user ? compute_until(next) : stay_in_kernel_until(next);
  }
  compute_until(until);
}

[[noreturn]] void work(const Load& load) {
  const auto length = [&](double ms) {
    return load.is_periodic ? static_cast<std::int64_t>(ms * 1e6) : random_ns(ms);
  };
  for (std::int64_t next = now_ns();;) {
    if (!load.is_periodic) next = now_ns();
    next += length(load.on_ms);
    work_until(load, next);
    if (load.off_ms > 0) sleep_until(next += length(load.off_ms));
  }
}

// --- counters
// -------------------------------------------------------------------------------------

constexpr std::size_t kGroups = 4;

/// What is counted: a CPU, or a cgroup on it.
struct Target {
  int pid = -1;
  unsigned long flags = 0;
};

/// As read(2) gives it.
template <std::size_t kCounts>
struct Reading {
  std::uint64_t events;
  std::uint64_t enabled_ns;
  std::uint64_t running_ns;
  std::array<std::uint64_t, kCounts> counts;
};
using ClockReading = Reading<1>;   // cpu-clock
using PinnedReading = Reading<2>;  // y, X
using GroupReading = Reading<4>;   // y, x, a filler, cpu-clock

perf_event_attr instructions(bool user_only) {
  perf_event_attr attr = attributes(pmu_type(), kInstructionsRetired);
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.exclude_kernel = user_only ? 1 : 0;
  return attr;
}

/// Opened before the groups, as the exporter does.
int open_clock(const Target& target) {
  perf_event_attr attr = attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;
  return open_counter(attr, target.pid, 0, -1, target.flags);
}

int open_pinned(const Target& target) {
  perf_event_attr attr = instructions(true);
  attr.pinned = 1;
  attr.disabled = 1;
  const int leader = open_counter(attr, target.pid, 0, -1, target.flags);
  open_counter(instructions(false), target.pid, 0, leader, target.flags);
  return leader;
}

/// Three of the four counters that the pinned group leaves, so that no two fit.
int open_group(const Target& target) {
  perf_event_attr attr = instructions(true);
  attr.disabled = 1;  // a software member that joins a running leader may never count
  const int leader = open_counter(attr, target.pid, 0, -1, target.flags);
  open_counter(instructions(false), target.pid, 0, leader, target.flags);
  open_counter(attributes(pmu_type(), kSoftwareIncrement), target.pid, 0, leader, target.flags);
  open_counter(attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK), target.pid, 0, leader,
               target.flags);
  return leader;
}

void enable(int leader) {
  if (::ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) die("enable");
}

template <typename Read>
Read read_group(int leader) {
  Read reading{};
  if (::read(leader, &reading, sizeof reading) != sizeof reading) die("read a group");
  return reading;
}

// --- recording
// ------------------------------------------------------------------------------------

struct Poll {
  ClockReading clock;
  PinnedReading pinned;
  std::array<GroupReading, kGroups> groups;
};

/// Descriptors of the leaders.
struct Counters {
  int clock;
  int pinned;
  std::array<int, kGroups> groups;
};

Counters open_all(const Target& target) {
  Counters counters{};
  counters.clock = open_clock(target);
  counters.pinned = open_pinned(target);
  for (int& group : counters.groups) group = open_group(target);
  enable(counters.clock);
  enable(counters.pinned);
  for (const int group : counters.groups) enable(group);
  return counters;
}

Poll read_all(const Counters& counters) {
  Poll poll{};
  poll.clock = read_group<ClockReading>(counters.clock);
  poll.pinned = read_group<PinnedReading>(counters.pinned);
  for (std::size_t g = 0; g < kGroups; ++g) {
    poll.groups[g] = read_group<GroupReading>(counters.groups[g]);
  }
  return poll;
}

std::vector<Poll> record(const Target& target, std::size_t seconds) {
  const Counters counters = open_all(target);
  std::vector<Poll> polls;
  polls.reserve(seconds + 1);  // so that the recorder itself does the same in each second
  const std::int64_t start = now_ns();
  for (std::size_t second = 0; second <= seconds; ++second) {
    sleep_until(start + static_cast<std::int64_t>(second) * 1'000'000'000);
    polls.push_back(read_all(counters));
  }
  return polls;
}

void print(const Poll& now, const Poll& before, bool with_clock) {
  const auto put = [](std::uint64_t later, std::uint64_t earlier) {
    std::printf(" %lld", static_cast<long long>(later - earlier));
  };
  std::printf("%lld", static_cast<long long>(now.pinned.counts[0] - before.pinned.counts[0]));
  put(now.pinned.counts[1], before.pinned.counts[1]);
  put(now.pinned.enabled_ns, before.pinned.enabled_ns);
  if (with_clock) put(now.clock.counts[0], before.clock.counts[0]);
  if (with_clock) put(now.clock.enabled_ns, before.clock.enabled_ns);
  for (std::size_t g = 0; g < kGroups; ++g) {
    const GroupReading& later = now.groups[g];
    const GroupReading& earlier = before.groups[g];
    std::printf(" ");
    put(later.enabled_ns, earlier.enabled_ns);
    put(later.running_ns, earlier.running_ns);
    put(later.counts[0], earlier.counts[0]);
    put(later.counts[1], earlier.counts[1]);
    if (with_clock) put(later.counts[3], earlier.counts[3]);
  }
  std::puts("");
}

void set_up_machine() {
  for (const char* directory : {"/proc", "/sys", "/dev"}) ::mkdir(directory, 0755);
  ::mount("proc", "/proc", "proc", 0, nullptr);
  ::mount("sysfs", "/sys", "sysfs", 0, nullptr);
  ::mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
  if (::mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, nullptr) != 0) die("mount cgroup2");
  // Until something was written here, the kernel does not count in cgroups below the root.
  std::ofstream("/sys/fs/cgroup/cgroup.subtree_control") << "+pids";
  for (const char* cgroup : {kLoadCgroup, kPartnerCgroup}) ::mkdir(cgroup, 0755);
}

Target target_of(std::string_view scope) {
  if (scope == "cpu") return {};
  const int cgroup = ::open(kLoadCgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup < 0) die("open the cgroup");
  return {cgroup, PERF_FLAG_PID_CGROUP};
}

void run(const char* scope, const char* load_name, const char* seconds) {
  const Load& load = load_named(load_name);
  const pid_t child = ::fork();
  if (child < 0) die("fork");
  if (child == 0) {
    join_cgroup(kLoadCgroup);
    work(load);
  }
  sleep_until(now_ns() + 20'000'000'000);  // the kernel is busy with itself at first
  const Target target = target_of(scope);
  const std::vector<Poll> polls = record(target, std::stoul(seconds));
  ::kill(child, SIGKILL);

  utsname kernel{};
  ::uname(&kernel);
  std::printf("RECORDING-BEGINS\n# Linux %s, scope %s, load %s\n", kernel.release, scope,
              load_name);
  for (std::size_t i = 1; i < polls.size(); ++i) {
    print(polls[i], polls[i - 1], target.flags != 0);
  }
  std::puts("RECORDING-ENDS");
}

}  // namespace

int main(int argc, char** argv) {
  set_up_machine();
  if (argc >= 4) {  // some kernels hand on parameters of their own, before ours
    run(argv[argc - 3], argv[argc - 2], argv[argc - 1]);
  } else {
    std::puts("usage: recorder SCOPE LOAD SECONDS");
  }
  std::fflush(stdout);
  ::reboot(RB_POWER_OFF);
}
