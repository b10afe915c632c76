#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "events/event_spec.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "plan/machine.h"

namespace pex::plan {

/// Whether trying again later would be refused with `code` again. What the machine lacks for a
/// moment (descriptors, memory, a free PMU) is tried again by the polls.
bool is_lasting(int code);

/// Opens `event` at `place`, behind `leader` where that is not null, and closes it. Counts nothing.
Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event,
                   const perf::Place& place, const perf::CounterSpec* leader = nullptr);

/// What the kernel said of one event of a group. Only what it will say again is a refusal.
struct EventTrial {
  std::optional<Error> refused;  ///< on whole CPUs, which is tried first
  bool tried_in_cgroup = false;  ///< false: not known whether it can be counted there
  std::optional<Error> refused_in_cgroup;
};

/// Tries the events of a group before they are counted: each on its own, or behind the event of the
/// group that the kernel wants in front of it (perf/required_leader.h). Scope cgroup is tried in
/// the root of the cgroups: all others are below it, so what is refused there is the event, and not
/// the cgroup.
class EventTrials {
 public:
  /// `machine` outlives it.
  explicit EventTrials(const Machine& machine) : machine_(machine) {}

  /// Of one event of `group`. All its instances are tried: a sum without one would be too small.
  /// On no CPU of `left_out_cpus`, next to those that all groups leave out.
  EventTrial of(const events::EventSpec& event, std::span<const events::EventSpec> group,
                bool in_cgroup, const std::vector<int>& left_out_cpus);

 private:
  void try_on_cpu(const perf::CounterSpec& event, int cpu, std::span<const events::EventSpec> group,
                  EventTrial& trial, std::optional<perf::CounterSpec>& leader);
  void try_in_cgroup(const perf::CounterSpec& event, int cpu, const perf::CounterSpec* leader,
                     EventTrial& trial);
  const UniqueFd& root_cgroup();

  const Machine& machine_;
  std::optional<UniqueFd> root_cgroup_;  ///< once it was needed; empty when it cannot be opened
};

}  // namespace pex::plan
