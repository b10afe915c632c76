#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

#include "polled_group.h"

namespace pex::estimate {

/// What goes on on a CPU in one millisecond.
struct Activity {
  double cycles = 0;  ///< the reference
  double events = 0;
};

/// One of `groups` groups that take turns on the PMU of one CPU, for a mux_interval of 4 ms each,
/// and what it should have counted. Rotation starts at a random phase.
class Rotation {
 public:
  static constexpr std::chrono::milliseconds kSlot{4};

  Rotation(int groups, bool has_reference, std::uint64_t seed)
      : random(seed), groups_(groups), millisecond_(random() % 1'000'000) {
    if (has_reference) polled.with_reference();
  }

  void pass(const Activity& activity) {
    const bool has_pmu = millisecond_++ / kSlot.count() % groups_ == 0;
    const std::uint64_t cycles = whole(activity.cycles, cycles_left_);
    const std::uint64_t events = whole(activity.events, events_left_);
    polled.pass({.enabled = std::chrono::milliseconds{1},
                 .running = std::chrono::milliseconds{has_pmu ? 1 : 0},
                 .events = has_pmu ? events : 0,
                 .sampled = has_pmu ? cycles : 0,
                 .reference = cycles});
    truth += static_cast<double>(events);
  }

  /// `workload(random)` is the activity of each millisecond.
  template <typename Workload>
  void pass_and_poll(std::chrono::milliseconds time, Workload&& workload) {
    for (std::int64_t ms = 0; ms < time.count(); ++ms) pass(workload(random));
    polled.poll();
  }

  double error() const { return static_cast<double>(polled.value) - truth; }

  PolledGroup polled{1, kSlot};
  std::mt19937_64 random;
  double truth = 0;  ///< events on the CPU

 private:
  static std::uint64_t whole(double amount, double& left) {
    const double all = amount + left;
    left = all - std::floor(all);
    return static_cast<std::uint64_t>(all);
  }

  int groups_;
  std::uint64_t millisecond_;
  double cycles_left_ = 0;
  double events_left_ = 0;
};

/// Busy for 2 ms and idle for 6 ms on average, at random; events come with cycles.
struct BusyAndIdle {
  bool busy = false;

  Activity operator()(std::mt19937_64& random) {
    const std::uint64_t draw = random() % 6;
    busy = busy ? draw >= 3 : draw == 0;
    return busy ? Activity{3e6, 1e5} : Activity{3e3, 100};
  }
};

}  // namespace pex::estimate
