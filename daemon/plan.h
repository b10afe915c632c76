#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/discovery.h"
#include "collect/budget.h"
#include "collect/counting_plan.h"
#include "config/config.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// One configured event, and whether this machine can count it.
struct EventAvailability {
  std::string event;  ///< canonical spelling
  std::string group;
  bool available = true;
  Error reason;  ///< when it is not
};

/// A configuration as it applies to this machine. Without mistakes, it can be counted.
struct Plan {
  collect::CountingPlan counting;  ///< only what is available
  cgroup::Selection selection;
  collect::Budget budget;  ///< all but max_open_files
  std::vector<EventAvailability> events;
  std::vector<Error> mistakes;  ///< events that no machine knows, and series that would be double
};

/// Joins what was configured with what `kernel` can do. Each event is tried on its own on
/// `probe_cpu`, for the whole CPU: one that is missing costs its group that event, and no other
/// group anything. Then what is left of each group is tried as a group; one that does not fit on
/// the PMU is left out.
Plan make_plan(const config::Config& config, perf::PerfKernel& kernel, int probe_cpu);

/// Opens `event` on `cpu` and closes it.
Result<> try_event(perf::PerfKernel& kernel, const perf::EventSpec& event, int cpu);

/// Whether each configured event is counted in every group that lists it.
std::map<std::string, bool> availability(const Plan& plan);

/// One line for each reason why something is left out, naming all that it concerns: the kernel says
/// the same of ten events at once. It also says so when nothing is left.
std::vector<std::string> left_out_lines(const Plan& plan);

}  // namespace pex::daemon
