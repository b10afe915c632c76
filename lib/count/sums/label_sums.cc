#include "count/sums/label_sums.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "count/sums/label_sum.h"
#include "count/sums/sum_members.h"
#include "count/sums/sum_totals.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

std::string_view value_of(const cgroup::Description& description, std::string_view label) {
  for (const auto* labels : {&description.identity, &description.information}) {
    for (const auto& [name, value] : *labels) {
      if (name == label) return value;
    }
  }
  return {};
}

/// Nothing if the cgroup lacks one of the labels.
std::optional<std::vector<std::string>> values_of(const cgroup::Description& description,
                                                  const std::vector<std::string>& labels) {
  std::vector<std::string> values;
  for (const std::string& label : labels) {
    const std::string_view value = value_of(description, label);
    if (value.empty()) return {};
    values.emplace_back(value);
  }
  return values;
}

/// The values of `labels`, which `before` has in another order.
std::vector<std::string> in_order_of(const std::vector<std::string>& labels,
                                     const std::vector<std::string>& before,
                                     std::vector<std::string> values) {
  std::vector<std::string> ordered;
  for (const std::string& label : labels) {
    const auto at = std::find(before.begin(), before.end(), label) - before.begin();
    ordered.push_back(values[static_cast<std::size_t>(at)]);
  }
  return ordered;
}

std::vector<std::string> values_of_rest(const SumPlan& plan) {
  return std::vector<std::string>(plan.labels.size(), LabelSums::kRest);
}

/// A path of its own for each combination of values, below the cgroup that it is for.
std::string share_of(std::string_view path, const std::vector<std::string>& values) {
  std::string own = pex::join(values, "\x1f");
  std::replace(own.begin(), own.end(), '/', '\x1e');
  return std::string(path == "/" ? "" : path) + "/" + own;
}

Error too_many_sums(const SumPlan& sum, std::size_t cgroups) {
  return Error{0,
               "sum '" + sum.name + "' has its maximum of " + std::to_string(sum.max) +
                   " combinations of labels: cgroups with others are added up as '" +
                   LabelSums::kRest + "', now " + std::to_string(cgroups),
               "raise 'max' of the sum, or sum by fewer labels"};
}

}  // namespace

LabelSums::LabelSums(std::shared_ptr<const CountingPlan> plan)
    : plan_(std::move(plan)),
      sums_(plan_->sums.size()),
      shares_(plan_->sums.size()),
      members_(std::make_unique<SumMembers>()),
      left_out_(plan_->sums.size()),
      more_(std::make_unique<SumTotals>(*plan_)) {}

LabelSums::~LabelSums() = default;

void LabelSums::change(std::shared_ptr<const CountingPlan> plan, const Snapshot* last) {
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, std::move(plan));
  const SumMembers::Places places = keep_sums(*before);
  for (LabelSumsByValues& sums : sums_) {
    for (auto& [values, sum] : sums) sum.follow(before->cgroup, plan_->cgroup);
  }
  if (plan_->sums.empty()) {
    members_->clear();
  } else if (before->sums.empty() && last != nullptr) {
    members_->begin_after(*last, *before);
    if (plan_->cgroups_nest) (void)members_->note_coverage(*last);
  }
  members_->follow(*before, *plan_, places);
  *more_ = SumTotals(*plan_);
  hold_shares();
  for (std::size_t number = 0; number < sums_.size(); ++number) end_surplus(number);
  left_out_.assign(sums_.size(), 0);
  targets_ = nullptr;  // all are looked for again
  ++layout_;
}

