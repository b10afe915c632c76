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

Result<Planned, std::vector<Error>> load_and_plan(const std::string& file,
                                                  const host::HostRoots& roots,
                                                  perf::PerfKernel& kernel) {
  config::Loaded loaded =
      file.empty() ? config::load_text(kDefaultConfig, kEmbeddedName) : config::load_file(file);
  if (!loaded.mistakes.empty()) return std::move(loaded.mistakes);

  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return std::vector{cpus.error()};
  Plan plan = make_plan(loaded.config, kernel, cpus->front());
  if (!plan.mistakes.empty()) return std::move(plan.mistakes);
  return Planned{std::move(loaded.config), std::move(plan)};
}

Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel) {
  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return cpus.error();

  Counting counting;
  counting.plan = std::move(planned.plan);
  counting.interval = planned.config.collection.interval;
  counting.remarks = left_out_lines(counting.plan);
  counting.plan.budget.max_open_files = host::raise_open_file_limit();
  if (const Result<> fits = collect::check_cpu_groups(counting.plan.budget, cpus->size()); !fits) {
    return fits.error();
  }

  Result<std::optional<cgroup::Discovery>> cgroups =
      find_cgroups(counting.plan, roots, counting.remarks);
  if (!cgroups) return cgroups.error();

  collect::TargetTracker tracker{roots, std::move(*cgroups), counting.plan.budget,
                                 planned.config.cgroups.linger};
  Result<std::unique_ptr<Collector>> collector = Collector::create(
      kernel, std::make_shared<const collect::CountingPlan>(counting.plan.counting),
      std::move(tracker), cpus->front());
  if (!collector) return collector.error();
  counting.collector = std::move(*collector);
  return counting;
}

}  // namespace pex::daemon
