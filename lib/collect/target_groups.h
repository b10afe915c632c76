#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cgroup/cgroup.h"
#include "collect/counter_source.h"
#include "collect/counting_plan.h"
#include "collect/poll_report.h"
#include "collect/totals.h"
#include "collect/wanted_time.h"
#include "estimate/group_estimator.h"

namespace pex::collect {

/// What the groups of a target that never lose the PMU report at one instant; totals that never
/// fall.
struct AlwaysOn {
  struct Reference {
    std::uint64_t total = 0;
    std::chrono::nanoseconds enabled{};  ///< for which it was counted
  };
  std::optional<std::chrono::nanoseconds> clock;  ///< for which the target was on the CPU
  std::chrono::nanoseconds clock_counted{};  ///< by the cpu-clock meanwhile, with what that misses
  std::optional<Reference> reference;
};

/// What is known of one group at one target on one CPU, in addition to its totals.
struct GroupState {
  bool is_wanted : 1 = false;  ///< it is to be counted there now
  bool is_open : 1 = false;
  bool has_failed : 1 = false;     ///< could not be opened, or its cgroup went before it was
  bool is_unreadable : 1 = false;  ///< it is open, and the last try to read it failed
  bool measured : 1 = false;       ///< has been read at least once
  bool counted : 1 = false;        ///< has had the PMU at least once
  bool wanted : 1 = false;         ///< has wanted it at least once
  bool was_on_pmu : 1 = false;     ///< between the last two readings
  /// It has wanted the PMU for more than estimate::kMaxImputed and has not had it, the last time
  /// not longer ago than that. So its totals stand still, and not because nothing happens.
  bool lacks_the_pmu : 1 = false;
  unsigned polls_wanted = 0;   ///< since it was first wanted
  unsigned polls_counted = 0;  ///< since it first had the PMU
};

/// One group of a plan at all targets of its scope on one CPU, for as long as their series live:
/// opened and closed as CPU and cgroups come and go, while the totals go on. At each target:
///
///   closed --open()--> open --close()--> closed       open --stop()--> stopped --start()--> open
///      \--open() fails--> failed --open(), less and less often--> open
///
/// Everything lies in flat arrays with an element for each target, and groups that never lose the
/// PMU, which are most of those of cgroups, have none of the state that only the others need.
class TargetGroups {
 public:
  /// Both outlive it.
  TargetGroups(const GroupPlan& plan, CounterSource& source, int cpu, std::size_t targets = 0);
  ~TargetGroups();
  TargetGroups(TargetGroups&&) = default;
  TargetGroups& operator=(TargetGroups&&) = delete;

  const GroupPlan& plan() const { return *plan_; }
  const GroupTotals& totals() const { return totals_; }
  std::size_t size() const { return slots_.size(); }  ///< targets

  /// Other targets: `places` says of each where it stood before, or kNewPlace. Those that go are
  /// closed.
  void rearrange(std::span<const std::size_t> places);

  bool is_open(std::size_t target) const { return slots_[target].handle != kClosed; }
  bool has_failed(std::size_t target) const {
    return slots_[target].failures > 0 || slots_[target].has_missed;
  }

  /// Whether it is to be counted at its target now.
  bool is_wanted(std::size_t target) const { return slots_[target].is_wanted; }
  void set_wanted(std::size_t target, bool wanted) { slots_[target].is_wanted = wanted; }

  /// The cgroup in which it is open; null for a whole CPU.
  const cgroup::Cgroup* cgroup(std::size_t target) const { return slots_[target].cgroup.get(); }

  /// Opens it in `cgroup` or, when that is null, for the whole CPU. A failure goes into the report;
  /// after it, calls are answered by doing nothing for 1, 2, 4, ... 16 polls, however often it is
  /// called between them. A cgroup or CPU that has gone meanwhile is no failure. One whose optional
  /// events are refused is opened without. Returns the errno of a failure, else 0.
  int open(std::size_t target, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
           PollReport& report);
  void close(std::size_t target, PollReport& report);

  /// A poll begins: one less to wait for after a failure. Called before open().
  void begin_poll();

  /// Its cgroup has gone before it was open: sums lack what it would have counted.
  void mark_missed(std::size_t target) { slots_[target].has_missed = true; }

  /// Not wanted here for now (the CPU is offline, or not of its PMU), so it cannot be failing
  /// either.
  void forget_failures(std::size_t target) {
    slots_[target].failures = slots_[target].polls_to_wait = 0;
  }

  /// Only when open, as are all below.
  Result<CounterSource::State> read(std::size_t target, perf::GroupReading& reading);
  /// The same before it is closed: one that is off the PMU still reports what it has counted.
  Result<CounterSource::State> read_last(std::size_t target, perf::GroupReading& reading);
  bool was_read(std::size_t target) const {  ///< the last time that it was tried
    return slots_[target].was_read;
  }
  std::size_t open_events(std::size_t target) const { return slots_[target].open_events; }

  /// For failures of it; `cpu` is -1 when not known.
  PollReport::Subject subject(std::size_t target, int cpu = -1) const;

  /// What an estimate needs in addition to the reading, and its scratch memory.
  struct Learning {
    std::span<const estimate::EventModel> models;
    std::span<estimate::ModelUpdate> updates;
    std::span<estimate::EventIncrement> increments;
    bool& kernel_mistimes;  ///< as estimate::Sample says; set when this reading proves it
  };
  /// Adds to the totals what has passed since the reading before, or since opening.
  void advance_to(std::size_t target, const perf::GroupReading& reading, const AlwaysOn& always_on,
                  const Learning& learning, PollReport& report);

