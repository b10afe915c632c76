#include "cgroup_times.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "random.h"

namespace pex::bench {
namespace {

constexpr double kSlotUs = 4000;
constexpr double kEventsPerUs = 1000;
constexpr int kSkippedSeconds = 30;
constexpr double kMaxBias = 0.01;
constexpr double kRoundingOnly = 1e-6;  // RMS error of a group that never lost the PMU

/// When a cgroup has the CPU: for `slice_us` at a time, `share` of the time.
struct CgroupLoad {
  const char* name;
  double slice_us;
  double share;
  bool is_random;  ///< slices and pauses are exponential, with these means
  int seconds;     ///< simulated
};

/// How the kernel books time_running of groups that take turns.
enum class Booking {
  kRight,
  kAtSwitches,  ///< all of a slice to the group that has the PMU at its end (Linux 6.2 to 6.12.114)
};

// What clocks miss at each switch to the cgroup, as seen on a Linux 6.18 guest: between 0.3 and 0.7
// us in a group of several, 0.7 to 1.2 us where the clock is alone. On Linux 6.1 it was the other
// way round.
constexpr double kMissedAlone = 0.7;
constexpr double kMissedInGroup[] = {0.3, 0.9};

constexpr CgroupLoad kLoads[] = {
    {"20 000 switches a second", 50, 0.5, true, 300},
    {"50 000 switches a second", 20, 0.5, true, 300},
    {"100 000 switches a second", 10, 0.5, true, 300},
    {"200 000 switches a second", 5, 0.5, true, 300},
    {"1 % of a CPU, 5 ms at a time", 5000, 0.01, false, 3600},
    {"1 % of a CPU, 5 ms on average", 5000, 0.01, true, 3600},
    {"2 % of a CPU, 5 ms on average", 5000, 0.02, true, 3600},
    {"5 % of a CPU, 5 ms on average", 5000, 0.05, true, 3600},
    {"5 % of a CPU, 30 ms on average", 30'000, 0.05, true, 3600},
    {"all of a CPU, 1000 switches a second", 990, 0.99, true, 600},
};

/// The kernel's totals, in us and events; as numbers with fractions, so that what is cut off at a
/// reading is not lost.
class CgroupOnCpu {
 public:
  CgroupOnCpu(Booking booking, int groups)
      : booking_(booking), groups_(static_cast<std::size_t>(groups)) {}

  /// It has the CPU from `start` for `us`. The rotation's timer is on a grid, and fires only while
  /// the cgroup has the CPU.
  void run(double start, double us) {
    const double end = start + us;
    double missed = kMissedInGroup[slices_++ % 2];
    for (double now = start; now < end;) {
      const double tick = std::min(end, (std::floor(now / kSlotUs) + 1) * kSlotUs);
      Sums& on_pmu = groups_[head_];
      on_pmu.had += tick - now;
      on_pmu.clock += std::max(0.0, tick - now - missed);
      if (booking_ == Booking::kRight) on_pmu.booked += tick - now;
      missed = 0;
      now = tick;
      if (now < end) head_ = (head_ + 1) % groups_.size();
    }
    if (booking_ == Booking::kAtSwitches) groups_[head_].booked += us;
    enabled_ += us;
    clock_ += us - std::min(us, kMissedAlone);
  }

  void read(std::vector<Reading>& readings) const {
    const auto ns = [](double us) { return static_cast<std::uint64_t>(us * 1000); };
    const auto events = [](double us) { return static_cast<std::uint64_t>(us * kEventsPerUs); };
    readings.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      readings[g] = {.enabled_ns = ns(enabled_),
                     .running_ns = ns(groups_[g].booked),
                     .events = events(groups_[g].had),
                     .clock_ns = ns(groups_[g].clock),
                     .clock_always_ns = ns(clock_),
                     .clock_always_enabled_ns = ns(enabled_),
                     .truth = events(enabled_)};
    }
  }

 private:
  struct Sums {
    double had = 0;
    double booked = 0;
    double clock = 0;
  };

  Booking booking_;
  std::size_t head_ = 0;
  std::size_t slices_ = 0;
  std::vector<Sums> groups_;
  double enabled_ = 0;
  double clock_ = 0;
};

void run(const CgroupLoad& load, Booking booking, int groups, std::vector<Case>& cases) {
  std::vector<Comparison> comparisons;
  const std::size_t first = cases.size();
  for (const int poll : kPollSeconds) {
    comparisons.emplace_back(static_cast<std::size_t>(groups), kSlotUs * 1000, poll,
                             kSkippedSeconds);
    const bool is_alone = groups == 1;
    cases.push_back({std::string(load.name) + (is_alone ? ", alone" : ", one of three") +
                         (booking == Booking::kRight ? ", right" : ", wrong") + " times, " +
                         std::to_string(poll) + " s",
                     {kMaxBias, is_alone ? kRoundingOnly : HUGE_VAL, HUGE_VAL}});
  }
  Random random{7};
  const auto length = [&](double mean) { return load.is_random ? random.exponential(mean) : mean; };
  CgroupOnCpu cgroup(booking, groups);
  std::vector<Reading> readings;
  double now = 0;
  for (int second = 1; second <= load.seconds; ++second) {
    while (now < second * 1e6) {
      now += length(load.slice_us * (1 / load.share - 1));
      const double slice = length(load.slice_us);
      cgroup.run(now, slice);
      now += slice;
    }
    cgroup.read(readings);
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      comparisons[i].poll(second, readings, cases[first + i]);
    }
  }
}

}  // namespace

std::vector<Case> simulate_cgroup_times() {
  std::vector<Case> cases;
  for (const CgroupLoad& load : kLoads) {
    for (const Booking booking : {Booking::kRight, Booking::kAtSwitches}) {
      for (const int groups : {1, 3}) run(load, booking, groups, cases);
    }
  }
  return cases;
}

}  // namespace pex::bench
