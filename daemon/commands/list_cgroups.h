#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `cgroups`: prints the cgroups that exist now and are selected, whether the limits
/// allow counting them, and the labels of their series. Opens no counters in them.
ExitStatus list_cgroups(const Options& options, perf::PerfKernel& kernel, Log& log);

}  // namespace pex::daemon