/// Those that the plan still has; each stays where it is in memory, as members refer to it.
std::vector<std::optional<std::size_t>> LabelSums::keep_sums(const CountingPlan& before) {
  std::vector<LabelSumsByValues> sums_before =
      std::exchange(sums_, std::vector<LabelSumsByValues>(plan_->sums.size()));
  SumMembers::Places places(plan_->sums.size());
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const SumPlan& now = plan_->sums[number];
    const auto same = std::find_if(before.sums.begin(), before.sums.end(), [&](const auto& each) {
      return each.name == now.name && std::is_permutation(each.labels.begin(), each.labels.end(),
                                                          now.labels.begin(), now.labels.end());
    });
    if (same == before.sums.end()) continue;
    places[number] = static_cast<std::size_t>(same - before.sums.begin());
    LabelSumsByValues& sums = sums_before[*places[number]];
    while (!sums.empty()) {
      auto sum = sums.extract(sums.begin());
      sum.key() = in_order_of(now.labels, same->labels, std::move(sum.key()));
      sums_[number].insert(std::move(sum));
    }
  }
  return places;
}

/// Where there are more than the plan allows now, the newest end.
void LabelSums::end_surplus(std::size_t number) {
  std::vector<const LabelSum*> oldest_first;
  for (const auto& [values, sum] : sums_[number]) {
    if (!sum.share.empty()) oldest_first.push_back(&sum);
  }
  std::stable_sort(oldest_first.begin(), oldest_first.end(),
                   [](const LabelSum* a, const LabelSum* b) { return a->begun < b->begun; });
  const std::size_t staying = std::min(oldest_first.size(), plan_->sums[number].max);
  const std::unordered_set<const LabelSum*> surplus(
      oldest_first.begin() + static_cast<std::ptrdiff_t>(staying), oldest_first.end());
  if (!surplus.empty()) end(number, surplus);
}

void LabelSums::add_to(Snapshot& snapshot, Clock::time_point now, PollReport& report) {
  if (plan_->sums.empty()) return;
  const bool is_same = targets_ && snapshot.targets->has_layout_of(*targets_);
  const bool is_rearranged = !is_same || std::exchange(has_room_again_, false);
  if (is_rearranged) rearrange(snapshot, now);
  const bool all_are_whole = !plan_->cgroups_nest || members_->note_coverage(snapshot);
  if (is_rearranged || members_->nesting_changes() || !all_are_whole) {
    members_->find_inner_ones(*snapshot.targets, plan_->cgroups_nest);
  }
  targets_ = snapshot.targets;
  add(snapshot);
  end_idle(now);
  note_age(now);
  publish(snapshot);
  report_left_out(report);
}

// --- which sum a cgroup is in -------------------------------------------------------------------

void LabelSums::rearrange(const Snapshot& snapshot, Clock::time_point now) {
  members_->follow(*snapshot.targets, *plan_);
  const std::vector<CgroupTarget>& targets = snapshot.targets->cgroups;
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const std::vector<std::string> rest_values = values_of_rest(plan_->sums[number]);
    std::vector<std::optional<std::vector<std::string>>> values;
    for (const CgroupTarget& target : targets) {
      values.emplace_back();
      if (target.is_free()) continue;
      values.back() = values_of(*target.description, plan_->sums[number].labels);
      if (values.back()) make_sum(number, *values.back(), target.path, now);
    }
    left_out_[number] = 0;
    for (auto& [of_sum, sum] : sums_[number]) sum.cgroups = 0;
    for (std::size_t target = 0; target < targets.size(); ++target) {
      LabelSum*& sum = (*members_)[target].places[number].sum;
      sum = nullptr;
      if (!values[target]) continue;
      const auto own = sums_[number].find(*values[target]);
      sum = own == sums_[number].end() ? &rest(number, now) : &own->second;
      const bool is_left_out = own == sums_[number].end() && *values[target] != rest_values;
      left_out_[number] += is_left_out ? 1 : 0;
      if (targets[target].cgroup) ++sum->cgroups;
    }
  }
}

