#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "count/group_state.h"
#include "count/increments.h"
#include "count/label_sums.h"
#include "count/learning.h"
#include "count/losses.h"
#include "count/poll_cycle.h"
#include "count/row_set.h"
#include "count/snapshot.h"
#include "targets/counting_plan.h"
#include "targets/targets.h"

namespace pex::collect {

/// The published totals: all that each CPU has counted is added to them once. A CPU that is late
/// adds what it has counted when it arrives; until then its totals stand still.
///
/// A row of a cgroup has a value if no CPU fails to count or to read it, and
///   - at least one has had the PMU: a starved CPU joins once it has the PMU. If one has been
///     without it for more than estimate::kMaxImputed, another one must have had it since the last
///     poll;
///   - or it was read and has never run anywhere, which is an exact zero.
/// A row of scope cpu has one if each of its CPUs has had the PMU, and none has been without it for
/// more than that: the row is as good as the worst of them. A CPU that appears when the others are
/// counted already joins once it has had the PMU, and must have had it within that time.
/// What is counted while a total is unknown is a part of it once it is known again. A cgroup that a
/// late CPU has not polled yet, or that has ended meanwhile, has no value.
///
/// Not thread-safe, but for add_cgroups() and settle() with ranges that begin at multiples of
/// kSlotsOfARange, and add_to_sums() meanwhile.
class Ledger {
 public:
  static constexpr std::size_t kSlotsOfARange = 64;

  explicit Ledger(std::shared_ptr<const CountingPlan> plan);

  /// The totals of groups that both plans have go on; the others begin at 0.
  void follow(std::shared_ptr<const CountingPlan> plan);
  /// The totals of the same series go on; new ones begin at 0.
  void follow(std::shared_ptr<const TargetSet> targets);
  /// This CPU is counted from now on: until its first part is added, its rows lack it.
  void add_cpu(int cpu);

  /// Adds a part of a poll on one CPU. What it counted of a plan or of targets that are not those
  /// of the ledger any more is dropped.
  void add(PollCycle& cycle);

  /// The same in steps: first of the CPU itself, then of each range of slots, and to the sums of
  /// cgroups, in any order.
  void add_own(const PollCycle& cycle);
  void add_cgroups(const PollCycle& cycle, SlotRange range);
  void add_to_sums(const PollCycle& cycle);

  /// What cgroups did while their counters were closed. With a row for each CPU it is in none. From
  /// then on all groups have evidence.
  void add_passed_over(std::size_t slot, std::chrono::nanoseconds time);

  /// Adds what cgroups did while nothing was counted (Losses), once all parts of a poll are added;
  /// `is_whole`: of all CPUs.
  void settle_losses(bool is_whole, const Losses::CpuTime& cpu_time);
  std::size_t cpus() const { return cpus_.size(); }

  std::size_t slots() const;

  /// Finds the values of the rows that have changed since the last snapshot: first which they are,
  /// then in ranges as add_cgroups(). `snapshot` is the number of the one that follows.
  void find_changed();
  /// So many rows have changed.
  std::size_t changed_rows() const { return due_.size() * rows_of_slot() * cgroups_.size(); }
  void settle(SlotRange range, std::uint64_t snapshot);

  /// Without the sums.
  Snapshot snapshot(std::uint64_t number, const EventModels& models) const;
  /// Adds them to this one.
  void publish_sums(Snapshot& snapshot, LabelSums::Clock::time_point now, PollReport& report) {
    sums_.publish(snapshot, now, report);
  }

 private:
  /// One group of scope cpu on one CPU.
  struct OfCpu {
    GroupSum sum;
    GroupState state;
    unsigned polls_wanted = 0;
    unsigned polls_counted = 0;
    bool is_estimated = false;

    void add_exact(std::size_t, std::chrono::nanoseconds enabled,
                   std::span<const std::uint64_t> counts) {
      sum.times.add({.enabled = enabled, .running = enabled});
      for (std::size_t i = 0; i < counts.size(); ++i) sum.totals[i].add({counts[i], counts[i], 0});
    }
    void add(std::size_t, const GroupTimes& times, std::span<const EventTotal> totals) {
      sum.add(times, totals);
    }
    void add_lost(std::size_t, std::chrono::nanoseconds time) {
      sum.times.add({.enabled = time, .unmeasured = time});
    }
    void change_state(std::size_t, const GroupState&, const GroupState& now) { state = now; }
  };
  struct Cpu {
    std::shared_ptr<const CountingPlan> plan;  ///< of its last poll; null: there was none
    std::shared_ptr<const TargetSet> targets;  ///< the same
    std::map<GroupId, OfCpu> groups;           ///< of scope cpu
  };
  /// One group of scope cgroup.
  struct OfCgroups {
    GroupTable table;                 ///< rows: of each slot one, or one for each CPU
    std::vector<StateCounts> states;  ///< of each row
  };
  class Sink;
  /// A CPU that has not polled all of the plan and the targets.
  struct Behind {
    int number = -1;
    std::size_t index = 0;  ///< in the rows of a slot
    const Cpu* cpu = nullptr;
  };

  void follow_series(const TargetSet& before);
  OfCgroups blank(const GroupPlan& group) const;
  void add_missing(std::size_t slot, std::size_t group, const GroupSum& more);
  std::size_t rows_of_slot() const { return plan_->cgroup_per_cpu ? cpus_.size() : 1; }
  std::size_t index_of(int cpu) const;
  bool knows(const Cpu& cpu, GroupId group, std::size_t slot) const;
  bool counts_on(const GroupPlan& group, int cpu) const;
  void add_cpu_rows(const GroupPlan& group, GroupTable& table, const HostRows& rows) const;
  void settle_row(const GroupPlan& group, OfCgroups& of, std::size_t slot, std::size_t row) const;

  std::shared_ptr<const CountingPlan> plan_;
  std::shared_ptr<const TargetSet> targets_ = std::make_shared<const TargetSet>();
  std::map<int, Cpu> cpus_;
  std::vector<OfCgroups> cgroups_;         ///< as plan_->cgroup.groups
  std::vector<std::uint64_t> same_since_;  ///< by slot: Snapshot::same_since
  RowSet due_;                             ///< slots with changes since the last snapshot
  std::vector<Behind> behind_;
  RowSet unknown_;  ///< slots that some of these did not know
  GroupStarts starts_;
  Losses losses_;
  LabelSums sums_;
};

}  // namespace pex::collect
