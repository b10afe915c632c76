#include "count/label_sums.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

std::string_view value_of(const cgroup::Description& description, std::string_view label) {
  if (label == "cgroup") return description.series_path;  // of SumPlan::is_series
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
      left_out_(plan_->sums.size()) {}

void LabelSums::follow(std::shared_ptr<const CountingPlan> plan) {
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, std::move(plan));
  keep_places(*before, keep_sums(*before));
  for (LabelSumsByValues& sums : sums_) {
    for (auto& [values, sum] : sums) {
      follow_groups(before->cgroup, plan_->cgroup, sum.groups,
                    [](const GroupPlan&) { return LabelSum::Group{}; });
    }
  }
  hold_shares();
  for (std::size_t number = 0; number < sums_.size(); ++number) end_surplus(number);
  is_outdated_ = true;
  ++layout_;
}

/// Those that the plan still has; each stays where it is in memory, as members refer to it. Returns
/// of each SumPlan its number in the plan before; nothing: it is new.
std::vector<std::optional<std::size_t>> LabelSums::keep_sums(const CountingPlan& before) {
  std::vector<LabelSumsByValues> sums_before =
      std::exchange(sums_, std::vector<LabelSumsByValues>(plan_->sums.size()));
  std::vector<std::optional<std::size_t>> numbers(plan_->sums.size());
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const SumPlan& now = plan_->sums[number];
    const auto same = std::find_if(before.sums.begin(), before.sums.end(), [&](const auto& each) {
      return each.name == now.name && std::is_permutation(each.labels.begin(), each.labels.end(),
                                                          now.labels.begin(), now.labels.end());
    });
    if (same == before.sums.end()) continue;
    numbers[number] = static_cast<std::size_t>(same - before.sums.begin());
    LabelSumsByValues& sums = sums_before[*numbers[number]];
    while (!sums.empty()) {
      auto sum = sums.extract(sums.begin());
      sum.key() = in_order_of(now.labels, same->labels, std::move(sum.key()));
      sums_[number].insert(std::move(sum));
    }
  }
  return numbers;
}

/// What cgroups have counted before is in no sum that begins now.
void LabelSums::keep_places(const CountingPlan& before,
                            const std::vector<std::optional<std::size_t>>& numbers) {
  for (Member& member : members_) {
    std::vector<Place> places = std::exchange(
        member.places, std::vector<Place>(plan_->sums.size(), Place{.has_joined = true}));
    for (std::size_t number = 0; number < numbers.size(); ++number) {
      if (!numbers[number]) continue;
      Place& place = member.places[number];
      place = std::move(places[*numbers[number]]);
      for (auto& [sum, groups] : place.inside) {
        follow_groups(before.cgroup, plan_->cgroup, groups,
                      [](const GroupPlan&) { return GroupSum{}; });
      }
    }
  }
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

void LabelSums::follow(std::shared_ptr<const TargetSet> targets,
                       std::span<const GroupTable* const> tables) {
  const bool is_same = targets->has_layout_of(*targets_);
  targets_ = std::move(targets);
  if (!std::exchange(is_outdated_, false) && is_same) return;
  members_.resize(targets_->cgroups.size(), {0, {}, std::vector<Place>(plan_->sums.size())});
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    const std::uint64_t series = targets_->cgroups[slot].series;
    if (members_[slot].series == series) continue;
    members_[slot] = {series, {}, std::vector<Place>(plan_->sums.size())};
  }
  for (Member& member : members_) member.is_added = false;
  for (std::size_t number = 0; number < sums_.size(); ++number) find_sums(number);
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    members_[slot].description = targets_->cgroups[slot].description;
  }
  join(tables);
}

// --- which sum a cgroup is in -------------------------------------------------------------------

void LabelSums::find_sums(std::size_t number) {
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    if (has_sum(slot, number)) continue;
    const auto values = values_at(slot, number);
    if (values) make_sum(number, *values, targets_->cgroups[slot]);
  }
  left_out_[number] = 0;
  for (auto& [values, sum] : sums_[number]) sum.cgroups = 0;
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    LabelSum*& sum = members_[slot].places[number].sum;
    if (!has_sum(slot, number)) {
      sum = find_sum(slot, number);
      label_series(slot, sum);
    }
    members_[slot].is_added = members_[slot].is_added || sum != nullptr;
    if (sum != nullptr && targets_->cgroups[slot].cgroup) ++sum->cgroups;
  }
}

/// Rules may give other labels.
void LabelSums::label_series(std::size_t slot, LabelSum* sum) {
  const cgroup::Description& description = *targets_->cgroups[slot].description;
  if (sum == nullptr || !sum->of_series || *sum->of_series == *description.of_series) return;
  sum->of_series = description.of_series;
  ++layout_;
}

/// The same as before, and not the rest.
bool LabelSums::has_sum(std::size_t slot, std::size_t number) const {
  const Member& member = members_[slot];
  const LabelSum* const sum = member.places[number].sum;
  return sum != nullptr && !sum->share.empty() &&
         member.description == targets_->cgroups[slot].description;
}

std::optional<std::vector<std::string>> LabelSums::values_at(std::size_t slot,
                                                             std::size_t number) const {
  const CgroupTarget& target = targets_->cgroups[slot];
  if (target.is_free()) return {};
  return values_of(*target.description, plan_->sums[number].labels);
}

