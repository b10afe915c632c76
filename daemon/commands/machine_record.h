#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "daemon/cli/options.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `doctor --output=json`: prints the findings, and for on_recorded_machine() the files
/// that decide what can be counted, the names of cgroups, and the events that the kernel refuses;
/// these only with the right to open any. Returns as run_doctor() does.
ExitStatus print_machine(const Options& options, perf::PerfKernel& kernel);

/// Calls `job` with the machine of such an output: directories that are removed afterwards, and a
/// kernel that accepts all events but those that were refused, in groups of any size.
using MachineJob = std::function<void(const host::HostRoots&, perf::PerfKernel&)>;
Result<> on_recorded_machine(const std::string& file, const MachineJob& job);

}  // namespace pex::daemon
