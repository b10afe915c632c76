#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cli/options.h"
#include "daemon/doctor/findings.h"
#include "host/permissions.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// Runs `job` in a new thread that is bound to `cpu`, and waits for its end. Returns false without
/// running it if this process may not run on `cpu`.
bool run_bound_to(int cpu, const std::function<void()>& job);

/// Properties of this process that no fixture tree can replace.
struct Self {
  std::string kernel_release;  ///< of uname(2)
  host::Permissions permissions;
  host::FileLimit files;
  std::optional<std::string> cgroup;     ///< own path in the perf_event hierarchy, if known
  std::chrono::milliseconds trial{100};  ///< of records of switches, on each CPU
  bool (*run_bound_to)(int, const std::function<void()>&) = daemon::run_bound_to;
};

Self this_process();

/// Checks everything that decides what can be counted here, and what the configuration requires;
/// ordered so that a finding may explain the next one. Opens events on every CPU, and closes each
/// at once. If the cgroup of this process allows it, also runs a trial of a quarter of a second on
/// one CPU, and on up to four if other work disturbs it.
std::vector<Finding> check_all(const Options& options, perf::PerfKernel& kernel, const Self& self);

/// The command `doctor`: prints the findings of check_all() for this process, and how much of the
/// configuration can be counted. Returns kOk if all of it can. Returns kFailed on a bad finding: an
/// error in the configuration, an event of it that this machine cannot count, or a reason why the
/// exporter would not start. An unknown finding is no failure. What the embedded default lists and
/// this machine lacks is only a note, as long as something is counted.
ExitStatus run_doctor(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
