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

/// What a configuration counts with: a reload replaces it as a whole.
struct CountingSession {
  config::Config config;
  plan::Plan plan;
  std::optional<cgroup::Hierarchy> hierarchy;  ///< the tree whose cgroups are counted; none if none
                                               ///< are counted
  std::vector<std::string> warnings;  ///< for the log, in addition to what the plan leaves out
  std::shared_ptr<collect::RecordUse> records;  ///< of the collector
  std::unique_ptr<collect::Collector> collector;
  /// For the collector that is taken over; nothing if nothing has changed.
  std::optional<collect::TargetTracker::Changes> changes;

  std::chrono::nanoseconds interval() const { return config.collection.interval; }
};

/// Whether both open the same counters in the same cgroups, so that one may take over the other's,
/// however they are published: limits, labels, sums and evidence may differ. Another source
/// (cgroups.source) counts the same. Never with a probe in a program's file: the probe belongs to
/// the file that existed when it was opened, which may have been replaced since.
bool count_alike(const CountingSession& one, const CountingSession& other);

/// Prepares to count what was planned; no counter is opened before the first poll. Fails if the
/// machine cannot be read; having no cgroups is a warning. If `in_force` counts the same, the new
/// session has no collector: it takes over that of `in_force`, with its counters and totals
/// (take_over()).
Result<CountingSession> start_counting(plan::LoadedPlan planned, const host::HostRoots& roots,
                                       perf::PerfKernel& kernel,
                                       const CountingSession* in_force = nullptr);

/// `counting` takes over the counters of `in_force`.
void take_over(CountingSession& in_force, CountingSession& counting);

}  // namespace pex::daemon
