#include "count/sums/sum_members.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace pex::collect {

void SumMembers::begin_after(const Snapshot& last, const CountingPlan& plan) {
  members_.clear();
  for (const CgroupTarget& target : last.targets->cgroups) {
    SumMember& member = members_.emplace_back(*last.plan, target.series);
    member.is_new = false;
    member.was_counted = target.is_counted();
  }
  for (std::size_t row = 0; row < last.cgroup_rows.size(); ++row) {
    members_[last.cgroup_rows[row].target].totals.add(last, {row, row + 1});
  }
  if (last.plan.get() != &plan) {
    for (SumMember& member : members_) member.totals.follow(last.plan->cgroup, plan.cgroup);
  }
  may_nest_ = last.plan->cgroups_nest;
}

void SumMembers::follow(const CountingPlan& before, const CountingPlan& now, const Places& sums) {
  for (SumMember& member : members_) {
    member.totals.follow(before.cgroup, now.cgroup);
    std::vector<SumMember::Place> moved(sums.size());
    for (std::size_t number = 0; number < moved.size(); ++number) {
      if (!sums[number]) {  // it begins now, and so not with what was counted before
        moved[number].is_counted = true;
        continue;
      }
      moved[number] = std::move(member.places[*sums[number]]);
      for (auto& [sum, added] : moved[number].inside) added.follow(before.cgroup, now.cgroup);
    }
    member.places = std::move(moved);
  }
}

void SumMembers::forget(std::size_t number, const std::unordered_set<const LabelSum*>& ended) {
  for (SumMember& member : members_) {
    SumMember::Place& place = member.places[number];
    if (ended.contains(place.sum)) place.sum = nullptr;
    std::erase_if(place.inside, [&](const auto& each) { return ended.contains(each.first); });
  }
}

void SumMembers::follow(const TargetSet& targets, const CountingPlan& plan) {
  constexpr std::uint64_t kNoSeries = 0;
  members_.resize(targets.cgroups.size(), SumMember(plan, kNoSeries));
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    const std::uint64_t series = targets.cgroups[slot].series;
    if (members_[slot].series != series) members_[slot] = SumMember(plan, series);
  }
}

bool SumMembers::note_coverage(const Snapshot& snapshot) {
  for (SumMember& member : members_) member.was_whole = std::exchange(member.is_whole, true);
  for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
    SumMember& member = members_[snapshot.cgroup_rows[row].target];
    for (const GroupTable& table : snapshot.cgroup) {
      member.is_whole = member.is_whole && !lacks_coverage(table.rows[row]);
    }
  }
  return std::all_of(members_.begin(), members_.end(),
                     [](const SumMember& member) { return member.is_whole && member.was_whole; });
}

void SumMembers::find_inner_ones(const TargetSet& targets, bool cgroups_nest) {
  const bool is_last_time = !cgroups_nest && may_nest_;  // another plan closes some now
  if (!cgroups_nest && !is_last_time) return find_none(targets);
  may_nest_ = cgroups_nest;
  const bool changes = note_targets(targets);
  const bool is_nested = note_outer_ones(targets);
  for (std::size_t target = 0; target < members_.size(); ++target) {
    members_[target].was_counted = targets.cgroups[target].is_counted();
    members_[target].is_new = false;
  }
  nesting_changes_ = (changes && is_nested) || is_last_time;
}

/// Whether one begins or ends.
bool SumMembers::note_targets(const TargetSet& targets) {
  bool changes = false;
  for (std::size_t target = 0; target < members_.size(); ++target) {
    SumMember& member = members_[target];
    const bool is_counted = targets.cgroups[target].is_counted();
    member.lingers = !is_counted && !member.was_counted && !member.is_new;
    member.begins = !(member.was_counted && member.was_whole && member.is_whole);
    member.has_inner_ones = false;
    changes = changes || is_counted != member.was_counted || member.is_new;
  }
  return changes;
}

/// Whether there are any.
bool SumMembers::note_outer_ones(const TargetSet& targets) {
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t target = 0; target < members_.size(); ++target) {
    if (!targets.cgroups[target].is_free()) by_path.emplace(targets.cgroups[target].path, target);
  }
  bool is_nested = false;
  for (std::size_t target = 0; target < members_.size(); ++target) {
    SumMember& member = members_[target];
    for (SumMember::Place& place : member.places) {
      place.is_inside = place.is_inside && member.lingers;
    }
    member.around.clear();
    std::string_view path = targets.cgroups[target].path;
    while (path.size() > 1) {
      path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
      const auto found = by_path.find(path);
      if (found == by_path.end()) continue;
      SumMember& outer = members_[found->second];
      if (outer.lingers && !member.lingers) continue;  // the inner one goes on counting
      is_nested = outer.has_inner_ones = true;
      member.around.push_back(found->second);
      for (std::size_t number = 0; !outer.begins && number < member.places.size(); ++number) {
        SumMember::Place& place = member.places[number];
        const bool is_same = place.sum != nullptr && place.sum == outer.places[number].sum;
        place.is_inside = place.is_inside || is_same;
      }
    }
  }
  return is_nested;
}

/// Of cgroups that do not contain each other: when one gets another inside of it, the counters of
/// the one are closed as those of the other are opened.
void SumMembers::find_none(const TargetSet& targets) {
  for (std::size_t target = 0; target < members_.size(); ++target) {
    SumMember& member = members_[target];
    member.begins = member.has_inner_ones = member.is_new = false;
    member.was_counted = targets.cgroups[target].is_counted();
    member.around.clear();
    for (SumMember::Place& place : member.places) place.is_inside = false;
  }
  nesting_changes_ = false;
}

}  // namespace pex::collect
