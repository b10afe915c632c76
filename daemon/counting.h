#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "config/load.h"
#include "daemon/collector.h"
#include "daemon/plan.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// A configuration at work: what a reload replaces as a whole.
struct Counting {
  Plan plan;
  std::chrono::nanoseconds interval{};
  std::chrono::nanoseconds max_age{};
  bool created = false;  ///< OpenMetrics tells since when counters count
  std::chrono::nanoseconds linger{};
  config::Kubernetes kubernetes;
  std::optional<cgroup::Hierarchy> hierarchy;  ///< whose cgroups are counted; none of none
  std::vector<std::string> remarks;            ///< beside what the plan leaves out, for the log
  std::unique_ptr<Collector> collector;
};

/// A configuration without mistakes, and what it means on this machine.
struct Planned {
  config::Config config;
  Plan plan;
  std::shared_ptr<const collect::MachineCpus> cpus;  ///< as of now
};

/// The configuration in `file`, or the embedded default when that is empty; and what is wrong with
/// it.
config::Loaded load_config(const std::string& file);

/// What a configuration means on the machine; `in_force` as for make_plan. Fails with everything
/// that is wrong with it, and when the machine cannot be read.
Result<Planned, std::vector<Error>> plan_for_machine(config::Config config,
                                                     const host::HostRoots& roots,
                                                     perf::PerfKernel& kernel,
                                                     const Plan* in_force = nullptr);

/// The same for what load_config() gives.
Result<Planned, std::vector<Error>> load_and_plan(const std::string& file,
                                                  const host::HostRoots& roots,
                                                  perf::PerfKernel& kernel,
                                                  const Plan* in_force = nullptr);

/// Where cgroups are to be counted, if any; that none are is a remark. Fails when the machine
/// cannot be read. Whether the kernel counts there is not asked: it may be a copy of another
/// machine's tree.
Result<std::optional<cgroup::Hierarchy>> find_hierarchy_for(const Planned& planned,
                                                            const host::HostRoots& roots,
                                                            std::vector<std::string>& remarks);

/// The same, where the kernel counts (cgroup_tree.h). Fails where it does not and --path.cgroupfs
/// names the directory; one that was found by itself is a remark, as CPUs can be counted.
Result<std::optional<cgroup::Hierarchy>> hierarchy_for(const Planned& planned,
                                                       const host::HostRoots& roots,
                                                       perf::PerfKernel& kernel,
                                                       std::vector<std::string>& remarks);

/// What is going to be followed of the machine.
collect::TargetTracker track_targets(const Planned& planned, const host::HostRoots& roots,
                                     const std::optional<cgroup::Hierarchy>& hierarchy);

/// Whether both open the same counters and publish them as the same series, so that one may go on
/// in place of the other. Never with a probe in a program's file: it belongs to the file that was
/// there when it was opened, and not to the one that has replaced it.
bool count_alike(const Counting& one, const Counting& other);

/// Prepares to count what was planned; no counter is opened before the first poll. Fails when the
/// machine cannot be read; having no cgroups is a remark. When `in_force` counts alike, there is no
/// collector: that of `in_force` goes on, with its counters and their totals (take_over()).
Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel, const Counting* in_force = nullptr);

/// `counting` goes on with the counters of `in_force`.
void take_over(Counting& in_force, Counting& counting);

}  // namespace pex::daemon
