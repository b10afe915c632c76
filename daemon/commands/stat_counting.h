#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "count/learning.h"
#include "count/totals.h"
#include "estimate/group_estimator.h"
#include "perf/group_interval.h"
#include "perf/task/task_counters.h"
#include "plan/task_plan.h"

namespace pex::daemon {

/// What the counted tasks used, as known without counters.
struct StatUse {
  std::chrono::nanoseconds cpu_time{};  ///< at least
};

/// What is known of one event when the counting has ended.
struct StatValue {
  enum class Coverage {
    kComplete,    ///< had the PMU whenever it wanted it: exact, and may be 0
    kScaled,      ///< shared the PMU: an estimate
    kIncomplete,  ///< an estimate of a part of the time only: the rest is unmeasured
    kNone,        ///< never had the PMU, or is not counted: there is no value, which is not 0
  };

  plan::EventAvailability event;  ///< with the reason, if it is not counted
  Coverage coverage = Coverage::kNone;
  collect::EventTotal total;             ///< in counts of the kernel
  std::optional<double> standard_error;  ///< of total.value; nothing if it is unknown: kIncomplete,
                                         ///< or fewer than two intervals were scaled
  collect::GroupTimes times;             ///< of its group, of all tasks together
};

/// Groups for the tasks of a plan, in its order, and behind them the clocks of PMUs that only some
/// CPUs have, as on a hybrid machine.
struct StatGroups {
  std::vector<perf::TaskGroup> groups;
  std::map<std::string, std::size_t> clocks;  ///< PMU -> index of its clock in `groups`
  std::optional<std::size_t> clock_of_all;    ///< if groups are not inherited

  /// `partial_pmus`: those that are not on all CPUs, with their CPUs.
  StatGroups(const plan::TaskPlan& plan,
             const std::map<std::string, std::vector<int>>& partial_pmus);
};

/// The counters of a plan in tasks, from reading to estimate, as the exporter has it for cgroups:
/// one estimator for each group, over the sum of all tasks.
class StatCounting {
 public:
  /// `kernel` outlives it. `counters` are those of StatGroups::groups.
  StatCounting(plan::TaskPlan plan, StatGroups groups, perf::TaskCounters counters,
               perf::PerfKernel& kernel);

  const perf::TaskCounters& counters() const { return counters_; }

  /// Whether the kernel accepted at least one of the events.
  bool counts_any() const;

  /// An interval has ended: reads all groups, and estimates what they missed in it.
  void read();

  /// The last reading has been taken. `use`: of the tasks, if it is known: the kernel stops
  /// counting a program that takes the rights of another user, without any error.
  void finish(const std::optional<StatUse>& use = {});

  /// One for each configured event, in order; after finish().
  std::vector<StatValue> values() const;

  /// Groups that were split, and what impaired the counting; after finish().
  std::vector<Error> warnings() const;

 private:
  /// One group of the plan.
  struct Group {
    Group(const collect::GroupPlan& plan);

    std::vector<std::uint64_t> last;  ///< words of the last reading
    estimate::GroupEstimator estimator;
    collect::GroupTimes times;
    std::vector<collect::EventTotal> totals;
    std::vector<estimate::EventModel> models;
    perf::GroupReading reading;
    perf::GroupInterval since;             ///< the reading before
    std::chrono::nanoseconds clock{};      ///< the tasks were on the CPUs of its PMU
    std::size_t scaled = 0;                ///< intervals in which a part was counted
    std::size_t anomalies = 0;             ///< intervals in which a total fell
    bool counted = false;                  ///< has had the PMU
    bool was_read = false;                 ///< at the last attempt, with a place on the PMU
    bool has_lost_place = false;           ///< pinned: ever
    std::chrono::nanoseconds of_others{};  ///< of tasks that it did not inherit
    std::optional<Error> failed;           ///< the last reading
  };

  void read_group(std::size_t index);
  std::chrono::nanoseconds enabled(const collect::GroupPlan& plan, Group& group) const;
  estimate::Interval interval_of(std::size_t index);
  void add_lost_time(std::size_t index);
  void add_time_of_others();
  void add_uncounted(const StatUse& use);
  StatValue value_of(const plan::TaskEvent& event) const;
  void add_part(const collect::EventAt& part, StatValue& value) const;

  plan::TaskPlan plan_;
  StatGroups layout_;
  perf::TaskCounters counters_;
  perf::PerfKernel& kernel_;
  std::vector<Group> groups_;
  std::chrono::nanoseconds of_all_{};     ///< by StatGroups::clock_of_all
  std::chrono::nanoseconds uncounted_{};  ///< CPU time that no counter was enabled for
  bool was_counted_ = true;               ///< at least a fifth of the CPU time
};

}  // namespace pex::daemon
