#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "daemon/probe_cpus.h"
#include "perf/counter_group.h"
#include "perf/event_resolver.h"
#include "perf/event_spec.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// Whether trying again later would be refused with `code` again. What the machine lacks for a
/// moment (descriptors, memory, a free PMU) is tried again by the polls.
bool is_lasting(int code);

/// Opens `event` at `place`, behind `leader` where that is not null, and closes it. Counts nothing.
Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event,
                   const perf::Place& place, const perf::CounterSpec* leader = nullptr);

/// Tries the events of a group before they are counted: each on its own, or behind the event of the
/// group that the kernel wants in front of it (perf/required_leader.h).
class EventTrials {
 public:
  /// All outlive it.
  EventTrials(const perf::EventResolver& resolver, perf::PerfKernel& kernel, const ProbeCpus& cpus)
      : resolver_(resolver), kernel_(kernel), cpus_(cpus) {}

  /// Why one event of `group` can never be opened. All its instances are tried: a sum without one
  /// would be too small.
  std::optional<Error> refusal(std::span<const perf::EventSpec> group, std::size_t event);

 private:
  std::optional<Error> refusal(const perf::CounterSpec& event, int cpu,
                               std::span<const perf::EventSpec> group);

  const perf::EventResolver& resolver_;
  perf::PerfKernel& kernel_;
  const ProbeCpus& cpus_;
};

}  // namespace pex::daemon
