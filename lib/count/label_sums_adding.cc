#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "count/label_sums.h"
#include "count/target_groups.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

}  // namespace

// --- late labels --------------------------------------------------------------------------------

/// Inner ones first, as outer ones are added without them: whether these are counted now or not,
/// they may have counted what is inside of them.
void LabelSums::join(std::span<const GroupTable* const> tables) {
  std::vector<std::size_t> slots;
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    const std::vector<Place>& places = members_[slot].places;
    const bool joins = std::any_of(places.begin(), places.end(), [](const Place& place) {
      return place.sum != nullptr && !place.has_joined;
    });
    if (joins) slots.push_back(slot);
  }
  const auto depth = [this](std::size_t slot) { return targets_->cgroups[slot].around.size(); };
  std::stable_sort(slots.begin(), slots.end(),
                   [&](std::size_t a, std::size_t b) { return depth(a) > depth(b); });
  for (const std::size_t slot : slots) {
    for (std::size_t number = 0; number < sums_.size(); ++number) {
      const Place& place = members_[slot].places[number];
      if (place.sum != nullptr && !place.has_joined) join(slot, number, tables);
    }
  }
}

/// Of the rows of an outer one that has joined, those contain it that are counted.
void LabelSums::join(std::size_t slot, std::size_t number,
                     std::span<const GroupTable* const> tables) {
  const CgroupTarget& target = targets_->cgroups[slot];
  Place& place = members_[slot].places[number];
  place.has_joined = true;
  const auto inside = std::exchange(place.inside, {});
  const auto added = inside.find(place.sum);
  for (std::size_t group = 0; group < tables.size(); ++group) {
    const GroupTable& table = *tables[group];
    const std::size_t rows = table.rows.size() / members_.size();
    GroupSum own;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto counts = [&](std::size_t outer) {
        return members_[outer].places[number].has_joined && targets_->cgroups[outer].is_counted() &&
               is_whole(table.rows[outer * rows + row]);
      };
      if (!is_contained(target, slot, number, counts)) own.add(table.sum(slot * rows + row));
    }
    if (added != inside.end()) own.subtract(own.common_with(added->second[group]));
    place.sum->groups[group].sum.add(own);
    for (const std::size_t outer : target.around) {
      Place& around = members_[outer].places[number];
      if (!around.has_joined) around.add_inside(*place.sum, group, own);
    }
  }
}

// --- increments ---------------------------------------------------------------------------------

/// What one group has counted on one CPU in a part of a poll.
class LabelSums::Adding {
 public:
  Adding(LabelSums& sums, const TargetGroups& counted, const TargetSet& targets, std::size_t group)
      : sums_(sums),
        counted_(counted),
        targets_(targets),
        group_(group),
        may_have_ended_(!sums.targets_->has_layout_of(targets)) {}

  void add_exact(std::size_t slot, nanoseconds enabled, std::span<const std::uint64_t> counts) {
    if (is_in_none(slot)) return;
    more_.times = {.enabled = enabled, .running = enabled};
    more_.totals.clear();
    for (const std::uint64_t count : counts) more_.totals.push_back({count, count, 0});
    add(slot);
  }
  void add(std::size_t slot, const GroupTimes& times, std::span<const EventTotal> totals) {
    if (is_in_none(slot)) return;
    more_.times = times;
    more_.totals.assign(totals.begin(), totals.end());
    add(slot);
  }
  void add_lost(std::size_t slot, nanoseconds time) {
    if (sums_.plan_->cgroup_per_cpu) add(slot, {.enabled = time, .unmeasured = time}, {});
  }
  void change_state(std::size_t, const GroupState&, const GroupState&) {}

  /// After all others, those inside of them first.
  void add_begun_ones() {
    const auto depth = [this](const auto& begun) {
      return targets_.cgroups[begun.first].around.size();
    };
    std::stable_sort(begun_ones_.begin(), begun_ones_.end(),
                     [&](const auto& a, const auto& b) { return depth(a) > depth(b); });
    for (const auto& [slot, more] : begun_ones_) {
      for (std::size_t number = 0; number < sums_.sums_.size(); ++number) {
        add(slot, number, less_inner_ones(slot, number, more));
      }
    }
  }

