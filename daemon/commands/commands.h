#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// What the program can be asked to do; each returns its exit status.

/// Counts and serves until a signal ends it.
ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log);

/// Polls twice, an interval apart, and prints what a scrape would get.
ExitStatus scrape_once(const Options& options, perf::PerfKernel& kernel, Log& log);

/// Prints what the configuration means on this machine, or on stderr each error as a plain line
/// that editors can jump to. Fails with errors, and when an event of the file cannot be counted
/// here, although the daemon would serve the others. The embedded default is meant to adapt.
ExitStatus check_config(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
