#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cgroup/fair_shares.h"
#include "count/snapshot.h"
#include "count/totals.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"
#include "targets/targets.h"

namespace pex::collect {

class SumMembers;
class SumTotals;
struct LabelSum;
struct SumMember;

/// The sums over cgroups that a plan has (SumPlan). At each poll, what each cgroup has counted
/// since the poll before is added to the sum of its labels, where it stays when the cgroup ends.
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
/// late, all that it had counted until then is added. One inside of another one of the same sum is
/// not added: the outer one contains it. If the outer one comes into the sum later, it is added
/// without what those inside of it have added before. While it cannot be counted on some CPU, both
/// are added in this way, so that the sum has the greater of the two.
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
  ~LabelSums();

  /// Sums of `plan` from now on. Those of the same name and labels, in whatever order, go on, with
  /// the groups that both plans have; a new one begins at 0, after `last`, the last
  /// snapshot, or null: what its cgroups have counted before would look like the work of one
  /// moment. Of more than the plan allows, the newest end.
  void change(std::shared_ptr<const CountingPlan> plan, const Snapshot* last);

  /// Adds what the cgroups of `snapshot` have more than in the snapshot before, and puts the sums
  /// into it. Snapshots come in order, none is left out.
  void add_to(Snapshot& snapshot, Clock::time_point now, PollReport& report);

 private:
  std::vector<std::optional<std::size_t>> keep_sums(const CountingPlan& before);
  void end_surplus(std::size_t number);
  void rearrange(const Snapshot& snapshot, Clock::time_point now);
  void make_sum(std::size_t number, const std::vector<std::string>& values, std::string_view path,
                Clock::time_point now);
  LabelSum& rest(std::size_t number, Clock::time_point now);
  bool make_room(std::size_t number, const std::string& share);
  void hold_shares();
  void add(const Snapshot& snapshot);
  void add_increments(SumMember& member, const Snapshot& snapshot, const RowRange& rows);
  void add_outer_ones(const Snapshot& snapshot, std::vector<RowRange> outer_ones);
  void add_to_sum(const SumMember& member, std::size_t number, const SumTotals& more);
  void end_idle(Clock::time_point now);
  void end(std::size_t number, const std::unordered_set<const LabelSum*>& ended);
  void note_age(Clock::time_point now);
  void publish(Snapshot& snapshot) const;
  void report_left_out(PollReport& report) const;

  std::shared_ptr<const CountingPlan> plan_;
  std::vector<std::map<std::vector<std::string>, LabelSum>> sums_;  ///< as plan_->sums, by values
  std::vector<cgroup::FairShares> shares_;                          ///< the same
  std::unique_ptr<SumMembers> members_;
  std::vector<std::size_t> left_out_;  ///< cgroups in the rest, as plan_->sums
  bool has_room_again_ = false;        ///< for some of those
  std::unique_ptr<SumTotals> more_;    ///< reused, to allocate nothing
  std::shared_ptr<const TargetSet> targets_;
  std::uint64_t layout_ = 1;  ///< Snapshot::sums_layout
};

}  // namespace pex::collect
