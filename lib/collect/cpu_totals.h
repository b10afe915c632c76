#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/poll_cycle.h"
#include "collect/row_set.h"
#include "collect/target_groups.h"
#include "collect/targets.h"
#include "collect/totals.h"

namespace pex::collect {

/// One group at all targets of its scope on one CPU.
struct GroupPart {
  GroupTotals totals;
  std::vector<GroupState> states;  ///< of each target
  bool is_known = false;           ///< was copied since the plan has it; else there is nothing
};

/// All totals of one CPU at the end of its part of a poll. Flat and without pointers into the
/// PollCycle, so that it can be read while the CPU's thread already changes that, or hangs.
class CpuTotals {
 public:
  CpuTotals(std::shared_ptr<const CountingPlan> plan, int cpu);

  /// Has the groups of `plan` from now on: those of both plans keep their totals.
  void use(const std::shared_ptr<const CountingPlan>& plan);

  /// Copies the totals of `cycle`, which has the same plan, after a poll with `targets`. Allocates
  /// only if there are more targets than ever, or a group has evidence for the first time. If this
  /// is the copy of the last poll but one, or a later one, only what has changed since is copied.
  void copy(const PollCycle& cycle, const TargetSet& targets);

  int cpu() const { return cpu_; }
  /// Those of the cgroups with totals, by slot; 0: none.
  std::span<const std::uint64_t> series() const { return series_; }

  /// `group` as in the plan's scope; its only target is the CPU.
  const GroupPart& of_cpu(std::size_t group) const { return cpu_groups_[group]; }
  /// The same; its targets are those of series(). The polls in the states of a cgroup are as of the
  /// last change.
  const GroupPart& of_cgroups(std::size_t group) const { return cgroup_groups_[group]; }

  const TotalsStamp& stamp() const { return stamp_; }
  /// The slots of which anything differs from the totals of the same arrangement a
  /// poll earlier, or may differ.
  const RowSet& changed() const { return changed_; }

 private:
  std::shared_ptr<const CountingPlan> plan_;
  int cpu_;
  TotalsStamp stamp_;
  RowSet changed_;
  std::vector<std::uint64_t> series_;
  std::vector<GroupPart> cpu_groups_;
  std::vector<GroupPart> cgroup_groups_;
};

}  // namespace pex::collect
