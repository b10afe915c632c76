#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "bench/switch/open_counters.h"
#include "daemon/run/counting_session.h"
#include "host/roots.h"
#include "perf/counter_group.h"
#include "perf/linux_perf_kernel.h"

namespace pex::bench {

/// The events that a configuration has in a scope, without those that this machine does not have.
Result<std::vector<perf::CounterSpec>> plan_events(const std::string& configuration, Scope scope,
                                                   const host::HostRoots& roots);

/// What the daemon counts by a configuration, to be opened and closed as often as one likes.
class CounterSet {
 public:
  /// Plans for the machine as it is. `cgroups`: as many as the configuration selects.
  static Result<CounterSet> plan(const std::string& configuration, std::size_t cgroups,
                                 const host::HostRoots& roots);

  /// Counters, and descriptors, of all groups on all CPUs. The daemon's one event `dummy` for each
  /// CPU is among them. If cgroups are counted by records, at most so many until all are open.
  std::size_t events() const { return events_; }
  /// Fails in numbers when the limit of open files does not allow them.
  Result<> check_limit() const;

  /// Opens all of them by as many polls as it takes, or fails. They are closed on their own CPUs,
  /// as the daemon does. Keep this set until then.
  Result<std::unique_ptr<OpenCounters>> open();

 private:
  CounterSet(plan::LoadedPlan planned, std::size_t cgroups, const host::HostRoots& roots);

  plan::LoadedPlan planned_;
  std::size_t cgroups_;
  host::HostRoots roots_;
  perf::LinuxPerfKernel kernel_;
  std::size_t events_;
};

}  // namespace pex::bench
