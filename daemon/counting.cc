#include "daemon/counting.h"

#include <optional>

#include "cgroup/hierarchy.h"
#include "config/load.h"
#include "daemon/default_config.h"
#include "host/own_process.h"
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
  if (plan.selection.include.empty()) {
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
  return std::optional(cgroup::Discovery((*hierarchy)->mount, plan.selection));
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

Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel) {
  Counting counting;
  counting.plan = std::move(planned.plan);
  counting.interval = planned.config.collection.interval;
  counting.remarks = left_out_lines(counting.plan);
  for (const Error& remark : counting.plan.remarks) counting.remarks.push_back(describe(remark));
  counting.plan.budget.max_open_files = host::raise_open_file_limit();
  const collect::Need need = collect::need_of(counting.plan.counting, *planned.cpus);
  if (const Result<> fits = collect::check_cpu_groups(counting.plan.budget, need); !fits) {
    return fits.error();
  }

  Result<std::optional<cgroup::Discovery>> cgroups =
      find_cgroups(counting.plan, roots, counting.remarks);
  if (!cgroups) return cgroups.error();

  const auto plan = std::make_shared<const collect::CountingPlan>(counting.plan.counting);
  collect::TargetTracker tracker{roots, plan, std::move(*cgroups), counting.plan.budget,
                                 planned.config.cgroups.linger};
  Result<std::unique_ptr<Collector>> collector =
      Collector::create(kernel, plan, std::move(tracker), planned.cpus->online.front());
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  return counting;
}

}  // namespace pex::daemon
