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
  bool was_read() const { return was_read_; }  ///< the last time that it was tried
  std::size_t open_events() const { return counters_->size(); }

  /// For failures of it on `cpu`, or on one that is not known.
  PollReport::Subject subject(int cpu = -1) const {
    return {plan_->name, {}, cgroup_ ? cgroup_->path : std::string{}, cpu};
  }

  /// What an estimate needs beside the reading, and its scratch memory.
  struct Learning {
    std::span<const estimate::EventModel> models;
    std::span<estimate::Lessons> lessons;
    std::span<estimate::EventIncrement> increments;
    bool& kernel_mistimes;  ///< as estimate::Sample says; set when this reading proves it
  };
  /// Adds to the totals what has passed since the reading before, or since opening.
  void advance_to(const perf::GroupReading& reading, const AlwaysOn& always_on,
                  const Learning& learning, PollReport& report);

  /// Pinned, and off the PMU, so that the time is unmeasured. Asks for its place anew.
  void missed_its_place(perf::PerfKernel& kernel, int cpu, const AlwaysOn& always_on,
                        PollReport& report);

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

 private:
  std::chrono::nanoseconds enabled_total(const perf::GroupReading& reading,
                                         const AlwaysOn& always_on);
  void notice_starving(const estimate::GroupIncrement& increment);
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
  unsigned failures_ = 0;                                 ///< in a row
  unsigned polls_to_wait_ = 0;                            ///< before the next try
  unsigned starved_polls_ = 0;
  bool has_missed_ = false;  ///< the last cgroup that it was wanted in
  bool wanted_ = false;
  bool stopped_ = false;
  bool was_read_ = false;
  bool in_turns_ = false;
  bool had_the_pmu_ = false;
  bool was_wanted_ = false;
};

}  // namespace pex::collect
