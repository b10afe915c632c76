#pragma once

#include "daemon/cli/options.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// The command `stat`: counts the events of Options::stat_events, or those of the configuration
/// that are counted by cgroup, in a command that it runs or in a process, and prints their counts,
/// estimates and standard errors: by the same names, groups and estimator as the exporter.
///
/// Ends with the command, or with the process or a signal of StatSignals; a command gets those as
/// PassedSignals has them. Returns the exit status of the command, 128 + the signal that ended it
/// or came before it was run, 127 if there is no such program and 126 if it cannot be executed; kOk
/// for a process; kFailed if nothing could be counted, in which case the command is not run.
///
/// Called while there is one thread.
int run_stat(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
