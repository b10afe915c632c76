#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "count/row_set.h"
#include "perf/counter_group.h"
#include "perf/group_interval.h"
#include "targets/counting_plan.h"

namespace pex::collect {

struct PollFeedback;
struct PollReport;
struct TargetSet;

/// The counters of one group at all its targets on one CPU. A target is a slot of a TargetSet, or 0
/// for the CPU itself.
class GroupCounters {
 public:
  /// The result of a read.
  enum class State {
    kCounting,   ///< the interval is filled
    kUnchanged,  ///< nothing happened, and it was enabled all the time: not filled
    kOffPmu,     ///< pinned, and off the PMU: not filled
  };
  struct Opened {
    std::size_t events = 0;
    bool are_shared = false;  ///< with other targets: none can be stopped alone, and it takes no
                              ///< descriptors
  };

  /// What is open is closed.
  virtual ~GroupCounters() = default;

  /// Opens `events`, the first of `group`, in `cgroup` or, if that is null, for the whole CPU. All
  /// or nothing. What they count from then on is in the intervals.
  virtual Result<Opened, perf::OpenFailure> open(
      std::size_t target, const GroupPlan& group, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) = 0;
  virtual void close(std::size_t target) = 0;

  /// Since the last call, or since it was opened. `since` may be reused, to allocate nothing.
  virtual Result<State> read(std::size_t target, perf::GroupInterval& since) = 0;
  /// After State::kOffPmu, before it is closed: its last counts, if they are available.
  virtual Result<State> read_off_pmu(std::size_t target, perf::GroupInterval& since) = 0;

  /// Stops it at one target where it is not shared, so that others have the PMU, and starts it
  /// again. A start also requests the place of a pinned group that is off the PMU.
  virtual Result<> set_enabled(std::size_t target, bool enabled) = 0;
  /// The same where targets share it. Called at each poll for each group that shares the PMU, again
  /// and again with the same value and also while no target is open, as these counters may outlive
  /// a target and a plan; and after a target is opened while the group is paused.
  virtual Result<> set_paused([[maybe_unused]] const GroupPlan& group,
                              [[maybe_unused]] bool paused) {
    return {};
  }
};

/// The counters of one CPU. A PollCycle counts with nothing else. Belongs to the thread of its CPU,
/// except for progress().
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  /// The plan whose groups are counted from now on. Called before anything is opened, and when the
  /// plan changes: then those groups are closed that the new one does not have (GroupId), the
  /// others stay open, and there are counters of the new ones already.
  virtual void use(const std::shared_ptr<const CountingPlan>&) {}
  /// Of a group of the plan, with the source as their owner: it outlives them.
  virtual std::unique_ptr<GroupCounters> counters_of(const GroupPlan& group) = 0;

  /// Called at the start of each poll and reconciliation, for example to drain a buffer. True if
  /// the source counts in another way from now on: what is open is then read for the last time,
  /// closed and opened again.
  virtual bool begin_poll(const TargetSet&) { return false; }
  /// Called at the end of each poll and reconciliation: adds what the source itself has to report.
  virtual void report(PollReport&, PollFeedback&) {}

  /// Called before anything is opened or read; `is_online`: as the list of CPUs says. If the CPU
  /// has been offline since the last call, or was at that, and is not any more, returns for how
  /// long nothing was counted; what was opened before is dead.
  virtual std::optional<std::chrono::nanoseconds> detect_cpu_offline(bool is_online) = 0;

  /// Adds those slots of cgroups at which anything may have happened since the last call: at all
  /// others each group is State::kUnchanged, and need not be read. Called in a poll when all groups
  /// are open, before they are read. False if the source does not know, and all are to be read; so
  /// does one that has a descriptor for any of them.
  virtual bool take_changed([[maybe_unused]] RowSet& slots) { return false; }

  /// Open counters that belong to no group, each a file descriptor.
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

}  // namespace pex::collect
