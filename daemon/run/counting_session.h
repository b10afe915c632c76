#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "count/collector.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"
#include "plan/load_plan.h"

namespace pex::daemon {

/// What became of the groups of counters at a reload: those of all scopes, without those that only
/// serve to estimate others.
struct GroupChanges {
  std::size_t kept = 0;  ///< with their counters and totals
  std::size_t opened = 0;
  std::size_t closed = 0;
};

/// What a configuration counts with: a reload replaces it as a whole.
struct CountingSession {
  config::Config config;
  bool is_loaded = true;  ///< the configuration, from its file; else it was in force before
  plan::Plan plan;
  plan::CollectorBasis basis;         ///< of the collector
  std::vector<std::string> warnings;  ///< for the log, in addition to what the plan leaves out
  std::unique_ptr<collect::Collector> collector;
  /// For the collector that is taken over; nothing if nothing has changed.
  std::optional<collect::TargetTracker::Changes> changes;
  GroupChanges groups;  ///< compared to the session before; at the start all are opened

  std::chrono::nanoseconds interval() const { return config.collection.interval; }
};

/// Prepares to count what was planned; no counter is opened before the first poll. Fails if the
/// machine cannot be read; having no cgroups is a warning. If `in_force` has the same basis,
/// the new session has no collector: it takes over that of `in_force` (take_over()), which opens
/// and closes what differs at the next poll.
Result<CountingSession> start_counting(plan::LoadedPlan planned, const host::HostRoots& roots,
                                       perf::PerfKernel& kernel,
                                       const CountingSession* in_force = nullptr);

/// `counting` takes over the counters of `in_force`.
void take_over(CountingSession& in_force, CountingSession& counting);

}  // namespace pex::daemon
