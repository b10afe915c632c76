#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// Logs them. Returns kFailed.
ExitStatus failed(Log& log, const std::vector<Error>& errors);

/// Counts and serves until a signal stops it.
ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log);

/// Polls twice, an interval apart, and prints the scrape.
ExitStatus scrape_once(const Options& options, perf::PerfKernel& kernel, Log& log);

}  // namespace pex::daemon
