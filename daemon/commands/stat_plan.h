#pragma once

#include <vector>

#include "base/result.h"
#include "daemon/cli/options.h"
#include "daemon/commands/stat_counting.h"
#include "perf/perf_kernel.h"
#include "plan/task_plan.h"

namespace pex::daemon {

/// What the command `stat` is to count.
struct StatPlan {
  plan::TaskPlan plan;
  StatGroups groups;
};

/// Why there is none, and the exit status for that.
struct StatFailure {
  std::vector<Error> errors;
  int status = kFailed;
};

/// Of Options::stat_events, each of which is what the `events` of a configured group are; without
/// any, of the groups of the configuration that are counted by cgroup. Tries every event in the
/// calling thread.
Result<StatPlan, StatFailure> plan_stat(const Options& options, perf::PerfKernel& kernel);

}  // namespace pex::daemon
