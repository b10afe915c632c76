#pragma once

#include <chrono>

namespace pex::estimate {

/// Finds the time of a cgroup that its counters lack, by the kernel's own account of its CPU time
/// (cpu.stat). Both are of the same tasks, by different clocks: the account has no time of
/// interrupts and of the hypervisor, and what the counters have depends on how often tasks sleep.
/// So their ratio is learned where nothing was lost. The account of a running task advances with
/// the ticks of the kernel. What these shift is balanced over intervals, so that it is no bias. A
/// loss may be reported some intervals after the time was used.
class MissingTime {
 public:
  using Time = std::chrono::nanoseconds;

  struct Interval {
    Time used{};     ///< by the kernel's account
    Time counted{};  ///< by the counters
    Time lost{};     ///< it may have run for so long, on all CPUs, and nothing was counted
  };
  struct Found {
    Time time{};          ///< at most Interval::lost
    Time unsure{};        ///< it may be so much more
    double variance = 0;  ///< of it, ns^2
    /// Else the ratio of the clocks is not known yet, and `time` is an upper bound.
    bool is_estimate = false;
  };

  Found advance(const Interval& interval);

 private:
  void learn(const Interval& interval);
  void add_sample(double ratio);
  double counted_of_used() const;
  double excess(const Interval& of) const;  ///< ns: used, less counted; at least 0

  double ratio_ = 1;         ///< used / counted
  double spread_ = 0;        ///< variance of it
  bool stood_still_ = true;  ///< in the last interval; a loss of it may be reported in this one
  int samples_ = 0;
  unsigned intervals_ = 0;
  Interval sum_;             ///< of intervals for the next sample
  Interval sample_;          ///< not used before it is certain that nothing was lost
  unsigned sampled_in_ = 0;  ///< interval
  double balance_ = 0;       ///< ns: used by the clock of the counters, less counted and found
  Interval recent_;          ///< the last kRemembered or fewer
  Interval earlier_;         ///< kRemembered before these
};

}  // namespace pex::estimate
