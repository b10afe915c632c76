#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cgroup/cgroup.h"
#include "count/counter_source.h"
#include "count/estimation.h"
#include "count/increments.h"
#include "count/row_set.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"

namespace pex::collect {

/// One group of a plan at all targets of its scope on one CPU, for the life of their series: opened
/// and closed as CPUs and cgroups appear and disappear. What it counts are increments, which the
/// ledger takes. Goes from plan to plan as long as they have it (GroupId). At each target:
///
///   closed --open()--> open --close()--> closed       open --stop()--> stopped --start()--> open
///      \--open() fails--> failed --open(), less and less often--> open
class TargetGroups {
 public:
  /// Both outlive it.
  TargetGroups(const GroupPlan& plan, CounterSource& source, int cpu, std::size_t targets);

  const GroupPlan& plan() const { return *plan_; }
  /// Counts for an equal group of another plan from now on, which outlives it.
  void use(const GroupPlan& plan) {
    plan_ = &plan;
    estimation_.use(plan);
  }

  /// What was counted since clear_increments(), and at the end of a poll the changes of state.
  const Increments& increments() const { return estimation_.increments(); }
  void clear_increments() {
    estimation_.increments().clear();
    was_open_ = open_;
  }

  /// What it has counted at each target, and what is known of the rest.
  Estimation& estimation() { return estimation_; }
  const Estimation& estimation() const { return estimation_; }

  std::size_t size() const { return slots_.size(); }  ///< targets

  /// The first targets stay, as many as there are now, and new ones are blank. Those that end were
  /// forgotten before.
  void resize(std::size_t targets);
  /// Its series has ended: closes it without a last reading. The target is blank from now on.
  void forget(std::size_t target);

  bool is_open(std::size_t target) const { return slots_[target].open_events > 0; }
  /// As of the last clear_increments().
  bool was_open(std::size_t target) const { return was_open_.has(target); }
  std::size_t count_open() const { return open_.size(); }  ///< targets at which it is open
  bool has_failed(std::size_t target) const {
    return slots_[target].failures > 0 || slots_[target].has_missed;
  }

  /// Whether it should be counted at its target now.
  bool is_wanted(std::size_t target) const { return slots_[target].is_wanted; }
  void set_wanted(std::size_t target, bool wanted);

  /// The cgroup in which it is open; null for a whole CPU.
  const cgroup::Cgroup* cgroup(std::size_t target) const { return slots_[target].cgroup.get(); }

  /// Opens it in `cgroup` or, if that is null, for the whole CPU. A failure is added to the report;
  /// after it, calls do nothing for 1, 2, 4, ... 16 polls. A cgroup or CPU that is gone meanwhile
  /// is no failure. A group whose optional events are refused is opened without them. Returns the
  /// errno of a failure, else 0.
  int open(std::size_t target, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
           PollReport& report);
  void close(std::size_t target, PollReport& report);

  /// A poll begins: counts down the wait after a failure. Called before open().
  void begin_poll();

  /// Its cgroup disappeared before it was open: sums lack its counts until it is opened again.
  void mark_missed(std::size_t target) {
    slots_[target].has_missed = true;
    estimation_.note_change(target);
  }

  /// Not to be counted here now (the CPU is offline, or not of its PMU), so it is not failing
  /// either.
  void forget_failures(std::size_t target) {
    if (has_failed(target)) estimation_.note_change(target);
    slots_[target].failures = slots_[target].polls_to_wait = 0;
    slots_[target].has_missed = false;
  }

  /// Requires an open group, as do all below.
  Result<GroupCounters::State> read(std::size_t target, perf::GroupInterval& since);
  /// The same before it is closed: a group off the PMU still returns its counts.
  Result<GroupCounters::State> read_last(std::size_t target, perf::GroupInterval& since);
  bool was_read(std::size_t target) const {  ///< at the last attempt
    return slots_[target].was_read;
  }
  std::size_t open_events(std::size_t target) const { return slots_[target].open_events; }
  std::size_t descriptors(std::size_t target) const {
    return slots_[target].is_shared ? 0 : slots_[target].open_events;
  }

  /// For its failures; `cpu` is -1 if unknown.
  PollReport::Subject subject(std::size_t target, int cpu = -1) const;

