#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/token_bucket.h"
#include "cgroup/cgroup.h"

namespace pex::collect {

/// Bounds how many counters of cgroups each CPU opens per second: opening takes the time of the
/// CPU, and hundreds of cgroups may come at once. Each CPU opens its own, at the same time as the
/// others, so one bound holds for all. Holds what may be opened in one second.
class OpenRate {
 public:
  using Clock = TokenBucket::Clock;

  /// Full at first.
  explicit OpenRate(std::size_t per_second);

  /// Whether so many may be opened now. More than there may be in one second are let through when
  /// nothing was opened in the last one.
  bool allows(std::size_t counters, Clock::time_point now) const;

  /// The same, and then it counts as done.
  bool take(std::size_t counters, Clock::time_point now);

 private:
  double per_second_;
  TokenBucket counters_;
};

/// The cgroups that have been found and are still to be opened: first come, first served, so that
/// who has lived longest is the next. However many come and go behind it, each is opened once those
/// before it are opened or gone. One that is made anew under its path is another cgroup, and comes
/// last.
class WaitingLine {
 public:
  using Cgroups = std::vector<std::shared_ptr<const cgroup::Cgroup>>;
  using Set = std::unordered_set<const cgroup::Cgroup*>;

  /// Those of `found` that are neither in the line nor in `counted` join it, in their order. Who is
  /// not in `found` any more leaves it. Returns how many of those had been removed by then, and not
  /// only lost their room.
  std::size_t follow(const Cgroups& found, const Set& counted);

  /// Opens as many as `rate` allows, where one takes so many `counters` on a CPU.
  Cgroups take(OpenRate& rate, std::size_t counters, OpenRate::Clock::time_point now);

  bool empty() const { return cgroups_.empty(); }
  std::size_t size() const { return cgroups_.size(); }
  const Cgroups& cgroups() const { return cgroups_; }

 private:
  Cgroups cgroups_;  ///< the next one first
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
