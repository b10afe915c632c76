#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/boot_clock.h"
#include "cgroup/description.h"
#include "cgroup/fair_shares.h"
#include "count/snapshot.h"
#include "count/totals.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"
#include "targets/targets.h"

namespace pex::collect {

class TargetGroups;

/// A sum over the cgroups that have the same values of its labels.
struct LabelSum {
  using Clock = std::chrono::steady_clock;

  struct Group {
    GroupSum sum;
    GroupRow state;  ///< of all its cgroups, without times; a value that was known once stays

    void forget_states() {
      if (state.value != GroupRow::Value::kKnown) state.value = GroupRow::Value::kNotHere;
      state.wanted_on = state.counted_on = 0;
    }
    /// One with a value is enough: kKnown is the greatest.
    void add_state(const GroupRow& row) {
      state.value = std::max(state.value, row.value);
      state.has_times = state.has_times || row.has_times;
      state.wanted_on += row.wanted_on;
      state.counted_on += row.counted_on;
    }
  };

  explicit LabelSum(const ScopePlan& plan, std::string of_share = {})
      : groups(plan.groups.size()), share(std::move(of_share)) {}

  static constexpr Clock::time_point kNotYet = Clock::time_point::max();

  std::vector<Group> groups;           ///< as plan->cgroup.groups
  Clock::time_point begun = kNotYet;   ///< the first snapshot that has it
  Clock::time_point last_member = {};  ///< the last one in which it had a cgroup
  BootClock::time_point since = BootClock::now();
  std::string share;  ///< its path in the shares of its plan; empty: it is the rest
  std::shared_ptr<const cgroup::Description> of_series = {};  ///< SumRow::of_series
  std::size_t cgroups = 0;
  bool is_new = true;  ///< published as 0
};

/// Those of one SumPlan, by the values of its labels. Each stays where it is in memory.
using LabelSumsByValues = std::map<std::vector<std::string>, LabelSum>;

/// The sums over cgroups that a plan has (SumPlan). What a cgroup counts on a CPU is added to the
/// sum of its labels when it is added to its own row, and stays there when the cgroup ends.
///
///   a cgroup with new values of the labels --> sum, published as 0 --zero_for--> published
///   no cgroup for `idle` --> ended; if there is one again, a new sum begins at 0
///
/// What was published once is not published as 0 again, should `zero_for` get longer.
///
/// Beyond the maximum, cgroups with new values are added to the rest, a sum of which each label is
/// kRest. The sums are divided fairly among the subtrees of cgroups that they are for
/// (cgroup::FairShares): one that has more than its share loses a sum, whose cgroups are added to
/// the rest from then on.
///
/// A sum begins with a published 0, so that a scraper has a sample before what its first cgroup has
/// counted: functions such as increase() only see what comes after the first sample of a series.
///
/// A cgroup that lacks a label is in no sum. When it has all of them, as names of pods may be known
/// late, all that it had counted until then is added. A sum that a reload adds begins at 0: what
/// its cgroups have counted before would look like the work of one moment.
///
/// Of nested cgroups in one sum the outermost that is counted on a CPU contains the others there:
/// those that were open in it when a part of a poll began (TargetGroups::was_open()). One that is
/// opened in this part is added without what those inside of it add, as records may give it what
/// they had before. One that gets its labels late is added without what they have added meanwhile,
/// and not at all where an outer one that is in the sum counts now.
///
/// Totals that are not known for a row of its own (GroupRow::value) are added too: a sum is what
/// was counted. Where a part of a cgroup cannot be counted, the sum has a coverage below 1.
///
/// Nothing in a sum falls. Not thread-safe.
class LabelSums {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kRest = "other";

  explicit LabelSums(std::shared_ptr<const CountingPlan> plan);

  /// Sums of `plan` from now on. Those of the same name and labels, in whatever order, go on, with
  /// the groups that both plans have. Of more than the plan allows, the newest end.
  void follow(std::shared_ptr<const CountingPlan> plan);
  /// The sums of these cgroups. `tables` are what they have counted, as those of a Snapshot.
  void follow(std::shared_ptr<const TargetSet> targets, std::span<const GroupTable* const> tables);

