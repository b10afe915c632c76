#include "daemon/counting.h"

#include <optional>

#include "cgroup/hierarchy.h"
#include "config/load.h"
#include "daemon/default_config.h"
#include "host/topology.h"

namespace pex::daemon {
namespace {

constexpr const char* kEmbeddedName = "embedded default";

/// The tree of cgroups, when some are to be counted and there is one.
Result<std::optional<cgroup::Discovery>> find_cgroups(const Plan& plan,
                                                      const host::HostRoots& roots,
                                                      std::vector<std::string>& remarks) {
  std::optional<cgroup::Discovery> none;
  if (plan.counting.cgroup.empty()) return none;
  if (plan.cgroups.selection.include.empty()) {
    remarks.push_back(describe(Error{0, "no cgroups are counted: 'cgroups.include' is empty",
                                     "list some, or leave the key out for the default"}));
    return none;
  }
  Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy(roots);
  if (!hierarchy) return hierarchy.error();
  if (!*hierarchy) {
    remarks.push_back(
        describe(Error{0, "no cgroups are counted: no mounted hierarchy carries perf_event",
                       "mount cgroup2, or say with --path.cgroupfs where it is"}));
    return none;
  }
  return std::optional(cgroup::Discovery(**hierarchy, plan.cgroups.selection));
}

/// What tells more of a cgroup than its path does.
cgroup::Describer describer_of(const Plan& plan, const config::Kubernetes& kubernetes) {
  std::optional<cgroup::LogLinks> pods;
  if (kubernetes.metadata == config::PodMetadata::kLogLinks) pods.emplace(kubernetes.log_links);
  return cgroup::Describer{plan.cgroups.labels, std::move(pods)};
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
  Plan plan = make_plan(config, *resolver, kernel, *online, in_force);
  if (!plan.mistakes.empty()) return std::move(plan.mistakes);

  std::vector<Error> failures;
  collect::CpuTracker tracker{roots, collect::pmus_of(plan.counting)};
  std::shared_ptr<const collect::MachineCpus> cpus = tracker.update(failures);
  if (!failures.empty()) return failures;
  return Planned{std::move(config), std::move(plan), std::move(cpus)};
}

Result<Planned, std::vector<Error>> load_and_plan(const std::string& file,
                                                  const host::HostRoots& roots,
                                                  perf::PerfKernel& kernel, const Plan* in_force) {
  config::Loaded loaded =
      file.empty() ? config::load_text(kDefaultConfig, kEmbeddedName) : config::load_file(file);
  if (!loaded.mistakes.empty()) return std::move(loaded.mistakes);
  return plan_for_machine(std::move(loaded.config), roots, kernel, in_force);
}

Result<collect::TargetTracker> track_targets(const Planned& planned, const host::HostRoots& roots,
                                             std::vector<std::string>& remarks) {
  Result<std::optional<cgroup::Discovery>> discovery = find_cgroups(planned.plan, roots, remarks);
  if (!discovery) return discovery.error();
  return collect::TargetTracker{
      roots, std::make_shared<const collect::CountingPlan>(planned.plan.counting),
      collect::TargetTracker::Cgroups{std::move(*discovery),
                                      describer_of(planned.plan, planned.config.kubernetes),
                                      planned.config.cgroups.linger},
      planned.plan.budget};
}

Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel) {
  const collect::Need need = collect::need_of(planned.plan.counting, *planned.cpus);
  if (const Result<> fits = collect::check_cpu_groups(planned.plan.budget, need); !fits) {
    return fits.error();
  }
  Counting counting;
  counting.interval = planned.config.collection.interval;
  counting.max_age = planned.config.collection.max_age;
  counting.created = planned.config.openmetrics.created;
  counting.remarks = left_out_lines(planned.plan);
  for (const Error& remark : planned.plan.remarks) counting.remarks.push_back(describe(remark));
  Result<collect::TargetTracker> tracker = track_targets(planned, roots, counting.remarks);
  if (!tracker) return tracker.error();

  Result<std::unique_ptr<Collector>> collector =
      Collector::create(kernel, std::move(*tracker), planned.cpus->online.front());
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  counting.plan = std::move(planned.plan);
  return counting;
}

}  // namespace pex::daemon
