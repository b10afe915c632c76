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

/// Whether a later attempt would fail with `code` again. The polls retry after temporary errors
/// (descriptors, memory, a busy PMU, a CPU that is offline, a process that has ended).
bool is_lasting(int code);

/// A right is missing, which may have been there before and may come back: a sysctl or a security
/// module has changed.
bool is_about_rights(int code);

/// Opens `event` at `place`, after `leader` unless that is null, and closes it. Counts nothing.
Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event,
                   const perf::Place& place, const perf::CounterSpec* leader = nullptr);

/// An event of `core` that takes one of its general counters, as often as it is opened at `place`.
/// Nothing if none can be opened.
std::optional<perf::CounterSpec> general_event(perf::PerfKernel& kernel,
                                               const events::EventResolver& resolver,
                                               const events::Pmu& core, const perf::Place& place);

/// Whether the kernel may have refused the event with `code` because of exclude_guest = 0.
bool may_be_about_guests(const events::PmuCatalogue& pmus, const perf::EventAttributes& event,
                         int code);

/// The kernel's result for one event of a group. Only a permanent error is a refusal.
struct EventTrial {
  std::optional<Error> refused;  ///< on whole CPUs, which are tried first; or in tasks
  bool tried_in_cgroup = false;  ///< false: unknown whether it can be counted there
  std::optional<Error> refused_in_cgroup;
  /// The kernel counts it with exclude_guest only: the PMU is given to virtual machines while they
  /// run (Linux 7.0, mediated vPMU), or does not distinguish guests (some of Arm's and AMD's).
  bool is_without_guests = false;
};

/// Tries the events of a group before they are counted: each alone, or after the event of the group
/// that the kernel requires before it (events/required_leader.h). Scope cgroup is tried in the root
/// of the cgroups: all others are below it, so a refusal there concerns the event, and not the
/// cgroup. If the machine counts tasks, they are tried in the calling thread.
class EventTrials {
 public:
  /// `machine` outlives it.
  explicit EventTrials(const Machine& machine) : machine_(machine) {}

  /// For one event of `group`. Tries all its instances: a sum without one would be too small. Not
  /// on the CPUs of `left_out_cpus`, in addition to those that all groups leave out.
  EventTrial of(const events::EventSpec& event, std::span<const events::EventSpec> group,
                bool in_cgroup, const std::vector<int>& left_out_cpus);

 private:
  void try_at(const perf::Place& place, const perf::CounterSpec& event,
              std::span<const events::EventSpec> group, EventTrial& trial,
              std::optional<perf::CounterSpec>& leader);
  void try_in_cgroup(const perf::CounterSpec& event, int cpu, const perf::CounterSpec* leader,
                     EventTrial& trial);
  const UniqueFd& root_cgroup();

  const Machine& machine_;
  std::optional<UniqueFd> root_cgroup_;  ///< opened on first use; empty if it cannot be opened
};

}  // namespace pex::plan