/// If these values have none, and there is room.
void LabelSums::make_sum(std::size_t number, const std::vector<std::string>& values,
                         std::string_view path, Clock::time_point now) {
  LabelSumsByValues& sums = sums_[number];
  const SumPlan& plan = plan_->sums[number];
  if (sums.contains(values)) return;
  if (!values.empty() && values == values_of_rest(plan)) return;
  std::string share = share_of(path, values);
  if (shares_[number].held() >= plan.max && !make_room(number, share)) return;
  shares_[number].hold(share);
  sums.emplace(values, LabelSum{*plan_, now, std::move(share)});
  ++layout_;
}

/// By ending a sum of a subtree that has more than its fair share.
bool LabelSums::make_room(std::size_t number, const std::string& share) {
  const std::optional<std::string> displaced = shares_[number].displaced_by(share);
  if (!displaced) return false;
  for (const auto& [values, sum] : sums_[number]) {
    if (sum.share != *displaced) continue;
    end(number, {&sum});
    return true;
  }
  return false;
}

LabelSum& LabelSums::rest(std::size_t number, Clock::time_point now) {
  const auto [at, is_new] =
      sums_[number].try_emplace(values_of_rest(plan_->sums[number]), *plan_, now);
  layout_ += is_new ? 1 : 0;
  return at->second;
}

void LabelSums::hold_shares() {
  shares_ = std::vector<cgroup::FairShares>(sums_.size());
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    for (const auto& [values, sum] : sums_[number]) {
      if (!sum.share.empty()) shares_[number].hold(sum.share);
    }
  }
}

// --- increments ---------------------------------------------------------------------------------

void LabelSums::add(const Snapshot& snapshot) {
  for (LabelSumsByValues& sums : sums_) {
    for (auto& [values, sum] : sums) sum.forget_states();
  }
  std::vector<RowRange> outer_ones;
  const std::vector<CgroupRow>& rows = snapshot.cgroup_rows;
  for (RowRange range; range.first < rows.size(); range.first = range.end) {
    const std::size_t target = rows[range.first].target;
    for (range.end = range.first + 1;
         range.end < rows.size() && rows[range.end].target == target;) {
      ++range.end;
    }
    SumMember& member = (*members_)[target];
    for (const SumMember::Place& place : member.places) {
      if (place.sum != nullptr && !place.is_inside) place.sum->add_states(snapshot, range);
    }
    if (member.begins && member.has_inner_ones) {
      outer_ones.push_back(range);
    } else if (member.has_changed(snapshot, range)) {
      add_increments(member, snapshot, range);
    }
  }
  add_outer_ones(snapshot, std::move(outer_ones));
}

/// Those that begin, after the cgroups inside of them: whether the counters of an inner one or its
/// own were opened first, and whichever lacks a CPU, what both have counted is added once.
void LabelSums::add_outer_ones(const Snapshot& snapshot, std::vector<RowRange> outer_ones) {
  const auto depth = [&](const RowRange& rows) {  // an outer path is shorter
    return snapshot.targets->cgroups[snapshot.cgroup_rows[rows.first].target].path.size();
  };
  std::sort(outer_ones.begin(), outer_ones.end(),
            [&](const RowRange& a, const RowRange& b) { return depth(a) > depth(b); });
  for (const RowRange& rows : outer_ones) {
    SumMember& member = (*members_)[snapshot.cgroup_rows[rows.first].target];
    if (member.has_changed(snapshot, rows)) add_increments(member, snapshot, rows);
    for (SumMember::Place& place : member.places) {
      if (place.is_counted) place.inside.clear();
    }
  }
}

void LabelSums::add_increments(SumMember& member, const Snapshot& snapshot, const RowRange& rows) {
  member.totals.advance(snapshot, rows, *more_);
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    SumMember::Place& place = member.places[number];
    if (place.sum == nullptr) continue;
    const bool was_counted = std::exchange(place.is_counted, true);
    const auto inside = std::exchange(place.inside, {});
    if (place.is_inside) continue;
    const auto added = inside.find(place.sum);
    if (was_counted && added == inside.end()) {
      add_to_sum(member, number, *more_);
      continue;
    }
    SumTotals own = was_counted ? *more_ : member.totals;
    if (added != inside.end()) own.subtract(added->second);
    add_to_sum(member, number, own);
  }
}

