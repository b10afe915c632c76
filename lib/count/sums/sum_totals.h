#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "count/snapshot.h"
#include "count/totals.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// Times and totals of all groups of scope cgroup: of a cgroup, of a sum of cgroups, or of what
/// either has counted in an interval.
class SumTotals {
 public:
  explicit SumTotals(const CountingPlan& plan);

  /// Those of `now`, where groups that `before` had as well keep theirs.
  void follow(const ScopePlan& before, const ScopePlan& now);

  std::size_t groups() const { return groups_.size(); }
  const GroupTimes& times(std::size_t group) const { return groups_[group].times; }
  const EventTotal& total(std::size_t group, std::size_t event) const {
    return groups_[group].totals[event];
  }

  /// The times of a group in the rows of a cgroup.
  static GroupTimes times_of(const Snapshot& snapshot, std::size_t group, RowRange rows);
  /// Whether they are others than these.
  bool has_other_times(const Snapshot& snapshot, RowRange rows) const;

  void add(const SumTotals& more);
  void add(const Snapshot& snapshot, RowRange rows);
  /// No value falls below 0.
  void subtract(const SumTotals& less);

  /// Follows the rows of a cgroup to what they have now: `more` is by how much that is above these,
  /// which become the greater of the two.
  void advance(const Snapshot& snapshot, RowRange rows, SumTotals& more);

 private:
  struct Group {
    GroupTimes times;
    std::vector<EventTotal> totals;
  };
  std::vector<Group> groups_;
};

}  // namespace pex::collect
