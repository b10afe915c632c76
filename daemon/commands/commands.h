#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The subcommands; each returns its exit status.

/// Counts and serves until a signal stops it.
ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log);

/// Polls twice, an interval apart, and prints the scrape.
ExitStatus scrape_once(const Options& options, perf::PerfKernel& kernel, Log& log);

/// Prints what the configuration means on this machine. Prints errors on stderr as plain lines that
/// editors can jump to. Fails with errors, and if an event of the file cannot be counted here,
/// although the daemon would serve the others. The embedded default adapts to the machine.
ExitStatus check_config(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