void LabelSums::add_to_sum(const SumMember& member, std::size_t number, const SumTotals& more) {
  LabelSum* const sum = member.places[number].sum;
  sum->totals.add(more);
  for (const std::size_t target : member.around) {
    SumMember& outer = (*members_)[target];
    SumMember::Place& of_outer = outer.places[number];
    if (of_outer.is_counted && !outer.begins) continue;
    of_outer.inside.try_emplace(sum, *plan_).first->second.add(more);
  }
}

// --- sums ---------------------------------------------------------------------------------------

/// Not while a member is there, or lingers.
void LabelSums::end_idle(Clock::time_point now) {
  for (const SumMember& member : *members_) {
    for (const SumMember::Place& place : member.places) {
      if (place.sum != nullptr) place.sum->last_member = now;
    }
  }
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const nanoseconds idle = plan_->sums[number].idle;
    std::unordered_set<const LabelSum*> idle_ones;
    for (const auto& [values, sum] : sums_[number]) {
      if (now - sum.last_member > idle) idle_ones.insert(&sum);
    }
    if (idle_ones.empty()) continue;
    end(number, idle_ones);
    has_room_again_ = has_room_again_ || left_out_[number] > 0;
  }
}

void LabelSums::end(std::size_t number, const std::unordered_set<const LabelSum*>& ended) {
  members_->forget(number, ended);
  for (const LabelSum* const sum : ended) shares_[number].remove(sum->share);
  std::erase_if(sums_[number], [&](const auto& sum) { return ended.contains(&sum.second); });
  ++layout_;
}

void LabelSums::note_age(Clock::time_point now) {
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const nanoseconds zero_for = plan_->sums[number].zero_for;
    for (auto& [values, sum] : sums_[number]) {
      sum.is_new = sum.is_new && now - sum.begun < zero_for;
    }
  }
}

void LabelSums::publish(Snapshot& snapshot) const {
  snapshot.sums_layout = layout_;
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    SumTable& table = snapshot.sums.emplace_back();
    table.left_out = left_out_[number];
    for (const GroupTable& group : snapshot.cgroup) {
      GroupTable& of = table.groups.emplace_back();
      of.events = group.events;
      of.is_estimated = group.is_estimated;
      of.rows.resize(sums_[number].size());
      of.totals.resize(of.rows.size() * of.events);
      of.reference_weights.assign(of.events, std::nullopt);
    }
    for (const auto& [values, sum] : sums_[number]) {
      const std::size_t row = table.rows.size();
      table.rows.push_back({values, sum.since, sum.cgroups, sum.is_new});
      for (std::size_t group = 0; group < table.groups.size(); ++group) {
        const LabelSum::State& state = sum.states[group];
        GroupRow& of = table.groups[group].rows[row];
        of.value = state.is_known      ? GroupRow::Value::kKnown
                   : state.lacks_value ? GroupRow::Value::kNone
                                       : GroupRow::Value::kNotHere;
        of.has_times = state.has_times;
        of.wanted_on = state.wanted_on;
        of.counted_on = state.counted_on;
        if (sum.is_new) continue;
        of.times = sum.totals.times(group);
        for (std::size_t event = 0; event < table.groups[group].events; ++event) {
          table.groups[group].total(row, event) = sum.totals.total(group, event);
        }
      }
    }
  }
}

void LabelSums::report_left_out(PollReport& report) const {
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    if (left_out_[number] == 0) continue;
    const SumPlan& sum = plan_->sums[number];
    report.add_failure("sum '" + sum.name + "'", too_many_sums(sum, left_out_[number]));
  }
}

}  // namespace pex::collect
