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
  const Result<LeftOutCpus, std::vector<Error>> left_out = choose_cpus(config, roots, *online);
  if (!left_out) return left_out.error();
  Plan plan = make_plan(config, *resolver, kernel, *online, in_force, *left_out);
  if (!plan.mistakes.empty()) return std::move(plan.mistakes);

  std::vector<Error> failures;
  collect::CpuTracker tracker{roots, collect::pmus_of(plan.counting), plan.counting.left_out_cpus};
  std::shared_ptr<const collect::MachineCpus> cpus = tracker.update(failures);
  if (!failures.empty()) return failures;
  return LoadedPlan{std::move(config), std::move(plan), std::move(cpus)};
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

Result<std::optional<cgroup::Hierarchy>> find_hierarchy_for(const LoadedPlan& planned,
                                                            const host::HostRoots& roots,
                                                            std::vector<Error>& remarks) {
  const Plan& plan = planned.plan;
  std::optional<cgroup::Hierarchy> none;
  if (plan.counting.cgroup.empty()) return none;
  if (plan.cgroups.selection.include.empty()) {
    remarks.push_back(Error{0, "no cgroups are counted: 'cgroups.include' is empty",
                            "list some, or leave the key out for the default"});
    return none;
  }
  Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy(roots);
  if (hierarchy && !*hierarchy) {
    remarks.push_back(
        Error{0, "no cgroups are counted: no mounted hierarchy carries perf_event",
              "mount cgroup2, or say with " + ProgramTerm::kCgroupfs + " where it is"});
  }
  return hierarchy;
}

Result<std::optional<cgroup::Hierarchy>> hierarchy_for(const LoadedPlan& planned,
                                                       const host::HostRoots& roots,
                                                       perf::PerfKernel& kernel,
                                                       std::vector<Error>& remarks) {
  Result<std::optional<cgroup::Hierarchy>> hierarchy = find_hierarchy_for(planned, roots, remarks);
  if (!hierarchy || !*hierarchy || planned.cpus->online.empty()) return hierarchy;
  const Result<> is_one = check_tree(**hierarchy, roots, kernel, planned.cpus->online.front());
  if (is_one) return hierarchy;
  if (!roots.cgroupfs.empty()) return is_one.error();
  remarks.push_back(is_one.error());
  return std::optional<cgroup::Hierarchy>{};
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
