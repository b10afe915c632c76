#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cgroup/cgroup.h"
#include "collect/counting_plan.h"
#include "collect/poll_report.h"
#include "collect/totals.h"
#include "estimate/group_estimator.h"
#include "perf/counter_group.h"

namespace pex::collect {

/// What the groups of a target that never lose the PMU say at one instant; totals that never fall.
struct AlwaysOn {
  struct Reference {
    std::uint64_t total = 0;
    std::chrono::nanoseconds enabled{};  ///< for which it was counted
  };
  std::optional<std::chrono::nanoseconds> clock;  ///< for which the target was on the CPU
  std::chrono::nanoseconds clock_counted{};  ///< by the cpu-clock meanwhile, with what that misses
  std::optional<Reference> reference;
};

/// One group at one target on one CPU for as long as its series live: opened and closed as CPU and
/// cgroup come and go, while the totals go on.
///
///   closed --open()--> open --close()--> closed       open --stop()--> stopped --start()--> open
///      \--open() fails--> failed --open(), less and less often--> open
class TargetGroup {
 public:
  /// `plan` outlives it.
  explicit TargetGroup(const GroupPlan& plan)
      : plan_(&plan),
        totals_(plan.estimated(), plan.shares_pmu),
        estimator_(plan.estimated(), plan.slot, /*keeps_history=*/plan.shares_pmu) {}

  const GroupPlan& plan() const { return *plan_; }
  const GroupTotals& totals() const { return totals_; }
  bool is_open() const { return counters_.has_value(); }
  bool has_failed() const { return failures_ > 0 || has_missed_; }

  /// Whether it is to be counted at its target now.
  bool is_wanted() const { return wanted_; }
  void set_wanted(bool wanted) { wanted_ = wanted; }

  /// The cgroup in which it is open; null for a whole CPU.
  const std::shared_ptr<const cgroup::Cgroup>& cgroup() const { return cgroup_; }

  /// Opens it on `cpu`, in `cgroup` or, when that is null, for the whole CPU. A failure goes into
  /// the report; after it, calls are answered by doing nothing for 1, 2, 4, ... 16 polls, however
  /// many looks are between them. A cgroup or CPU that has gone meanwhile is no failure. One whose
  /// helpers are refused is opened without. Returns the errno of a failure, else 0.
  int open(perf::PerfKernel& kernel, int cpu, std::shared_ptr<const cgroup::Cgroup> cgroup,
           PollReport& report);
  void close(PollReport& report);

  /// A poll begins: one less to wait for after a failure. Called before open().
  void begin_poll() { polls_to_wait_ -= polls_to_wait_ > 0 ? 1 : 0; }

  /// Its cgroup has gone before it was open: sums lack what it would have counted.
  void miss() { has_missed_ = true; }

  /// Not wanted here for now (the CPU is offline, or not of its PMU), so it cannot be failing
  /// either.
  void forget_failures() { failures_ = polls_to_wait_ = 0; }

  /// Only when open, as are all below. `cpu` is the one it is open on.
  Result<> read(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading);
  /// The same before it is closed: one that is off the PMU still tells what it has counted.
  Result<> read_last(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading);
  bool was_read() const { return was_read_; }  ///< the last time that it was tried
  std::size_t open_events() const { return counters_->size(); }

  /// For failures of it on `cpu`, or on one that is not known.
  PollReport::Subject subject(int cpu = -1) const {
    return {plan_->name, {}, cgroup_ ? cgroup_->path : std::string{}, cpu};
  }

  /// What an estimate needs beside the reading, and its scratch memory.
  struct Learning {
    std::span<const estimate::EventModel> models;
    std::span<estimate::ModelUpdate> lessons;
    std::span<estimate::EventIncrement> increments;
    bool& kernel_mistimes;  ///< as estimate::Sample says; set when this reading proves it
  };
  /// Adds to the totals what has passed since the reading before, or since opening.
  void advance_to(const perf::GroupReading& reading, const AlwaysOn& always_on,
                  const Learning& learning, PollReport& report);

  /// Pinned, and off the PMU, so that the time is unmeasured. Asks for its place anew.
  void missed_its_place(perf::PerfKernel& kernel, int cpu, const AlwaysOn& always_on,
                        PollReport& report);

  /// The same when it is closed, and no count is to be had any more.
  void lost_its_counts(const AlwaysOn& always_on);

