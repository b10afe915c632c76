#include "plan/load_plan.h"

#include "config/default_config.h"
#include "host/topology.h"
#include "plan/cgroup_tree.h"

namespace pex::plan {
namespace {

constexpr const char* kEmbeddedName = "embedded default";

/// What tells more of a cgroup than its path does.
cgroup::Describer describer_of(const Plan& plan, const config::Kubernetes& kubernetes) {
  std::optional<cgroup::LogLinks> pods;
  if (kubernetes.metadata == config::PodMetadata::kLogLinks) pods.emplace(kubernetes.log_links);
  return cgroup::Describer{plan.cgroups.labels, std::move(pods)};
}

}  // namespace

Result<LoadedPlan, std::vector<Error>> plan_for_machine(config::Config config,
                                                        const host::HostRoots& roots,
                                                        perf::PerfKernel& kernel,
                                                        const Plan* in_force) {
  const Result<std::vector<int>> online = host::online_cpus(roots);
  if (!online) return std::vector{online.error()};
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  if (!resolver) return std::vector{resolver.error()};
  Result<LeftOutCpus, std::vector<Error>> left_out = select_cpus(config, roots, *online);
  if (!left_out) return left_out.error();
  const Machine machine{*resolver, kernel, *online, std::move(*left_out)};
  Result<Plan, std::vector<Error>> plan = make_plan(config, machine, in_force);
  if (!plan) return plan.error();

  std::vector<Error> failures;
  const collect::CountingPlan& counting = plan->counting;
  collect::CpuTracker tracker{roots, collect::pmus_of(counting), counting.left_out_cpus};
  std::shared_ptr<const collect::MachineCpus> cpus = tracker.update(failures);
  if (!failures.empty()) return failures;
  return LoadedPlan{std::move(config), std::move(*plan), std::move(cpus)};
}

config::Loaded load_config(const std::string& file) {
  return file.empty() ? config::load_text(config::kDefaultConfig, kEmbeddedName)
                      : config::load_file(file);
}

Result<LoadedPlan, std::vector<Error>> load_and_plan(const std::string& file,
                                                     const host::HostRoots& roots,
                                                     perf::PerfKernel& kernel,
                                                     const Plan* in_force) {
  config::Loaded loaded = load_config(file);
  if (!loaded.mistakes.empty()) return std::move(loaded.mistakes);
  return plan_for_machine(std::move(loaded.config), roots, kernel, in_force);
}

collect::TargetTracker track_targets(const LoadedPlan& planned, const host::HostRoots& roots,
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

}  // namespace pex::plan
