#include "cgroup_times.h"

#include <algorithm>
#include <cmath>

#include "random.h"

namespace pex::bench {
namespace {

constexpr double kSlotUs = 4000;
constexpr double kEventsPerUs = 1000;
constexpr int kSkippedSeconds = 30;

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

void run(CgroupCell& cell) {
  const CgroupLoad& load = *cell.load;
  std::vector<Contest> contests;
  for (std::size_t i = 0; i < std::size(kPollSeconds); ++i) {
    contests.emplace_back(static_cast<std::size_t>(cell.groups), kSlotUs * 1000, kPollSeconds[i],
                          kSkippedSeconds, cell.figures[i]);
  }
  Random random{7};
  const auto length = [&](double mean) { return load.is_random ? random.exponential(mean) : mean; };
  CgroupOnCpu cgroup(cell.booking, cell.groups);
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
    for (Contest& contest : contests) contest.poll(second, readings);
  }
}

}  // namespace

std::string CgroupCell::name() const {
  return std::string(load->name) + (groups == 1 ? ", alone" : ", one of three") +
         (booking == Booking::kRight ? ", right times" : ", wrong times");
}

std::vector<CgroupCell> simulate_cgroup_times() {
  std::vector<CgroupCell> cells;
  for (const CgroupLoad& load : kLoads) {
    for (const Booking booking : {Booking::kRight, Booking::kAtSwitches}) {
      for (const int groups : {1, 3}) {
        run(cells.emplace_back(CgroupCell{&load, booking, groups, {}}));
      }
    }
  }
  return cells;
}

}  // namespace pex::bench
