// Takes programmable counters of one CPU, as any other program may.
//
//   hold CPU COUNTERS             so many, pinned
//   hold CPU COUNTERS later       the same, but they count from SIGUSR1 on: opened before others,
//   they
//                                 are the first to get their place then
//   hold CPU COUNTERS DIRECTORY   so many of the cgroup DIRECTORY, and as many of its context
//   switches
//
// Waits for the CPU to be online, opens them at once and keeps them until it is ended. Of a cgroup
// it first says for how many ns another program's counter of the CPU was enabled meanwhile, which
// was opened disabled and then enabled, one of hardware and one of software: 0 where nothing runs
// in the cgroup and its counters were the first.

#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "counter.h"

namespace {

using namespace pex::test;

int open_when_online(const perf_event_attr& attr, int pid, int cpu, unsigned long flags) {
  int fd = -1;
  while ((fd = try_open_counter(attr, pid, cpu, -1, flags)) < 0) {
    if (errno != ENODEV) die("perf_event_open");  // ENODEV: the CPU is offline
  }
  return fd;
}

std::uint64_t enabled_of_another(std::uint32_t type, std::uint64_t config, int cpu) {
  perf_event_attr attr = attributes(type, config);
  attr.disabled = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  const int fd = open_counter(attr, -1, cpu);
  if (::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) die("enable a counter");
  const timespec moment{0, 20'000'000};
  ::nanosleep(&moment, nullptr);
  std::uint64_t words[2] = {};
  if (::read(fd, words, sizeof words) != sizeof words) die("read a counter");
  ::close(fd);
  return words[1];
}

/// Says that it is ready, and enables `counters` when it is told to.
void enable_later(const std::vector<int>& counters) {
  sigset_t told;
  ::sigemptyset(&told);
  ::sigaddset(&told, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &told, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  int signal = 0;
  if (::sigwait(&told, &signal) != 0) die("sigwait");
  for (const int counter : counters) {
    if (::ioctl(counter, PERF_EVENT_IOC_ENABLE, 0) != 0) die("enable a counter");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: hold CPU COUNTERS [later | CGROUP_DIRECTORY]\n", stderr);
    return 2;
  }
  const int cpu = std::atoi(argv[1]);
  const bool is_later = argc == 4 && std::string_view(argv[3]) == "later";
  const bool is_of_cgroup = argc == 4 && !is_later;
  const int cgroup = is_of_cgroup ? ::open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (is_of_cgroup && cgroup < 0) die("open the cgroup");
  perf_event_attr hardware = attributes(pmu_type(), kInstructionsRetired);
  hardware.pinned = cgroup < 0;
  hardware.disabled = is_later;
  const perf_event_attr software = attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
  const unsigned long flags = cgroup < 0 ? 0 : PERF_FLAG_PID_CGROUP;
  std::vector<int> counters;
  for (int left = std::atoi(argv[2]); left > 0; --left) {
    counters.push_back(open_when_online(hardware, cgroup, cpu, flags));
    if (cgroup >= 0) open_when_online(software, cgroup, cpu, flags);
  }
  if (cgroup >= 0) {
    std::printf(
        "hardware %llu software %llu\n",
        static_cast<unsigned long long>(enabled_of_another(hardware.type, hardware.config, cpu)),
        static_cast<unsigned long long>(enabled_of_another(software.type, software.config, cpu)));
  }
  if (is_later) enable_later(counters);
  std::puts("holding");
  std::fflush(stdout);
  ::pause();
}