  /// The source has nothing new of it.
  void stand_still(std::size_t target);

  /// Pinned, and off the PMU, so that the time is unmeasured. Asks for its place again.
  void missed_its_place(std::size_t target, const AlwaysOn& always_on, PollReport& report);

  /// The same when it is closed, and no count is to be had any more.
  void lost_its_counts(std::size_t target, const AlwaysOn& always_on);

  /// Of a whole CPU, whose time goes on whatever happens: for how long it has stood still, when
  /// that is so long that the kernel will not let the group count any more
  /// (perf::CounterGroup::open). In the time of CounterSource::now(), between `begun` and `ended`
  /// of which it was read.
  std::optional<std::chrono::nanoseconds> find_standstill(std::size_t target,
                                                          const perf::GroupReading& reading,
                                                          std::chrono::nanoseconds begun,
                                                          std::chrono::nanoseconds ended);

  /// The target wanted the PMU for so long, if that is known, and nothing of it was counted.
  void add_unmeasured(std::size_t target, std::optional<std::chrono::nanoseconds> wanted);

  /// Rotation by hand (rotation.h): stopped, the group leaves the PMU to others of its target. The
  /// time its target is on the CPU meanwhile is time for which it wants the PMU.
  void stop(std::size_t target);
  void start(std::size_t target);
  void set_rotated(std::size_t target, bool rotated);

  /// Polls in a row at which its target had been on the CPU, and the group next to never on the
  /// PMU.
  unsigned starved_polls(std::size_t target) const { return shared_[target].starved_polls; }
  /// Nearly all the time up to the last poll.
  bool had_the_pmu(std::size_t target) const { return shared_[target].had_the_pmu; }
  /// The target was on the CPU up to then.
  bool was_wanted(std::size_t target) const { return slots_[target].was_wanted; }

  /// One more poll is over, at this time of CounterSource::now().
  void end_poll(std::chrono::nanoseconds now);

  /// For the rows of a snapshot; also when it is closed.
  GroupState state(std::size_t target) const;

 private:
  static constexpr CounterSource::Handle kClosed =
      std::numeric_limits<CounterSource::Handle>::max();

  /// What every group has at each target.
  struct Slot {
    std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< in which it is open
    std::chrono::nanoseconds wanted_in_poll{};     ///< since end_poll()
    std::chrono::nanoseconds without_pmu{};        ///< wanted without having it, in a row
    std::chrono::nanoseconds last_wanted{};        ///< when
    CounterSource::Handle handle = kClosed;
    unsigned polls_wanted = 0;       ///< since it was first to be counted
    unsigned polls_counted = 0;      ///< since it first had the PMU
    std::uint16_t failures = 0;      ///< in a row; stands still at its end
    std::uint8_t polls_to_wait = 0;  ///< before the next try
    std::uint8_t open_events = 0;    ///< at most perf::kMaxGroupMembers
    bool has_missed : 1 = false;     ///< the last cgroup that it was wanted in
    bool is_wanted : 1 = false;
    bool was_read : 1 = false;
    bool read_failed : 1 = false;
    bool was_on_pmu : 1 = false;
    bool was_wanted : 1 = false;
  };
  /// Of a group that can lose the PMU.
  struct Shared {
    WantedTime wanted;
    unsigned starved_polls = 0;
    bool is_stopped = false;
    bool is_rotated = false;
    bool had_the_pmu = false;
  };
  struct Standstill {
    std::chrono::nanoseconds went_on_until{};  ///< its time, as find_standstill() saw
    std::chrono::nanoseconds went_on_to{};     ///< and what that was
  };

  bool can_lose_pmu() const { return plan_->shares_pmu || plan_->mode.pinned; }
  estimate::GroupEstimator* find_estimator(std::size_t target);
  const estimate::GroupEstimator* find_estimator(std::size_t target) const;
  estimate::GroupEstimator& estimator(std::size_t target);
  void restart(std::size_t target);
  std::span<const std::uint64_t> last_counts(std::size_t target) const;
  bool add_exactly(std::size_t target, const perf::GroupReading& reading);
  void estimate(std::size_t target, const perf::GroupReading& reading, const AlwaysOn& always_on,
                const Learning& learning, PollReport& report);
  static void detect_starving(Shared& shared, const estimate::GroupIncrement& increment);
  static void note_wanted(Slot& slot, std::chrono::nanoseconds wanted, bool had_the_pmu);
  void complete(std::size_t target, perf::GroupReading& reading) const;
  void report_refusal(const perf::OpenFailure& failure, const cgroup::Cgroup* cgroup,
                      PollReport& report) const;
  void report_anomaly(std::size_t target, PollReport& report) const;

  const GroupPlan* plan_;
  CounterSource* source_;
  int cpu_;
  GroupTotals totals_;
  std::vector<Slot> slots_;
  /// Of a group that cannot lose the PMU the last reading: there is nothing else to know of the
  /// past while it has had the PMU all the time. Times enabled, which are those running as well;
  /// counts, [target * events + event].
  std::vector<std::chrono::nanoseconds> exact_enabled_;
  std::vector<std::uint64_t> exact_counts_;
  /// Of the targets at which it turned out not to have had it; empty while there is none.
  std::vector<std::unique_ptr<estimate::GroupEstimator>> inexact_;
  /// Of a group that can lose the PMU.
  std::vector<estimate::GroupEstimator> estimators_;
  std::vector<Shared> shared_;
  std::vector<Standstill> standstills_;  ///< empty in scope cgroup
};

}  // namespace pex::collect
