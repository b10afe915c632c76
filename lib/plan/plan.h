#pragma once

#include <vector>

#include "base/result.h"
#include "collect/budget.h"
#include "collect/counting_plan.h"
#include "config/config.h"
#include "plan/auxiliary_counters.h"
#include "plan/cgroup_selector.h"
#include "plan/event_availability.h"
#include "plan/group_fitter.h"
#include "plan/machine.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// A configuration as it applies to this machine: what can be counted, and what becomes of the
/// rest.
struct Plan {
  collect::CountingPlan counting;  ///< only what is available
  SelectedCgroups cgroups;
  collect::Budget budget;
  std::vector<EventAvailability> events;  ///< all that are configured, in their order
  std::vector<GroupFit> fits;             ///< for a plan that takes the place of this one
  Reference reference;                    ///< scales up the groups that are multiplexed
  /// Groups that had to be split, or do without what they asked for.
  std::vector<Error> warnings;
};

/// Joins what was configured with what `machine` knows and what its kernel can do. Fails with what
/// no machine could count, and with series that would be double. Three steps, each of which returns
/// what the next one takes:
///   select_events()     each event is tried on its own, for a whole CPU, and for scope cgroup in
///   the
///                       root of the cgroups as well. One that is missing costs its group that
///                       event, and no other group anything.
///   fit_groups()        what is left of each group is tried as a group. One that does not fit on
///   the
///                       PMU is split, or dropped when it is not weak.
///   select_reference()  what groups that are multiplexed are scaled by; it is counted with them
///                       (auxiliary_counters.h).
///
/// `in_force` is the plan of counters of ours that are open meanwhile, and may be in the way of a
/// trial: groups that it has as well are then cut as they are there, and whether others fit is left
/// to the polls.
Result<Plan, std::vector<yaml::Diagnostic>> make_plan(const config::Config& config, const Machine& machine,
                                           const Plan* in_force = nullptr);

/// Everything that is wrong with the names in a configuration: of events, cgroups and labels. Opens
/// nothing, and reports nothing about a part in which an error was found when it was read.
std::vector<yaml::Diagnostic> check_names(const config::Config& config, const Machine& machine);

}  // namespace pex::plan
