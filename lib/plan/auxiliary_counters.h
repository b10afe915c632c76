#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "events/pmu.h"
#include "perf/counter_group.h"
#include "plan/machine.h"
#include "plan/planned_group.h"
#include "targets/counting_plan.h"

namespace pex::plan {

/// An activity that is counted all the time, and again in multiplexed groups.
struct Reference {
  enum class Cost {
    kNone,     ///< there is no reference
    kFree,     ///< a register that takes no counter: msr/aperf/, unhalted cycles
    kCounter,  ///< cycles: one permanent counter, and one in each group
  };
  struct OfPmu {
    std::string pmu;  ///< on the CPUs of this PMU; empty: on all
    perf::CounterSpec counter;
  };
  Cost cost = Cost::kNone;
  std::vector<OfPmu> counters;
  bool joins_all = true;  ///< false: only groups that count it anyway, or requested it
};

/// Whether a reference applies to `group`: it counts on cores, is multiplexed, and is not to be
/// scaled by time alone.
bool may_have_reference(const collect::GroupPlan& group, config::Estimator estimator,
                        const events::PmuCatalogue& pmus);

/// Whether `group` gets a member that counts `reference`. Cycles are not added to every cgroup,
/// unless requested: each would hold a counter while its tasks run, and so would each selected
/// cgroup above it. The clock of a cgroup only advances while it is busy, so that time is nearly as
/// accurate.
bool takes_reference(const collect::GroupPlan& group, config::Estimator estimator,
                     const Reference& reference, Scope scope, const events::PmuCatalogue& pmus);

/// The last step of planning: all `groups` of one scope, with the auxiliary counters that show how
/// well they are counted (collect::AuxiliaryCounters).
///   - before them, if one of them needs it, a group of software events that never loses the PMU:
///     the clock of the target, and a free reference; or a pinned one of cycles
///   - in multiplexed hardware groups the same reference, and in all those of cgroups a clock
collect::ScopePlan with_auxiliary_counters(std::span<const PlannedGroup> groups, Scope scope,
                                           const Reference& reference, const Machine& machine);

}  // namespace pex::plan