  /// Adds what this group, of scope cgroup, has counted on one CPU since the last part of a poll.
  /// `targets` are those of that part.
  void add(const TargetGroups& counted, const TargetSet& targets);
  /// What a cgroup did while it was not counted. An outer one, which exists, has it too.
  void add_missing(std::size_t slot, std::size_t group, const GroupSum& more);

  /// Puts the sums into `snapshot`, which has what was added. Of each snapshot, in order.
  void publish(Snapshot& snapshot, Clock::time_point now, PollReport& report);

 private:
  /// A cgroup in the sums of one SumPlan.
  struct Place {
    LabelSum* sum = nullptr;  ///< null: lacks a label
    bool has_joined = false;  ///< what it had counted was added, or is in no sum
    /// While it lacks a label: by group, what cgroups inside of it have added to each sum of what
    /// it has counted itself.
    std::map<const LabelSum*, std::vector<GroupSum>> inside = {};

    bool waits() const { return sum == nullptr && !has_joined; }
    /// What is added to this sum, now or later.
    bool may_contain(const LabelSum* of) const { return sum == of || waits(); }
    void add_inside(const LabelSum& of, std::size_t group, const GroupSum& more) {
      std::vector<GroupSum>& groups = inside[&of];
      groups.resize(of.groups.size());
      groups[group].add(more);
    }
  };
  struct Member {
    std::uint64_t series = 0;
    std::shared_ptr<const cgroup::Description> description;  ///< its sums are those of
    std::vector<Place> places;                               ///< as plan_->sums
    bool is_added = false;                                   ///< to any sum
  };
  class Adding;

  std::vector<std::optional<std::size_t>> keep_sums(const CountingPlan& before);
  void keep_places(const CountingPlan& before,
                   const std::vector<std::optional<std::size_t>>& numbers);
  void end_surplus(std::size_t number);
  void find_sums(std::size_t number);
  void label_series(std::size_t slot, LabelSum* sum);
  bool has_sum(std::size_t slot, std::size_t number) const;
  std::optional<std::vector<std::string>> values_at(std::size_t slot, std::size_t number) const;
  LabelSum* find_sum(std::size_t slot, std::size_t number);
  void make_sum(std::size_t number, const std::vector<std::string>& values,
                const CgroupTarget& cgroup);
  LabelSum& rest(std::size_t number);
  bool make_room(std::size_t number, const std::string& share);
  void hold_shares();
  void join(std::span<const GroupTable* const> tables);
  void join(std::size_t slot, std::size_t number, std::span<const GroupTable* const> tables);
  /// Whether an outer one is in the same sum that `counts(slot)`.
  template <typename Counts>
  bool is_contained(const CgroupTarget& target, std::size_t slot, std::size_t number,
                    Counts counts) const {
    return std::any_of(target.around.begin(), target.around.end(), [&](std::size_t outer) {
      return counts(outer) &&
             members_[outer].places[number].sum == members_[slot].places[number].sum;
    });
  }
  /// Whether it is counted on all CPUs on which it should be.
  static bool is_whole(const GroupRow& row) { return row.counted_on > 0 && !lacks_coverage(row); }
  void add_states(const Snapshot& snapshot);
  void note_age(Clock::time_point now);
  void end_idle(Clock::time_point now);
  void end(std::size_t number, const std::unordered_set<const LabelSum*>& ended);
  void write(Snapshot& snapshot) const;
  void report_left_out(PollReport& report) const;

  std::shared_ptr<const CountingPlan> plan_;
  std::shared_ptr<const TargetSet> targets_ = std::make_shared<const TargetSet>();
  std::vector<LabelSumsByValues> sums_;     ///< as plan_->sums
  std::vector<cgroup::FairShares> shares_;  ///< the same
  std::vector<Member> members_;             ///< by slot
  std::vector<std::size_t> left_out_;       ///< cgroups in the rest, as plan_->sums
  bool is_outdated_ = false;                ///< which sum a cgroup is in
  std::uint64_t layout_ = 1;                ///< Snapshot::sums_layout
};

}  // namespace pex::collect
