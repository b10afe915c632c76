#include "daemon/run/counting_session.h"

#include <optional>
#include <utility>

#include "daemon/cli/words.h"
#include "daemon/run/poll_schedule.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

/// Whether changes_of() both is the same: it follows from the configuration and the machine.
bool are_alike(const CountingSession& one, const CountingSession& other) {
  return one.config == other.config && one.plan.counting == other.plan.counting &&
         one.plan.budget == other.plan.budget;
}

/// Groups of both sessions are kept if the collector is.
GroupChanges count_changes(const CountingSession* in_force, const CountingSession& next) {
  const collect::CountingPlan nothing;
  const collect::CountingPlan& before = in_force == nullptr ? nothing : in_force->plan.counting;
  const bool goes_on = in_force != nullptr && in_force->basis == next.basis;
  GroupChanges changes;
  for (const auto scope : {&collect::CountingPlan::cpu, &collect::CountingPlan::cgroup}) {
    for (const collect::GroupPlan& group : (next.plan.counting.*scope).groups) {
      if (!group.is_published) continue;
      ++(goes_on && find_group(before.*scope, group.id) ? changes.kept : changes.opened);
    }
    for (const collect::GroupPlan& group : (before.*scope).groups) {
      changes.closed += group.is_published ? 1 : 0;
    }
  }
  changes.closed -= changes.kept;
  return changes;
}

}  // namespace

Result<CountingSession> start_counting(plan::LoadedPlan planned, const host::HostRoots& roots,
                                       perf::PerfKernel& kernel, const CountingSession* in_force) {
  const collect::Need need = plan::counting_need(planned);
  if (const Result<> fits = collect::check_cpu_groups(planned.plan.budget, need); !fits) {
    return fits.error();
  }
  CountingSession counting;
  counting.config = planned.config;
  Result<plan::CgroupTree> tree = find_counted_tree(planned, roots, kernel);
  if (!tree) return tree.error();
  for (const auto* warnings :
       {&planned.config.origin.warnings, &planned.plan.warnings, &tree->warnings}) {
    for (const Error& warning : *warnings) counting.warnings.push_back(worded(warning));
  }
  counting.basis = plan::basis_of(planned, std::move(tree->hierarchy));
  counting.plan = planned.plan;
  counting.groups = count_changes(in_force, counting);
  if (in_force != nullptr && in_force->basis == counting.basis) {
    const bool is_same = are_alike(*in_force, counting) && counting.groups.opened == 0;
    if (!is_same) counting.changes = plan::changes_of(planned);
    return counting;
  }
  collect::CounterSources sources =
      plan::counter_sources(counting.basis, counting.plan.counting, roots, kernel);
  collect::TargetTracker tracker =
      track_targets(planned, roots, counting.basis.hierarchy, sources.cost,
                    plan::min_cgroups_for_records(counting.config.cgroups));
  Result<std::unique_ptr<collect::Collector>> collector = collect::Collector::create(
      std::move(sources), std::move(tracker),
      collect::Collector::Timeouts{.late = late_after(counting.interval())});
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  return counting;
}

void take_over(CountingSession& in_force, CountingSession& counting) {
  counting.collector = std::move(in_force.collector);
  counting.collector->set_late_after(late_after(counting.interval()));
  if (counting.changes) counting.collector->change(*std::exchange(counting.changes, {}));
}

}  // namespace pex::daemon
