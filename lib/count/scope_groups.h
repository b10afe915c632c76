#pragma once

#include <cstddef>
#include <vector>

#include "count/counter_source.h"
#include "count/rotation.h"
#include "count/target_groups.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// One scope on one CPU: all targets of each of its groups.
struct ScopeGroups {
  const ScopePlan* plan;
  std::vector<std::size_t> opening_order;  ///< of the groups
  std::vector<TargetGroups> groups;        ///< as plan->groups
  std::size_t targets = 0;
  bool may_starve = false;          ///< the kernel's rotation may starve a group for ever
  std::vector<Rotation> rotations;  ///< of each target; only then

  /// `of` and `source` outlive it.
  ScopeGroups(const ScopePlan& of, CounterSource& source, int cpu);

  void resize(std::size_t to);
  void forget(std::size_t target);
  /// The groups of `to` that it has already go on. Returns how many open groups were left behind,
  /// to be closed.
  std::size_t change(const ScopePlan& to, CounterSource& source, int cpu);

  /// The values of the auxiliary counters of a group of `plan` that never lose the PMU. They
  /// precede it in its scope, so they have just been read.
  AlwaysOn always_on(const GroupPlan& group, std::size_t target) const;

 private:
  void keep_totals();
};

/// Whether groups of the scope share the PMU among them.
bool is_multiplexed(const ScopePlan& plan);

}  // namespace pex::collect
