#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "collect/counting_plan.h"
#include "collect/machine_cpus.h"
#include "perf/counter_group.h"
#include "perf/group_reading.h"

namespace pex::collect {

/// The counters of one CPU: opens, reads and closes those of a group at a target. A PollCycle
/// counts by nothing else. Belongs to the thread of its CPU, except for progress().
class CounterSource {
 public:
  /// An open group, until it is closed; then the number is used again.
  using Handle = std::uint32_t;

  /// What a read has found.
  enum class State {
    kCounting,   ///< the reading is filled
    kUnchanged,  ///< the same as the last reading of this group, which was enabled all the time
                 ///< since: not filled, and there is nothing to add
    kOffPmu,     ///< pinned, and off the PMU: not filled
  };

  virtual ~CounterSource() = default;

  /// Before the groups of a poll are read: the place to take in what a buffer holds.
  virtual void begin_poll() {}

  /// Before anything is opened or read, while the CPU is online. For how long nothing was counted,
  /// when the CPU has been offline since the last call: what was opened before then counts no more.
  virtual std::optional<std::chrono::nanoseconds> detect_cpu_offline() = 0;
  /// The CPU is known to be offline, so the next detect_cpu_offline() begins again.
  virtual void forget_cpu() = 0;

  /// Opens `events`, the first of `group`, in `cgroup` or, when that is null, for the whole CPU.
  /// All or nothing. They count from 0.
  virtual Result<Handle, perf::OpenFailure> open(
      const GroupPlan& group, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) = 0;
  virtual void close(Handle group) = 0;

  /// Counts and times since the group was opened, of as many events as it was opened with. They
  /// never decrease. `reading` may be that of any group before, to allocate nothing.
  virtual Result<State> read(Handle group, perf::GroupReading& reading) = 0;
  /// After State::kOffPmu, before the group is closed: what it had counted, where that can be had.
  virtual Result<State> read_off_pmu(Handle group, perf::GroupReading& reading) = 0;

  /// Stops the group, so that others have the PMU, and starts it again. enable() also asks for the
  /// place of a pinned group that is off the PMU.
  virtual Result<> disable(Handle group) = 0;
  virtual Result<> enable(Handle group) = 0;

  /// Counters that are open: of one group, and the source's own.
  virtual std::size_t events(Handle group) const = 0;
  virtual std::size_t own_events() const = 0;

  /// The clock of the times of whole-CPU groups. It stands still during a suspend.
  virtual std::chrono::nanoseconds now() = 0;

  /// Grows with everything that the source gets done. While its CPU is at work, a number that
  /// stands still means that it hangs. Called from any thread.
  virtual std::uint64_t progress() const = 0;
};

/// Counters that a plan takes on a machine, each of which is a file descriptor.
struct CounterCost {
  std::size_t cpus = 0;             ///< scope cpu on all CPUs, and the sources' own
  std::size_t cgroup = 0;           ///< one more cgroup, on all CPUs
  std::size_t cgroup_on_a_cpu = 0;  ///< of those, on the CPU that has most of them
};
using CostFunction = CounterCost (*)(const CountingPlan& plan, const MachineCpus& cpus);

/// One kind of source: makes that of each CPU, and knows what counting by it costs.
struct CounterSources {
  std::function<std::unique_ptr<CounterSource>(int cpu)> create;  ///< from any thread
  CostFunction cost = nullptr;
};

}  // namespace pex::collect
