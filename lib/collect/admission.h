#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <string_view>

namespace pex::collect {

/// Bounds how many counters are opened per second: each takes the time of its CPU, and hundreds of
/// cgroups may come at once. A token bucket that holds what may be opened in one second.
class OpenRate {
 public:
  using Clock = std::chrono::steady_clock;

  /// Full at first.
  explicit OpenRate(std::size_t per_second);

  /// Whether so many may be opened now, which then counts as done. More than there may be in one
  /// second are let through when nothing was opened in the last one.
  bool take(std::size_t counters, Clock::time_point now);

 private:
  double per_second_;
  double left_;
  Clock::time_point filled_{};
};

/// A bound that was met while counters were opened, although there should have been room: other
/// programs have taken the machine's descriptors or memory. No more cgroups are opened than were
/// open then, until it is tried again after 1, 2, 4, ... 64 s.
class Shortage {
 public:
  using Clock = std::chrono::steady_clock;

  /// `fitting` cgroups could be opened. `bound`: one of kCgroupBounds.
  void met(std::string_view bound, std::size_t fitting, Clock::time_point now);

  /// How many may be open at most, as far as this is known to be short of something.
  std::size_t room(Clock::time_point now) const;
  std::string_view bound() const { return bound_; }

 private:
  std::string_view bound_;
  std::size_t fitting_ = std::numeric_limits<std::size_t>::max();
  std::chrono::seconds wait_{};
  Clock::time_point until_{};
};

}  // namespace pex::collect
