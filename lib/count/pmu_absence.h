#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "count/row_set.h"

namespace pex::collect {

/// For how long one group has been enabled at each target without having the PMU since. A target
/// *lacks* it if that is longer than estimate::kMaxImputed, and it was last enabled not longer ago
/// than that: its totals stand still for want of measurements.
class PmuAbsence {
 public:
  void resize(std::size_t targets);
  void forget(std::size_t target);

  /// In this poll it was enabled for the time `wanted`, and `had_the_pmu` meanwhile.
  void add(std::size_t target, std::chrono::nanoseconds wanted, bool had_the_pmu);

  bool lacks(std::size_t target) const;

  /// Ends a poll, at this time of CounterSource::now(). Adds those that lack the PMU, or did up to
  /// now, to `changed`. Takes time for targets that were enabled, or lack it; not for others.
  void end_poll(std::chrono::nanoseconds now, RowSet& changed);

 private:
  struct Target {
    std::chrono::nanoseconds without{};
    std::chrono::nanoseconds last_wanted{};  ///< the end of the poll
  };

  bool has_long_rested(const Target& target) const;

  std::vector<Target> targets_;
  RowSet wanted_;                        ///< in this poll
  RowSet lacking_;                       ///< at the end of the last one
  std::chrono::nanoseconds ended_at_{};  ///< the last one
};

}  // namespace pex::collect
