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

/// Runs `job` in a thread of its own that is bound to `cpu`, and waits for its end. False, and it
/// is not run, where this process may not run there.
bool run_bound_to(int cpu, const std::function<void()>& job);

/// Who counts: what no tree of files can say in place of the real one.
struct Self {
  std::string kernel_release;  ///< of uname(2)
  host::Permissions permissions;
  host::FileLimit files;
  std::optional<std::string> cgroup;  ///< own path in the tree that carries perf_event, if known
  bool (*run_bound_to)(int, const std::function<void()>&) = daemon::run_bound_to;
};

/// Looks at everything that decides what can be counted here and at what the configuration needs of
/// it, in the order in which one thing explains the next. Opens events on every CPU, and closes
/// each at once; where a cgroup of our own lets it, it also works on a CPU for a quarter of a
/// second, where others disturb that on up to four.
std::vector<Finding> examine(const Options& options, perf::PerfKernel& kernel, const Self& self);

/// The command `doctor`: prints what examine() finds about this process, and how much of the
/// configuration can be counted. kOk when all of it can be. kFailed when there is an error in it,
/// when this machine cannot count something that it lists, or when the exporter would not start:
/// when there is a finding that is bad; one that could not be determined is no failure. What the
/// embedded default lists and this machine lacks is only a note, as long as something is counted.
ExitStatus run_doctor(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