  /// Adds what was counted since the previous reading, or since opening.
  void add(std::size_t target, const perf::GroupInterval& since, const AlwaysOn& always_on,
           const Estimation::Learning& learning, PollReport& report);

  /// Pinned, and off the PMU, so that the time is unmeasured. Requests its place again.
  void missed_its_place(std::size_t target, const AlwaysOn& always_on, PollReport& report);

  /// For a whole CPU, whose time always advances: for how long it has stood still, if that is so
  /// long that the kernel will not count the group any more (perf::CounterGroup::open). In the time
  /// of CounterSource::now(); it was read between `begun` and `ended`.
  std::optional<std::chrono::nanoseconds> find_standstill(const perf::GroupInterval& since,
                                                          std::chrono::nanoseconds begun,
                                                          std::chrono::nanoseconds ended);

  /// Manual rotation (rotation.h): while it is stopped, the group leaves the PMU to others of its
  /// target. The time of its target on the CPU meanwhile counts as enabled.
  bool can_stop(std::size_t target) const { return is_open(target) && !slots_[target].is_shared; }
  void stop(std::size_t target);
  void start(std::size_t target);
  void set_rotated(std::size_t target, bool rotated);

  /// A pause, or the rest of its duty cycle: where the group shares the PMU, it leaves it to other
  /// programs at all targets, also at those where it is opened meanwhile. The time of its targets
  /// on the CPU counts as enabled.
  void set_paused(bool paused, PollReport& report);
  bool is_paused() const { return is_paused_; }

  /// Ends a poll, at this time of CounterSource::now(). Takes time for targets that were wanted in
  /// it, or lack the PMU; not for others.
  void end_poll(std::chrono::nanoseconds now);

  /// Also while it is closed.
  GroupState state(std::size_t target) const;
  /// The number of polls since it was first to be counted, and since it first had the PMU.
  unsigned polls_wanted(std::size_t target) const {
    return polls_since(slots_[target].first_wanted);
  }
  unsigned polls_counted(std::size_t target) const {
    return polls_since(estimation_.known(target).first_counted);
  }

 private:
  struct Slot {
    std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< in which it is open
    unsigned first_wanted = 0;                     ///< number of the poll; 0: never yet
    std::uint16_t failures = 0;                    ///< consecutive; saturates
    std::uint8_t polls_to_wait = 0;                ///< before the next try
    std::uint8_t open_events = 0;  ///< at most perf::kMaxGroupMembers; 0: it is closed
    bool is_shared : 1 = false;    ///< GroupCounters::Opened
    bool has_missed : 1 = false;   ///< its last cgroup
    bool is_wanted : 1 = false;
    bool was_read : 1 = false;
    bool read_failed : 1 = false;
    bool is_stopped : 1 = false;
    bool is_rotated : 1 = false;
    GroupState reported = {};  ///< by change_state()
  };

  void pause(std::size_t target, PollReport& report);
  void note_pause(const Result<>& done, const cgroup::Cgroup* cgroup, PollReport& report);
  int note_refusal(std::size_t target, const perf::OpenFailure& failure,
                   const cgroup::Cgroup* cgroup, PollReport& report);
  void restart(std::size_t target);
  unsigned polls_since(unsigned first) const {
    const unsigned polls = estimation_.polls();
    return first == 0 || first > polls ? 0 : polls - first + 1;
  }
  void report_state(std::size_t target);
  void complete(perf::GroupInterval& since) const;
  void report_refusal(const perf::OpenFailure& failure, const cgroup::Cgroup* cgroup,
                      PollReport& report) const;
  void report_anomaly(std::size_t target, PollReport& report) const;

  const GroupPlan* plan_;
  CounterSource* source_;
  std::unique_ptr<GroupCounters> counters_;
  int cpu_;
  bool is_paused_ = false;
  bool pause_failed_ = false;  ///< not all groups are stopped, or enabled again
  std::vector<Slot> slots_;
  Estimation estimation_;
  RowSet open_;                             ///< where it is open
  RowSet was_open_;                         ///< as of the last clear_increments()
  std::chrono::nanoseconds advanced_at_{};  ///< as find_standstill() saw
};

}  // namespace pex::collect
