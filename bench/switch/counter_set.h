#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "count/collector.h"
#include "daemon/run/counting_session.h"
#include "host/roots.h"
#include "perf/linux_perf_kernel.h"

namespace pex::bench {

/// What came of the records of switches.
struct RecordsRead {
  std::uint64_t read = 0;
  std::uint64_t lost = 0;     ///< the ring had no room for them
  std::uint64_t skipped = 0;  ///< the kernel did not write them
};

/// Counters that are open for as long as this is kept; none unless some are given.
class OpenCounters {
 public:
  OpenCounters() = default;
  OpenCounters(std::unique_ptr<collect::Collector> collector, std::size_t descriptors);

  std::size_t descriptors() const { return descriptors_; }
  /// Of all CPUs, since the counters were opened, by one more poll: the workers have read most of
  /// them meanwhile.
  RecordsRead records();

 private:
  std::unique_ptr<collect::Collector> collector_;
  std::size_t descriptors_ = 0;
};

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
