#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "plan/event_availability.h"
#include "plan/machine.h"
#include "targets/counting_plan.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// One event of a TaskPlan.
struct TaskEvent {
  EventAvailability availability;
  std::optional<std::size_t> column;  ///< index into the columns; none if it is not available
};

/// What is counted in tasks, with the same rules as in cgroups.
struct TaskPlan {
  collect::ScopePlan counting;    ///< only what is available
  std::vector<TaskEvent> events;  ///< all that are configured, in order
  std::vector<Error> warnings;    ///< groups that were split
};

/// The plan of `groups` for tasks, whatever their scopes. Like make_plan(), but everything is tried
/// in the calling thread (`machine` counts tasks), and groups that are multiplexed are scaled by
/// time, or by a reference that takes no counter. Fails with what no machine could count, and with
/// duplicate series.
Result<TaskPlan, std::vector<yaml::Diagnostic>> plan_tasks(std::vector<config::Group> groups,
                                                           const Machine& machine);

}  // namespace pex::plan
