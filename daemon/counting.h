#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
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
  bool created = false;              ///< OpenMetrics tells since when counters count
  std::vector<std::string> remarks;  ///< what is left out on this machine and why, for the log
  std::unique_ptr<Collector> collector;
};

/// A configuration without mistakes, and what it means on this machine.
struct Planned {
  config::Config config;
  Plan plan;
  std::shared_ptr<const collect::MachineCpus> cpus;  ///< as of now
};

/// What a configuration means on the machine; `in_force` as for make_plan. Fails with everything
/// that is wrong with it, and when the machine cannot be read.
Result<Planned, std::vector<Error>> plan_for_machine(config::Config config,
                                                     const host::HostRoots& roots,
                                                     perf::PerfKernel& kernel,
                                                     const Plan* in_force = nullptr);

/// The same for the configuration in `file`, or the embedded default when that is empty.
Result<Planned, std::vector<Error>> load_and_plan(const std::string& file,
                                                  const host::HostRoots& roots,
                                                  perf::PerfKernel& kernel,
                                                  const Plan* in_force = nullptr);

/// What is going to be followed of the machine. Having no cgroups is a remark. Fails when the
/// machine cannot be read.
Result<collect::TargetTracker> track_targets(const Planned& planned, const host::HostRoots& roots,
                                             std::vector<std::string>& remarks);

/// Starts to count what was planned. Fails when the machine cannot be read; having no cgroups is a
/// remark.
Result<Counting> start_counting(Planned planned, const host::HostRoots& roots,
                                perf::PerfKernel& kernel);

}  // namespace pex::daemon
