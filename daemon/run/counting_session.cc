#include "daemon/run/counting_session.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "daemon/cli/words.h"
#include "daemon/run/poll_schedule.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

bool has_probe_in_file(const collect::ScopePlan& plan) {
  const auto is_in_file = [](const perf::CounterSpec& event) {
    return event.attributes.probe.starts_with('/');
  };
  return std::any_of(plan.groups.begin(), plan.groups.end(), [&](const collect::GroupPlan& group) {
    return std::any_of(group.events.begin(), group.events.end(), is_in_file);
  });
}

bool publish_alike(const CountingSession& one, const CountingSession& other) {
  const auto what = [](const CountingSession& counting) {
    return std::tie(counting.plan.counting, counting.plan.cgroups, counting.plan.budget,
                    counting.config.cgroups.linger, counting.config.cgroups.close_after,
                    counting.config.cgroups.open_after, counting.config.kubernetes);
  };
  return what(one) == what(other);
}

}  // namespace

bool count_alike(const CountingSession& one, const CountingSession& other) {
  const auto what = [](const CountingSession& counting) {
    return std::tie(counting.plan.cgroups.selection, counting.plan.budget.max_directories,
                    counting.config.cgroups.records_buffer, counting.hierarchy);
  };
  const collect::CountingPlan& plan = one.plan.counting;
  return collect::has_same_counters(plan, other.plan.counting) && what(one) == what(other) &&
         !has_probe_in_file(plan.cpu) && !has_probe_in_file(plan.cgroup);
}

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
  for (const auto* warnings : {&planned.plan.warnings, &tree->warnings}) {
    for (const Error& warning : *warnings) counting.warnings.push_back(worded(warning));
  }
  counting.hierarchy = std::move(tree->hierarchy);
  counting.plan = planned.plan;
  if (in_force != nullptr && count_alike(*in_force, counting)) {
    if (!publish_alike(*in_force, counting)) counting.changes = plan::changes_of(planned);
    return counting;
  }
  counting.records =
      std::make_shared<collect::RecordUse>(plan::min_cgroups_for_records(counting.config.cgroups));
  collect::CounterSources sources =
      plan::counter_sources(planned, roots, counting.hierarchy, kernel, counting.records);
  collect::TargetTracker tracker =
      track_targets(planned, roots, counting.hierarchy, sources.cost, counting.records);
  Result<std::unique_ptr<collect::Collector>> collector = collect::Collector::create(
      std::move(sources), std::move(tracker),
      collect::Collector::Timeouts{.late = late_after(counting.interval())});
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  return counting;
}

void take_over(CountingSession& in_force, CountingSession& counting) {
  counting.collector = std::move(in_force.collector);
  counting.records = std::move(in_force.records);
  counting.records->set_min_cgroups(plan::min_cgroups_for_records(counting.config.cgroups));
  counting.collector->set_late_after(late_after(counting.interval()));
  if (counting.changes) counting.collector->change(*std::exchange(counting.changes, {}));
}

}  // namespace pex::daemon
