#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "collect/collector.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"

namespace pex::daemon {

/// A configuration at work: what a reload replaces as a whole.
struct CountingSession {
  config::Config config;
  plan::Plan plan;
  std::optional<cgroup::Hierarchy> hierarchy;  ///< whose cgroups are counted; none of none
  std::vector<std::string> warnings;  ///< for the log, in addition to what the plan leaves out
  std::unique_ptr<collect::Collector> collector;

  std::chrono::nanoseconds interval() const { return config.collection.interval; }
};

/// Whether both open the same counters and publish them as the same series, so that one may go on
/// in place of the other. Never with a probe in a program's file: it belongs to the file that was
/// there when it was opened, and not to the one that has replaced it.
bool count_alike(const CountingSession& one, const CountingSession& other);

/// Prepares to count what was planned; no counter is opened before the first poll. Fails when the
/// machine cannot be read; having no cgroups is a warning. When `in_force` counts alike, there is
/// no collector: that of `in_force` goes on, with its counters and their totals (take_over()).
Result<CountingSession> start_counting(plan::LoadedPlan planned, const host::HostRoots& roots,
                                       perf::PerfKernel& kernel,
                                       const CountingSession* in_force = nullptr);

/// `counting` goes on with the counters of `in_force`.
void take_over(CountingSession& in_force, CountingSession& counting);

}  // namespace pex::daemon
