#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "collect/counting_plan.h"
#include "collect/machine_cpus.h"
#include "perf/counter_group.h"
#include "perf/group_reading.h"

namespace pex::collect {

struct PollFeedback;
struct PollReport;
struct TargetSet;

/// The counters of one CPU: opens, reads and closes those of a group at a target. A PollCycle
/// counts with nothing else. Belongs to the thread of its CPU, except for progress().
class CounterSource {
 public:
  /// An open group, until it is closed; then the number is reused.
  using Handle = std::uint32_t;

  /// The result of a read.
  enum class State {
    kCounting,   ///< the reading is filled
    kUnchanged,  ///< equal to the last reading of this group, which was enabled all the time since:
                 ///< not filled, and there is nothing to add
    kOffPmu,     ///< pinned, and off the PMU: not filled
  };

  virtual ~CounterSource() = default;

  /// The plan whose groups are counted from now on. Called before all other functions, and when the
  /// plan changes: then those groups are closed that the new one does not have (GroupId), and
  /// the others stay open.
  virtual void use(const std::shared_ptr<const CountingPlan>&) {}

  /// Called at the start of each poll and reconciliation, for example to drain a buffer. True if
  /// the source counts in another way from now on: what is open is then read for the last time,
  /// closed and opened again.
  virtual bool begin_poll(const TargetSet&) { return false; }
  /// Called at the end of each poll and reconciliation: adds what the source itself has to report.
  virtual void report(PollReport&, PollFeedback&) {}

  /// Called before anything is opened or read, while the CPU is online. If the CPU has been offline
  /// since the last call, returns for how long nothing was counted; what was opened before is dead.
  virtual std::optional<std::chrono::nanoseconds> detect_cpu_offline() = 0;
  /// The CPU is known to be offline, so the next detect_cpu_offline() restarts.
  virtual void forget_cpu() = 0;

  /// Opens `events`, the first of `group`, in `cgroup` or, if that is null, for the whole CPU. All
  /// or nothing. They count from 0.
  virtual Result<Handle, perf::OpenFailure> open(
      const GroupPlan& group, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) = 0;
  virtual void close(Handle group) = 0;

  /// Counts and times since the group was opened, for as many events as it was opened with. They
  /// never decrease. `reading` may be reused from any group, to allocate nothing.
  virtual Result<State> read(Handle group, perf::GroupReading& reading) = 0;
  /// After a read, for how long nothing was counted since the last call, although the target may
  /// have run: its records were lost. It is in none of the times of the reading.
  virtual std::chrono::nanoseconds take_lost(Handle) { return {}; }
  /// Fills `groups` with those open ones in cgroups that may have changed since the last call, in
  /// any order: all others are State::kUnchanged, and need not be read. Called in a poll when all
  /// groups are open, before they are read. False if the source does not know, and all are to be
  /// read; so does one that has a descriptor for any of them.
  virtual bool take_changed([[maybe_unused]] std::vector<Handle>& groups) { return false; }
  /// After State::kOffPmu, before the group is closed: its last counts, if they are available.
  virtual Result<State> read_off_pmu(Handle group, perf::GroupReading& reading) = 0;

  /// Whether one group can be stopped without others.
  virtual bool can_stop(Handle) const { return true; }
  /// Stops the group, so that others have the PMU, and restarts it. enable() also requests the
  /// place of a pinned group that is off the PMU.
  virtual Result<> disable(Handle group) = 0;
  virtual Result<> enable(Handle group) = 0;

  /// Stops and restarts the counters that several targets of `group` share, those of which
  /// can_stop() is false. Called at each poll for each group that shares the PMU, again and again
  /// with the same value and also while no target is open, as these counters may outlive a target
  /// and a plan; and after a target is opened while the group is paused.
  virtual Result<> set_paused([[maybe_unused]] const GroupPlan& group,
                              [[maybe_unused]] bool paused) {
    return {};
  }

  /// The counters of one group.
  virtual std::size_t events(Handle group) const = 0;
  /// Open ones, each a file descriptor: those that only serve this group, and all others.
  virtual std::size_t descriptors(Handle group) const { return events(group); }
  virtual std::size_t own_events() const = 0;

  /// The clock of the times of whole-CPU groups. It stands still during a suspend.
  virtual std::chrono::nanoseconds now() = 0;

  /// Grows with everything that the source completes. While its CPU is busy, a number that stands
  /// still means that it hangs. Called from any thread.
  virtual std::uint64_t progress() const = 0;

  /// Readable if between_polls() has something to do; -1: never. Can change with each poll and
  /// reconciliation.
  virtual int descriptor() const { return -1; }
  /// When between_polls() is to be called, from now on, also if nothing is readable; nothing:
  /// never.
  virtual std::optional<std::chrono::nanoseconds> due_in() { return {}; }
  /// Called when descriptor() is readable, or due_in() has passed, and no poll is running.
  virtual void between_polls() {}
};

/// Counters that a plan takes on a machine, each a file descriptor.
struct CounterCost {
  std::size_t cpus = 0;             ///< scope cpu on all CPUs, and the sources' own
  std::size_t cgroup = 0;           ///< one more cgroup, on all CPUs
  std::size_t cgroup_on_a_cpu = 0;  ///< the part on the CPU that has most of them

  bool operator==(const CounterCost&) const = default;
};
/// The result can change from call to call, as a source may find out what it needs.
using CostFunction = std::function<CounterCost(const CountingPlan& plan, const MachineCpus& cpus)>;

/// One kind of source: creates that of each CPU, and knows the cost of counting with it.
struct CounterSources {
  std::function<std::unique_ptr<CounterSource>(int cpu)> create;  ///< from any thread
  CostFunction cost;
};

}  // namespace pex::collect
