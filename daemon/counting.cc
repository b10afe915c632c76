#include "daemon/counting.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "config/load.h"
#include "daemon/cgroup_tree.h"
#include "daemon/default_config.h"
#include "daemon/poll_schedule.h"
#include "host/topology.h"

namespace pex::daemon {
namespace {

constexpr const char* kEmbeddedName = "embedded default";

/// What tells more of a cgroup than its path does.
cgroup::Describer describer_of(const Plan& plan, const config::Kubernetes& kubernetes) {
  std::optional<cgroup::LogLinks> pods;
  if (kubernetes.metadata == config::PodMetadata::kLogLinks) pods.emplace(kubernetes.log_links);
  return cgroup::Describer{plan.cgroups.labels, std::move(pods)};
}

bool has_probe_in_file(const collect::ScopePlan& plan) {
  const auto is_in_file = [](const perf::CounterSpec& event) {
    return event.attributes.probe.starts_with('/');
  };
  return std::any_of(plan.groups.begin(), plan.groups.end(), [&](const collect::GroupPlan& group) {
    return std::any_of(group.events.begin(), group.events.end(), is_in_file);
  });
}

}  // namespace

Result<Planned, std::vector<Error>> plan_for_machine(config::Config config,
                                                     const host::HostRoots& roots,
                                                     perf::PerfKernel& kernel,
                                                     const Plan* in_force) {
  const Result<std::vector<int>> online = host::online_cpus(roots);
  if (!online) return std::vector{online.error()};
  const Result<perf::EventResolver> resolver = perf::EventResolver::create(roots);
  if (!resolver) return std::vector{resolver.error()};
  const Result<LeftOutCpus, std::vector<Error>> left_out = choose_cpus(config, roots, *online);
  if (!left_out) return left_out.error();
  Plan plan = make_plan(config, *resolver, kernel, *online, in_force, *left_out);
  if (!plan.mistakes.empty()) return std::move(plan.mistakes);

  std::vector<Error> failures;
  collect::CpuTracker tracker{roots, collect::pmus_of(plan.counting), plan.counting.left_out_cpus};
  std::shared_ptr<const collect::MachineCpus> cpus = tracker.update(failures);
  if (!failures.empty()) return failures;
  return Planned{std::move(config), std::move(plan), std::move(cpus)};
}

config::Loaded load_config(const std::string& file) {
  return file.empty() ? config::load_text(kDefaultConfig, kEmbeddedName) : config::load_file(file);
}

Result<Planned, std::vector<Error>> load_and_plan(const std::string& file,
                                                  const host::HostRoots& roots,
                                                  perf::PerfKernel& kernel, const Plan* in_force) {
  config::Loaded loaded = load_config(file);
  if (!loaded.mistakes.empty()) return std::move(loaded.mistakes);
  return plan_for_machine(std::move(loaded.config), roots, kernel, in_force);
}

Result<std::optional<cgroup::Hierarchy>> find_hierarchy_for(const Planned& planned,
                                                            const host::HostRoots& roots,
                                                            std::vector<std::string>& remarks) {
  const Plan& plan = planned.plan;
  std::optional<cgroup::Hierarchy> none;
  if (plan.counting.cgroup.empty()) return none;
  if (plan.cgroups.selection.include.empty()) {
    remarks.push_back(describe(Error{0, "no cgroups are counted: 'cgroups.include' is empty",
                                     "list some, or leave the key out for the default"}));
    return none;
  }
  Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy(roots);
  if (hierarchy && !*hierarchy) {
    remarks.push_back(
        describe(Error{0, "no cgroups are counted: no mounted hierarchy carries perf_event",
                       "mount cgroup2, or say with --path.cgroupfs where it is"}));
  }
  return hierarchy;
}

Result<std::optional<cgroup::Hierarchy>> hierarchy_for(const Planned& planned,
                                                       const host::HostRoots& roots,
                                                       perf::PerfKernel& kernel,
                                                       std::vector<std::string>& remarks) {
  Result<std::optional<cgroup::Hierarchy>> hierarchy = find_hierarchy_for(planned, roots, remarks);
  if (!hierarchy || !*hierarchy || planned.cpus->online.empty()) return hierarchy;
  const Result<> is_one = check_tree(**hierarchy, roots, kernel, planned.cpus->online.front());
  if (is_one) return hierarchy;
  if (!roots.cgroupfs.empty()) return is_one.error();
  remarks.push_back(describe(is_one.error()));
  return std::optional<cgroup::Hierarchy>{};
}

collect::TargetTracker track_targets(const Planned& planned, const host::HostRoots& roots,
                                     const std::optional<cgroup::Hierarchy>& hierarchy) {
  std::optional<cgroup::Discovery> discovery;
  if (hierarchy) {
    discovery.emplace(*hierarchy, planned.plan.cgroups.selection,
                      tree_limits(planned.plan.budget, roots));
  }
  return {roots, std::make_shared<const collect::CountingPlan>(planned.plan.counting),
          collect::TargetTracker::Cgroups{std::move(discovery),
                                          describer_of(planned.plan, planned.config.kubernetes),
                                          planned.config.cgroups.linger},
          planned.plan.budget};
}

bool count_alike(const Counting& one, const Counting& other) {
  const auto what = [](const Counting& counting) {
    return std::tie(counting.plan.counting, counting.plan.cgroups, counting.plan.budget,
                    counting.linger, counting.kubernetes, counting.hierarchy);
  };
  const collect::CountingPlan& plan = one.plan.counting;
  return what(one) == what(other) && !has_probe_in_file(plan.cpu) &&
         !has_probe_in_file(plan.cgroup);
}

Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel, const Counting* in_force) {
  const collect::Need need = collect::need_of(planned.plan.counting, *planned.cpus);
  if (const Result<> fits = collect::check_cpu_groups(planned.plan.budget, need); !fits) {
    return fits.error();
  }
  Counting counting;
  counting.interval = planned.config.collection.interval;
  counting.max_age = planned.config.collection.max_age;
  counting.created = planned.config.openmetrics.created;
  counting.linger = planned.config.cgroups.linger;
  counting.kubernetes = planned.config.kubernetes;
  for (const Error& remark : planned.plan.remarks) counting.remarks.push_back(describe(remark));
  Result<std::optional<cgroup::Hierarchy>> hierarchy =
      hierarchy_for(planned, roots, kernel, counting.remarks);
  if (!hierarchy) return hierarchy.error();

  counting.hierarchy = std::move(*hierarchy);
  counting.plan = planned.plan;
  if (in_force != nullptr && count_alike(*in_force, counting)) return counting;
  Result<std::unique_ptr<Collector>> collector =
      Collector::create(kernel, track_targets(planned, roots, counting.hierarchy),
                        Collector::Patience{.late = late_after(counting.interval)});
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  return counting;
}

void take_over(Counting& in_force, Counting& counting) {
  counting.collector = std::move(in_force.collector);
  counting.collector->set_late_after(late_after(counting.interval));
}

}  // namespace pex::daemon
