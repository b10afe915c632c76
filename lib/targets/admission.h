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

/// Bounds how many counters of cgroups each CPU opens per second: opening takes CPU time, and
/// hundreds of cgroups may appear at once. Each CPU opens its own counters, in parallel to the
/// others, so one bound applies to all. Holds what may be opened in one second.
class OpenRate {
 public:
  using Clock = TokenBucket::Clock;

  /// Full at first.
  explicit OpenRate(std::size_t per_second);

  /// Whether so many may be opened now. More than one second's worth is allowed if nothing was
  /// opened in the last second.
  bool allows(std::size_t counters, Clock::time_point now) const;

  /// The same, and counts it as done.
  bool take(std::size_t counters, Clock::time_point now);

 private:
  double per_second_;
  TokenBucket counters_;
};

/// The cgroups that have been found and are still to be opened: first come, first served, so the
/// cgroup that has lived longest is the next. However many appear and disappear after it, each is
/// opened once those before it are opened or gone. A cgroup that is recreated under its path is
/// another one, and is queued last.
class WaitingLine {
 public:
  using Cgroups = std::vector<std::shared_ptr<const cgroup::Cgroup>>;
  using Set = std::unordered_set<const cgroup::Cgroup*>;

  /// Appends those of `found` that are neither queued nor in `counted`, in order. Removes those
  /// that are not in `found` any more. Returns how many of these had been removed from the system,
  /// as opposed to displaced.
  std::size_t follow(const Cgroups& found, const Set& counted);

  /// Opens as many as `rate` allows, if one takes so many `counters` on a CPU; at most `max`.
  Cgroups take(OpenRate& rate, std::size_t counters, OpenRate::Clock::time_point now,
               std::size_t max = std::numeric_limits<std::size_t>::max());

  bool empty() const { return cgroups_.empty(); }
  std::size_t size() const { return cgroups_.size(); }
  const Cgroups& cgroups() const { return cgroups_; }

 private:
  Cgroups cgroups_;  ///< the next one first
};

/// A bound that was met while counters were opened, although the budget allowed them: other
/// programs use the machine's descriptors or memory. No more cgroups are opened than were open
/// then, until a retry after 1, 2, 4, ... 64 s.
class Shortage {
 public:
  using Clock = std::chrono::steady_clock;

  /// `fitting` cgroups could be opened. `bound`: one of kCgroupBounds.
  void met(std::string_view bound, std::size_t fitting, Clock::time_point now);

  /// The maximum number of open cgroups, as far as a shortage is known.
  std::size_t room(Clock::time_point now) const;
  std::string_view bound() const { return bound_; }

 private:
  std::string_view bound_;
  std::size_t fitting_ = std::numeric_limits<std::size_t>::max();
  std::chrono::seconds wait_{};
  Clock::time_point until_{};
};

}  // namespace pex::collect
