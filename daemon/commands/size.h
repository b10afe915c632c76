#pragma once

#include "daemon/cli/options.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `size`: prints what a configuration takes on a machine like this one with another
/// number of CPUs and of cgroups, by each way of counting cgroups. Fails if no way fits into the
/// configured limits.
ExitStatus print_size(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
