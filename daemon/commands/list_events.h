#pragma once

#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `list`: prints every event that has a name on this machine and matches
/// Options::list_glob, as a table or as a JSON array with the attributes and the metric of each.
/// Opens each event of the kernel's tables and of the PMUs once. Does not open tracepoints and
/// vendor events: there are thousands of them, and the first open of a tracepoint patches the
/// kernel.
ExitStatus list_events(const Options& options, perf::PerfKernel& kernel, Log& log);

}  // namespace pex::daemon
