#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "count/snapshot.h"
#include "count/sums/label_sum.h"
#include "count/sums/sum_totals.h"
#include "targets/counting_plan.h"
#include "targets/targets.h"

namespace pex::collect {

/// A cgroup, in the sums that it is added to.
struct SumMember {
  /// In the sums of one SumPlan.
  struct Place {
    LabelSum* sum = nullptr;  ///< null: lacks a label
    bool is_counted = false;  ///< what it had counted has been added
    bool is_inside = false;   ///< of another cgroup of the same sum
    /// Until it is counted, and in the snapshot in which it begins: what cgroups inside of it have
    /// added to each sum. It contains that, so that it is not added again should it be in that sum.
    std::map<const LabelSum*, SumTotals> inside = {};
  };

  SumMember(const CountingPlan& plan, std::uint64_t of_series)
      : series(of_series), totals(plan), places(plan.sums.size()) {}

  /// Nothing is counted without time enabled, nor estimated without time running; but time that was
  /// enabled before may turn out to be unmeasured, as when a group is closed.
  bool has_changed(const Snapshot& snapshot, RowRange rows) const {
    for (const Place& place : places) {
      if (place.sum != nullptr && !place.is_counted) return true;
    }
    return totals.has_other_times(snapshot, rows);
  }

  std::uint64_t series;
  bool was_counted = false;     ///< in the snapshot before; in this one once nesting is known
  bool is_new = true;           ///< in no snapshot before
  bool is_whole = true;         ///< counted on all CPUs, by all groups
  bool was_whole = true;        ///< the same, in the snapshot before
  bool lingers = false;         ///< it was not counted in the snapshot before either
  bool begins = false;          ///< what inner ones count may not be a part of what it counts
  bool has_inner_ones = false;  ///< other targets
  SumTotals totals;             ///< that were added
  std::vector<Place> places;
  std::vector<std::size_t> around;  ///< the targets that contain it
};

/// The cgroups that are targets of the last snapshot, and which of them contain each other. Not
/// thread-safe.
class SumMembers {
 public:
  /// Of each sum of a plan its place in the plan before; nothing: it is new.
  using Places = std::vector<std::optional<std::size_t>>;

  std::size_t size() const { return members_.size(); }
  SumMember& operator[](std::size_t target) { return members_[target]; }
  const SumMember& operator[](std::size_t target) const { return members_[target]; }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

  /// Nobody brings them up to date.
  void clear() { members_.clear(); }
  /// As of the last snapshot, with the groups of `plan`, which may have taken the place of that of
  /// the snapshot since.
  void begin_after(const Snapshot& last, const CountingPlan& plan);
  /// Another plan; `sums` are the places of its sums in the one before.
  void follow(const CountingPlan& before, const CountingPlan& now, const Places& sums);
  /// These sums of the SumPlan have ended.
  void forget(std::size_t number, const std::unordered_set<const LabelSum*>& ended);

  /// Other targets: those of the same series stay.
  void follow(const TargetSet& targets, const CountingPlan& plan);
  /// Returns whether all are counted on all CPUs, and were in the snapshot before.
  bool note_coverage(const Snapshot& snapshot);

  /// Of nested cgroups in one sum the outermost contains the others: from the snapshot after the
  /// one in which its counters were opened, up to that in which they are closed, which has its last
  /// reading; but not while a CPU lacks it. When both linger, some CPU may be late with their last
  /// readings: an inner one that was contained stays so, of others the outer one is added without
  /// what they add.
  void find_inner_ones(const TargetSet& targets, bool cgroups_nest);
  /// They are to be found again with the next snapshot, even of the same targets.
  bool nesting_changes() const { return nesting_changes_; }

 private:
  bool note_targets(const TargetSet& targets);
  bool note_outer_ones(const TargetSet& targets);
  void find_none(const TargetSet& targets);

  std::vector<SumMember> members_;  ///< by slot, as the targets of the last snapshot
  bool nesting_changes_ = false;
  bool may_nest_ = false;  ///< cgroups_nest of the plan of the last snapshot
};

}  // namespace pex::collect