LabelSum* LabelSums::find_sum(std::size_t slot, std::size_t number) {
  const auto values = values_at(slot, number);
  if (!values) return nullptr;
  const auto own = sums_[number].find(*values);
  if (own != sums_[number].end()) return &own->second;
  left_out_[number] += *values == values_of_rest(plan_->sums[number]) ? 0 : 1;
  return &rest(number);
}

/// If these values have none, and there is room.
void LabelSums::make_sum(std::size_t number, const std::vector<std::string>& values,
                         const CgroupTarget& cgroup) {
  LabelSumsByValues& sums = sums_[number];
  const SumPlan& plan = plan_->sums[number];
  if (sums.contains(values)) return;
  if (!values.empty() && values == values_of_rest(plan)) return;
  std::string share = share_of(cgroup.path, values);
  if (shares_[number].held() >= plan.max && !make_room(number, share)) return;
  shares_[number].hold(share);
  LabelSum& sum = sums.emplace(values, LabelSum{plan_->cgroup, std::move(share)}).first->second;
  if (plan.is_series) sum.of_series = cgroup.description->of_series;
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

LabelSum& LabelSums::rest(std::size_t number) {
  const auto [at, is_new] =
      sums_[number].try_emplace(values_of_rest(plan_->sums[number]), plan_->cgroup);
  layout_ += is_new ? 1 : 0;
  return at->second;
}

void LabelSums::hold_shares() {
  left_out_.assign(sums_.size(), 0);
  shares_ = std::vector<cgroup::FairShares>(sums_.size());
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    for (const auto& [values, sum] : sums_[number]) {
      if (!sum.share.empty()) shares_[number].hold(sum.share);
    }
  }
}

// --- values -------------------------------------------------------------------------------------

void LabelSums::publish(Snapshot& snapshot, Clock::time_point now, PollReport& report) {
  if (sums_.empty()) return;
  note_age(now);
  add_states(snapshot);
  end_idle(now);
  write(snapshot);
  report_left_out(report);
}

/// An outer cgroup has the state of those inside of it, too, where it is counted itself.
void LabelSums::add_states(const Snapshot& snapshot) {
  for (LabelSumsByValues& sums : sums_) {
    for (auto& [values, sum] : sums) {
      for (LabelSum::Group& group : sum.groups) group.forget_states();
    }
  }
  const std::vector<CgroupRow>& rows = snapshot.cgroup_rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t slot = rows[row].target;
    const CgroupTarget& target = targets_->cgroups[slot];
    const std::size_t of_slot = rows.size() / members_.size();
    for (std::size_t group = 0; group < snapshot.cgroup.size(); ++group) {
      const GroupTable& table = snapshot.cgroup[group];
      const auto counts = [&](std::size_t outer) {
        return targets_->cgroups[outer].is_counted() &&
               is_whole(table.rows[outer * of_slot + row % of_slot]);
      };
      for (std::size_t number = 0; number < sums_.size(); ++number) {
        LabelSum* const sum = members_[slot].places[number].sum;
        if (sum == nullptr || is_contained(target, slot, number, counts)) continue;
        sum->groups[group].add_state(table.rows[row]);
      }
    }
  }
}

void LabelSums::note_age(Clock::time_point now) {
  for (const Member& member : members_) {
    for (const Place& place : member.places) {
      if (place.sum != nullptr) place.sum->last_member = now;
    }
  }
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const nanoseconds zero_for = plan_->sums[number].zero_for;
    for (auto& [values, sum] : sums_[number]) {
      if (sum.begun == LabelSum::kNotYet) sum.begun = sum.last_member = now;
      sum.is_new = sum.is_new && now - sum.begun < zero_for;
    }
  }
}

/// Not while a member is there, or lingers.
void LabelSums::end_idle(Clock::time_point now) {
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const nanoseconds idle = plan_->sums[number].idle;
    std::unordered_set<const LabelSum*> idle_ones;
    for (const auto& [values, sum] : sums_[number]) {
      if (now - sum.last_member > idle) idle_ones.insert(&sum);
    }
    if (idle_ones.empty()) continue;
    end(number, idle_ones);
    is_outdated_ = is_outdated_ || left_out_[number] > 0;  // there is room again
  }
}

void LabelSums::end(std::size_t number, const std::unordered_set<const LabelSum*>& ended) {
  for (Member& member : members_) {
    Place& place = member.places[number];
    if (ended.contains(place.sum)) place.sum = nullptr;
    std::erase_if(place.inside, [&](const auto& each) { return ended.contains(each.first); });
  }
  for (const LabelSum* const sum : ended) shares_[number].remove(sum->share);
  std::erase_if(sums_[number], [&](const auto& sum) { return ended.contains(&sum.second); });
  ++layout_;
}

void LabelSums::write(Snapshot& snapshot) const {
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
      table.rows.push_back({values, sum.since, sum.cgroups, sum.is_new, sum.of_series});
      for (std::size_t group = 0; group < table.groups.size(); ++group) {
        const auto& [counted, state] = sum.groups[group];
        table.groups[group].rows[row] = state;
        if (!sum.is_new) table.groups[group].add(row, counted.times, counted.totals);
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
