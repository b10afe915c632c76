#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "count/row_set.h"
#include "count/totals.h"
#include "estimate/group_estimator.h"

namespace pex::collect {

/// For how long one group has been enabled at each target without having the PMU since. A target
/// *lacks* it if that is longer than estimate::kMaxImputed, and it was last enabled not longer ago
/// than that: its totals stand still for want of measurements.
class PmuAbsence {
 public:
  void resize(std::size_t targets) {
    fit(targets_, targets);
    wanted_.resize(targets);
    lacking_.resize(targets);
  }
  void forget(std::size_t target) {
    targets_[target] = {};
    wanted_.remove(target);
    lacking_.remove(target);
  }

  /// In this poll it was enabled for the time `wanted`, and `had_the_pmu` meanwhile.
  void add(std::size_t target, std::chrono::nanoseconds wanted, bool had_the_pmu) {
    Target& of = targets_[target];
    if (!wanted_.has(target) && has_long_rested(of)) of.without = {};
    if (wanted.count() > 0) wanted_.add(target);
    of.without = had_the_pmu ? std::chrono::nanoseconds{0} : saturating_sum(of.without, wanted);
  }

  bool lacks(std::size_t target) const {
    const Target& of = targets_[target];
    return of.without > estimate::kMaxImputed && !has_long_rested(of);
  }

  /// Ends a poll, at this time of CounterSource::now(). Adds those that lack the PMU, or did up to
  /// now, to `changed`. Takes time for targets that were enabled, or lack it; not for others.
  void end_poll(std::chrono::nanoseconds now, RowSet& changed) {
    ended_at_ = now;
    wanted_.for_each([&](std::size_t target) {
      targets_[target].last_wanted = now;
      if (lacks(target)) lacking_.add(target);
    });
    wanted_.clear();
    if (lacking_.size() == 0) return;
    changed.add_all(lacking_);  // the last time it is one that no longer lacks it
    const RowSet lacked = lacking_;
    lacking_.clear();
    lacked.for_each([&](std::size_t target) {
      if (lacks(target)) lacking_.add(target);
    });
  }

 private:
  struct Target {
    std::chrono::nanoseconds without{};
    std::chrono::nanoseconds last_wanted{};  ///< the end of the poll
  };

  /// As of the end of the last poll: it was last enabled so long ago that what it lacked then does
  /// not matter any more.
  bool has_long_rested(const Target& target) const {
    return ended_at_ - target.last_wanted > estimate::kMaxImputed;
  }

  std::vector<Target> targets_;
  RowSet wanted_;                        ///< in this poll
  RowSet lacking_;                       ///< at the end of the last one
  std::chrono::nanoseconds ended_at_{};  ///< the last one
};

}  // namespace pex::collect
