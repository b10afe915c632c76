// Whether this kernel tells the right time_running of cgroup groups that take turns: some from 6.2
// on book it to the wrong group (fixed in 6.12.115, "perf: Update cgroup time when rotating
// multiplexed events").
//
//   rotation CGROUP_DIRECTORY CPU SECONDS
//
// Three groups that exclude each other, each with a cpu-clock, which is a software event and so
// counts exactly while its group is on the PMU. Prints for each second, of each group, in ms:
//
//   SECOND  time_enabled/time_running/cpu-clock  ...

#include <time.h>

#include <array>
#include <cstdlib>

#include "counter.h"

namespace {

using namespace pex::test;

constexpr PmuEvent kMembers[] = {kInstructionsRetired, kSoftwareIncrement, kStallFrontend,
                                 kStallBackend};  // 4 of 6 counters: no two groups fit

struct Reading {
  std::uint64_t events, enabled, running;  // ns
  std::uint64_t counts[std::size(kMembers)];
  std::uint64_t clock;  // ns
};

int open_group(int cgroup, int cpu) {
  perf_event_attr attr = attributes(pmu_type(), kMembers[0]);
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;  // a software member that joins a running leader may never count
  const int leader = open_counter(attr, cgroup, cpu, -1, PERF_FLAG_PID_CGROUP);
  attr.disabled = 0;
  for (std::size_t member = 1; member < std::size(kMembers); ++member) {
    attr.config = kMembers[member];
    open_counter(attr, cgroup, cpu, leader, PERF_FLAG_PID_CGROUP);
  }
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  open_counter(attr, cgroup, cpu, leader, PERF_FLAG_PID_CGROUP);
  if (::ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) die("enable");
  return leader;
}

Reading read_group(int leader) {
  Reading reading{};
  if (::read(leader, &reading, sizeof reading) != sizeof reading) die("read");
  return reading;
}

double ms(std::uint64_t later, std::uint64_t earlier) {
  return static_cast<double>(later - earlier) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: rotation CGROUP_DIRECTORY CPU SECONDS\n", stderr);
    return 2;
  }
  const int cgroup = ::open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup < 0) die("open the cgroup");
  const int cpu = std::atoi(argv[2]);
  pin_to(cpu);  // who reads on another CPU gets older times
  std::array<int, 3> groups;
  for (int& group : groups) group = open_group(cgroup, cpu);
  std::array<Reading, 3> before{};
  for (int second = 0; second <= std::atoi(argv[3]); ++second) {
    if (second > 0) std::printf("%d", second);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Reading now = read_group(groups[i]);
      if (second > 0) {
        std::printf("  %.1f/%.1f/%.1f", ms(now.enabled, before[i].enabled),
                    ms(now.running, before[i].running), ms(now.clock, before[i].clock));
      }
      before[i] = now;
    }
    if (second > 0) std::puts("");
    constexpr timespec kSecond{1, 0};
    ::nanosleep(&kSecond, nullptr);
  }
}
