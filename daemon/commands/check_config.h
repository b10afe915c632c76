#pragma once

#include "daemon/cli/options.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The flag --config.check: prints what the configuration means on this machine. Prints errors on
/// stderr as plain lines that editors can jump to. Fails with errors, and if an event of the file
/// cannot be counted here, although the daemon would serve the others. The shipped configuration
/// adapts to the machine.
ExitStatus check_config(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
