#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "config/load.h"
#include "count/counter_sources.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"
#include "plan/plan.h"
#include "targets/budget.h"
#include "targets/targets.h"

namespace pex::plan {

/// A configuration without errors, and its plan on this machine.
struct LoadedPlan {
  config::Config config;
  Plan plan;
  std::shared_ptr<const collect::MachineCpus> cpus;  ///< as of now
};

/// Functions that are called while a plan is made; unless null.
struct Supervision {
  /// How much of the configuration may be counted. Before anything is opened.
  std::function<Counted(const config::Loaded&)> allow = {};
  std::function<void(const std::string& group)> trying = {};  ///< Machine::trying
};

/// The configuration in `file`, or the embedded default if that is empty.
Result<config::Loaded> load_config(const std::string& file,
                                   config::UnknownKeys unknown = config::UnknownKeys::kError);

/// Of the events of a configuration with this rule.
Result<events::EventResolver> resolver_for(const host::HostRoots& roots, config::Guests guests);

/// The plan of a configuration on the machine; `in_force` as for make_plan. Fails with all its
/// errors, in the order of the file, and if the machine cannot be read.
Result<LoadedPlan, std::vector<yaml::Diagnostic>> plan_for_machine(config::Config config,
                                                                   const host::HostRoots& roots,
                                                                   perf::PerfKernel& kernel,
                                                                   const Plan* in_force = nullptr,
                                                                   const Supervision& by = {});

/// The same for the result of load_config(): errors of its form and of its names are reported
/// together.
Result<LoadedPlan, std::vector<yaml::Diagnostic>> load_and_plan(
    const std::string& file, const host::HostRoots& roots, perf::PerfKernel& kernel,
    const Plan* in_force = nullptr, config::UnknownKeys unknown = config::UnknownKeys::kError,
    const Supervision& by = {});

/// What a collector is made with and keeps: where it differs, another collector is needed.
struct CollectorBasis {
  std::optional<cgroup::Hierarchy> hierarchy;  ///< the tree whose cgroups are counted; none if no
                                               ///< group is for cgroups
  std::vector<int> left_out_cpus = {};
  bool counts_cgroups = false;
  bool per_cpu = false;
  std::size_t records_buffer = 0;
  std::size_t max_directories = 0;
  std::size_t max_path_bytes = 0;

  bool operator==(const CollectorBasis&) const = default;
};
CollectorBasis basis_of(const LoadedPlan& planned, std::optional<cgroup::Hierarchy> hierarchy);

/// From how many cgroups on records count them, as configured (cgroups.source).
std::size_t min_cgroups_for_records(const config::Cgroups& cgroups);

/// The tracepoint by which records show moves of running tasks to other cgroups; or why they do
/// not.
Result<perf::EventAttributes> tracepoint_of_moves(const host::HostRoots& roots);

/// What counts: records of switches or descriptors, as the targets say. `kernel` outlives it.
collect::CounterSources counter_sources(const CollectorBasis& basis,
                                        const collect::CountingPlan& plan,
                                        const host::HostRoots& roots, perf::PerfKernel& kernel);

/// Reads CPU times, and lists cgroups, in this hierarchy.
cgroup::UncountedUse uncounted_use(const cgroup::Hierarchy& hierarchy);

/// Whether records may count cgroups.
bool may_use_records(const LoadedPlan& planned);

/// What counting takes: by records, or else by descriptors. Without an answer it is the less that
/// is certain to be needed: that of descriptors with `source: auto`.
collect::CostFunction counting_cost(const LoadedPlan& planned, std::optional<bool> by_records = {});
collect::Need counting_need(const LoadedPlan& planned, std::optional<bool> by_records = {});

/// What `planned` changes for a collector of the same basis.
collect::TargetTracker::Changes changes_of(const LoadedPlan& planned);

/// The targets of a collector: the CPUs of the machine, and the cgroups of `hierarchy`
/// (find_cgroup_tree()). `cost` is that of its counter sources; `min_recorded` as in TargetSet.
collect::TargetTracker track_targets(const LoadedPlan& planned, const host::HostRoots& roots,
                                     const std::optional<cgroup::Hierarchy>& hierarchy,
                                     collect::CostFunction cost,
                                     std::size_t min_recorded = collect::kNeverRecorded);

}  // namespace pex::plan