 private:
  /// By outer cgroup, SumPlan and sum.
  using Inside = std::map<std::tuple<std::size_t, std::size_t, LabelSum*>, GroupSum>;

  /// The CPU was late, and another series may have the slot now.
  bool has_ended(std::size_t slot) const {
    return may_have_ended_ && !sums_.targets_->has_series_of(targets_, slot);
  }
  /// Of most cgroups nothing is added.
  bool is_in_none(std::size_t slot) const {
    return !targets_.is_nested && slot < sums_.members_.size() && !sums_.members_[slot].is_added;
  }
  /// It was opened in this part of a poll.
  bool begins(std::size_t slot) const { return counted_.is_open(slot) && !counted_.was_open(slot); }
  Place& place(std::size_t slot, std::size_t number) const {
    return sums_.members_[slot].places[number];
  }

  void add(std::size_t slot) {
    if (has_ended(slot)) return;
    if (targets_.is_nested && begins(slot)) return begun_ones_.push_back({slot, more_});
    for (std::size_t number = 0; number < sums_.sums_.size(); ++number) add(slot, number, more_);
  }

  void add(std::size_t slot, std::size_t number, const GroupSum& more) {
    LabelSum* const sum = place(slot, number).sum;
    const CgroupTarget& target = targets_.cgroups[slot];
    const auto counts = [this](std::size_t outer) {
      return !has_ended(outer) && counted_.was_open(outer);
    };
    if (sum == nullptr || sums_.is_contained(target, slot, number, counts)) return;
    sum->groups[group_].sum.add(more);
    for (const std::size_t outer : target.around) {
      if (has_ended(outer) || !place(outer, number).may_contain(sum)) continue;
      if (begins(outer)) {
        inside_[{outer, number, sum}].add(more);
      } else if (counted_.was_open(outer)) {
        place(outer, number).add_inside(*sum, group_, more);
      }
    }
  }

  GroupSum less_inner_ones(std::size_t slot, std::size_t number, GroupSum more) {
    const GroupSum all = more;
    for (auto of = inside_.lower_bound({slot, number, nullptr}); of != inside_.end(); ++of) {
      auto& [key, inside] = *of;
      const auto& [outer, of_number, sum] = key;
      if (outer != slot || of_number != number) break;
      const GroupSum common = all.common_with(inside);
      inside.subtract(common);
      Place& around = place(slot, number);
      around.waits() ? around.add_inside(*sum, group_, common) : more.subtract(common);
    }
    return more;
  }

  LabelSums& sums_;
  const TargetGroups& counted_;
  const TargetSet& targets_;
  std::size_t group_;
  bool may_have_ended_;
  GroupSum more_;                                             ///< reused, to allocate nothing
  std::vector<std::pair<std::size_t, GroupSum>> begun_ones_;  ///< by slot
  Inside inside_;  ///< of those: what those inside of them have added
};

void LabelSums::add(const TargetGroups& counted, const TargetSet& targets) {
  if (sums_.empty()) return;
  const std::optional<std::size_t> group = find_group(plan_->cgroup, counted.plan().id);
  if (!group) return;
  Adding adding{*this, counted, targets, *group};
  counted.increments().for_each({0, targets.cgroups.size()}, adding);
  adding.add_begun_ones();
}

void LabelSums::add_missing(std::size_t slot, std::size_t group, const GroupSum& more) {
  const CgroupTarget& target = targets_->cgroups[slot];
  const auto exists = [this](std::size_t outer) {
    return targets_->cgroups[outer].cgroup != nullptr;
  };
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    LabelSum* const sum = members_[slot].places[number].sum;
    if (sum == nullptr || is_contained(target, slot, number, exists)) continue;
    sum->groups[group].sum.add(more);
  }
}

}  // namespace pex::collect
