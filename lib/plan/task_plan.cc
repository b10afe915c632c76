#include "plan/task_plan.h"

#include <utility>

#include "plan/auxiliary_counters.h"
#include "plan/event_selector.h"
#include "plan/group_fitter.h"
#include "plan/reference_selector.h"

namespace pex::plan {
namespace {

/// Columns are in the order of the events that are available.
std::vector<TaskEvent> with_columns(std::vector<EventAvailability> events) {
  std::vector<TaskEvent> with;
  std::size_t next = 0;
  for (EventAvailability& event : events) {
    const bool is_counted = event.available;
    with.push_back({std::move(event), {}});
    if (is_counted) with.back().column = next++;
  }
  return with;
}

}  // namespace

Result<TaskPlan, std::vector<yaml::Diagnostic>> plan_tasks(std::vector<config::Group> groups,
                                                           const Machine& machine) {
  config::Config config;
  config.groups = std::move(groups);
  for (config::Group& group : config.groups) {  // the scope without a cgroup to try them in
    group.cpu_scope = true;
    group.cgroup_scope = false;
  }
  SelectedEvents selected = select_events(config, machine);
  if (!selected.errors.empty()) return selected.errors;
  FittedGroups fitted = fit_groups(selected.groups, machine);
  // That of a counter is not needed: the clock of a task advances only while it is busy.
  const Reference none;
  const Reference reference = select_reference(fitted.plans, machine, &none);
  for (const LeftOutGroup& group : selected.left_out_groups) {
    fitted.warnings.push_back(left_out(group));
  }
  return TaskPlan{with_auxiliary_counters(fitted.plans, Scope::kCpu, reference, machine),
                  with_columns(without_dropped(std::move(selected.events), fitted.dropped)),
                  std::move(fitted.warnings)};
}

}  // namespace pex::plan
