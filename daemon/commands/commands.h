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

/// The flag --config.check: prints what the configuration means on this machine. Prints errors on
/// stderr as plain lines that editors can jump to. Fails with errors, and if an event of the file
/// cannot be counted here, although the daemon would serve the others. The shipped configuration
/// adapts to the machine.
ExitStatus check_config(const Options& options, perf::PerfKernel& kernel);

/// The command `list`: prints every event that has a name on this machine and matches
/// Options::list_glob, as a table or as a JSON array with the attributes and the metric of each.
/// Opens each event of the kernel's tables and of the PMUs once. Does not open tracepoints and
/// vendor events: there are thousands of them, and the first open of a tracepoint patches the
/// kernel.
ExitStatus list_events(const Options& options, perf::PerfKernel& kernel, Log& log);

/// The command `cgroups`: prints the cgroups that exist now and are selected, whether the limits
/// allow counting them, and the labels of their series. Opens no counters in them.
ExitStatus list_cgroups(const Options& options, perf::PerfKernel& kernel, Log& log);

/// The command `size`: prints what a configuration takes on a machine like this one with another
/// number of CPUs and of cgroups, by each way of counting cgroups. Fails if no way fits into the
/// configured limits.
ExitStatus print_size(const Options& options, perf::PerfKernel& kernel);

/// Removes the state of the last start (CrashGuard).
ExitStatus reset_crashes(const Options& options);

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
