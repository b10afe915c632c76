#pragma once

#include <chrono>
#include <optional>

namespace pex::cgroup {

/// A token bucket: how much may be done by now. Full at first.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  Pace(double per_second, double at_once) : per_second_(per_second), at_once_(at_once) {}

  /// Whether anything may be done now. What is done then may be more than there was left for it:
  /// the next one waits the longer.
  bool allows(Clock::time_point now) { return left_at(now) > 0; }

  void take(double amount, Clock::time_point now) { left_ = left_at(now) - amount; }

 private:
  double left_at(Clock::time_point now);

  double per_second_;
  double at_once_;
  double left_ = at_once_;
  std::optional<Clock::time_point> filled_;
};

}  // namespace pex::cgroup
