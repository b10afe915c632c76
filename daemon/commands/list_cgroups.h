#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `cgroups`: prints the cgroups that are there now and selected, whether there is room
/// to count them, and the labels they would be published with. Opens no counters of them.
ExitStatus list_cgroups(const Options& options, perf::PerfKernel& kernel, Log& log);

}  // namespace pex::daemon