  /// Of a whole CPU, whose time goes on whatever happens: for how long it has stood still, when
  /// that is so long that the kernel will not let the group count any more (CounterGroup::open). In
  /// the time of PerfKernel::now(), between `begun` and `ended` of which it was read.
  std::optional<std::chrono::nanoseconds> find_standstill(const perf::GroupReading& reading,
                                                          std::chrono::nanoseconds begun,
                                                          std::chrono::nanoseconds ended);

  /// The target wanted the PMU for so long, and nothing of it was counted.
  void add_unmeasured(std::chrono::nanoseconds wanted);

  /// Rotation by hand (turns.h): stopped, the group leaves the PMU to others of its target. The
  /// time its target is on the CPU meanwhile is time for which it wants the PMU.
  void stop(perf::PerfKernel& kernel);
  void start(perf::PerfKernel& kernel);
  void set_in_turns(bool in_turns);

  /// Polls in a row at which its target had been on the CPU, and the group next to never on the
  /// PMU.
  unsigned starved_polls() const { return starved_polls_; }
  bool had_the_pmu() const { return had_the_pmu_; }  ///< nearly all the time up to the last poll
  bool was_wanted() const { return was_wanted_; }    ///< the target was on the CPU up to then

  /// For the rows of a snapshot, also when closed.

  /// It is open, and the last try to read it failed.
  bool is_unreadable() const { return counters_.has_value() && read_failed_; }
  /// It has wanted the PMU for more than estimate::kMaxImputed and has not had it, the last time
  /// not longer ago than that. So its totals stand still, and not because nothing happens.
  bool lacks_the_pmu() const { return without_pmu_ > estimate::kMaxImputed; }
  bool was_on_pmu() const { return was_on_pmu_; }            ///< between the last two readings
  unsigned polls_wanted() const { return polls_wanted_; }    ///< since it was first wanted
  unsigned polls_counted() const { return polls_counted_; }  ///< since it first had the PMU
  /// One more poll is over, at this time of PerfKernel::now().
  void end_poll(std::chrono::nanoseconds now);

 private:
  std::chrono::nanoseconds enabled_total(const perf::GroupReading& reading,
                                         const AlwaysOn& always_on);
  void notice_starving(const estimate::GroupIncrement& increment);
  void note_wanted(std::chrono::nanoseconds wanted, bool had_the_pmu);
  void complete(perf::GroupReading& reading) const;
  void notice_loss();
  void book_lost(std::chrono::nanoseconds lost);
  void settle_lost(const perf::GroupReading& reading, const AlwaysOn& always_on);
  void report_refusal(const perf::OpenFailure& failure, const perf::Place& place,
                      PollReport& report) const;
  void report_anomaly(PollReport& report) const;

  const GroupPlan* plan_;
  GroupTotals totals_;
  std::optional<perf::CounterGroup> counters_;
  estimate::GroupEstimator estimator_;  ///< its history outlives counters_
  std::shared_ptr<const cgroup::Cgroup> cgroup_;
  std::chrono::nanoseconds enabled_{};            ///< at the last reading of counters_
  std::chrono::nanoseconds enabled_unnoticed_{};  ///< while stopped: the kernel's clock stood still
  std::optional<std::chrono::nanoseconds> always_clock_;  ///< at the last reading
  std::optional<std::chrono::nanoseconds> lost_since_;    ///< always_clock_ when last on the PMU
  std::chrono::nanoseconds lost_booked_{};                ///< of the time since then
  std::chrono::nanoseconds went_on_until_{};              ///< its time, as find_standstill() saw
  std::chrono::nanoseconds went_on_to_{};                 ///< and what that was
  std::chrono::nanoseconds wanted_in_poll_{};             ///< since end_poll()
  std::chrono::nanoseconds without_pmu_{};                ///< wanted without having it, in a row
  std::chrono::nanoseconds last_wanted_{};                ///< when
  unsigned polls_wanted_ = 0;                             ///< since it was first to be counted
  unsigned polls_counted_ = 0;                            ///< since it first had the PMU
  unsigned failures_ = 0;                                 ///< in a row
  unsigned polls_to_wait_ = 0;                            ///< before the next try
  unsigned starved_polls_ = 0;
  bool has_missed_ = false;  ///< the last cgroup that it was wanted in
  bool wanted_ = false;
  bool stopped_ = false;
  bool was_read_ = false;
  bool read_failed_ = false;
  bool was_on_pmu_ = false;
  bool in_turns_ = false;
  bool had_the_pmu_ = false;
  bool was_wanted_ = false;
};

}  // namespace pex::collect
