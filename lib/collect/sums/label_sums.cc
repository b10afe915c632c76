#include "collect/sums/label_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

// What is added at a poll: how much `now` is above `before`, which becomes the greater of the two.
// So what falls, as when a late CPU is left out, adds nothing when it comes back.

std::uint64_t advance(std::uint64_t& before, std::uint64_t now) {
  const std::uint64_t more = now > before ? now - before : 0;
  before += more;
  return more;
}

nanoseconds advance(nanoseconds& before, nanoseconds now) {
  const nanoseconds more = std::max(now - before, nanoseconds{0});
  before += more;
  return more;
}

double advance(double& before, double now) {
  const double more = std::max(now - before, 0.0);
  before = std::max(before, now);
  return more;
}

GroupTimes advance(GroupTimes& before, const GroupTimes& now) {
  return {.enabled = advance(before.enabled, now.enabled),
          .running = advance(before.running, now.running),
          .imputed = advance(before.imputed, now.imputed),
          .unmeasured = advance(before.unmeasured, now.unmeasured),
          .reference = advance(before.reference, now.reference),
          .reference_sampled = advance(before.reference_sampled, now.reference_sampled)};
}

EventTotal advance(EventTotal& before, const EventTotal& now) {
  return {advance(before.value, now.value), advance(before.observed, now.observed),
          advance(before.variance, now.variance)};
}

/// Not below 0.
void reduce(std::uint64_t& from, std::uint64_t by) { from -= std::min(from, by); }
void reduce(nanoseconds& from, nanoseconds by) { from = std::max(from - by, nanoseconds{0}); }
void reduce(double& from, double by) { from = std::max(from - by, 0.0); }

void reduce(GroupTimes& from, const GroupTimes& by) {
  reduce(from.enabled, by.enabled);
  reduce(from.running, by.running);
  reduce(from.imputed, by.imputed);
  reduce(from.unmeasured, by.unmeasured);
  reduce(from.reference, by.reference);
  reduce(from.reference_sampled, by.reference_sampled);
}

void reduce(EventTotal& from, const EventTotal& by) {
  reduce(from.value, by.value);
  reduce(from.observed, by.observed);
  reduce(from.variance, by.variance);
}

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

Error too_many_sums(const SumPlan& sum, std::size_t cgroups) {
  return Error{0,
               "sum '" + sum.name + "' has its maximum of " + std::to_string(sum.max) +
                   " combinations of labels: cgroups with others are not added up, now " +
                   std::to_string(cgroups),
               "raise 'max' of the sum, or sum by fewer labels"};
}

}  // namespace

/// Times and totals of all groups of scope cgroup.
class LabelSums::Totals {
 public:
  explicit Totals(const CountingPlan& plan) {
    for (const GroupPlan& group : plan.cgroup.groups) {
      groups_.push_back({{}, std::vector<EventTotal>(group.estimated())});
    }
  }

  /// Those of `plan`; `places` are those of its groups in the plan before.
  void change(const CountingPlan& plan, std::span<const std::size_t> places) {
    Totals before = std::exchange(*this, Totals(plan));
    for (std::size_t group = 0; group < places.size(); ++group) {
      if (places[group] != kNewPlace) groups_[group] = std::move(before.groups_[places[group]]);
    }
  }

  std::size_t groups() const { return groups_.size(); }
  std::size_t events(std::size_t group) const { return groups_[group].totals.size(); }
  GroupTimes& times(std::size_t group) { return groups_[group].times; }
  const GroupTimes& times(std::size_t group) const { return groups_[group].times; }
  EventTotal& total(std::size_t group, std::size_t event) { return groups_[group].totals[event]; }
  const EventTotal& total(std::size_t group, std::size_t event) const {
    return groups_[group].totals[event];
  }

  void add(const Totals& more) {
    for (std::size_t group = 0; group < groups(); ++group) {
      times(group).add(more.times(group));
      for (std::size_t event = 0; event < events(group); ++event) {
        total(group, event).add(more.total(group, event));
      }
    }
  }
  void add(const Snapshot& snapshot, std::size_t row) {
    for (std::size_t group = 0; group < groups(); ++group) {
      times(group).add(snapshot.cgroup[group].rows[row].times);
      for (std::size_t event = 0; event < events(group); ++event) {
        total(group, event).add(snapshot.cgroup[group].total(row, event));
      }
    }
  }
  /// No value falls below 0.
  void subtract(const Totals& less) {
    for (std::size_t group = 0; group < groups(); ++group) {
      reduce(times(group), less.times(group));
      for (std::size_t event = 0; event < events(group); ++event) {
        reduce(total(group, event), less.total(group, event));
      }
    }
  }

 private:
  struct Group {
    GroupTimes times;
    std::vector<EventTotal> totals;
  };
  std::vector<Group> groups_;
};

struct LabelSums::Sum {
  /// The state of one group, of all members.
  struct State {
    bool is_known = false;   ///< of any member, ever
    bool has_times = false;  ///< the same
    bool lacks_value = false;
    std::size_t wanted_on = 0;
    std::size_t counted_on = 0;

    void add(const GroupRow& row) {
      is_known = is_known || row.value == GroupRow::Value::kKnown;
      lacks_value = lacks_value || row.value == GroupRow::Value::kNone;
      has_times = has_times || row.has_times;
      wanted_on += row.wanted_on;
      counted_on += row.counted_on;
    }
  };

  Sum(const CountingPlan& plan, Clock::time_point now)
      : totals(plan), states(plan.cgroup.groups.size()), begun(now), last_member(now) {}

  void change(const CountingPlan& plan, std::span<const std::size_t> places) {
    totals.change(plan, places);
    collect::rearrange(states, places);
  }
  /// Of what is counted now.
  void forget_states() {
    for (State& state : states) state = {.is_known = state.is_known, .has_times = state.has_times};
  }
  /// Those of one cgroup, in the rows from `first` to before `end`.
  void add_states(const Snapshot& snapshot, std::size_t first, std::size_t end) {
    for (std::size_t group = 0; group < states.size(); ++group) {
      for (std::size_t row = first; row < end; ++row) {
        states[group].add(snapshot.cgroup[group].rows[row]);
      }
    }
  }

  Totals totals;
  std::vector<State> states;
  Clock::time_point begun;
  Clock::time_point last_member;
  std::chrono::system_clock::time_point since = std::chrono::system_clock::now();
  std::size_t cgroups = 0;
  bool is_new = true;  ///< published as 0
};

/// A target.
struct LabelSums::Member {
  /// In the sums of one SumPlan.
  struct Place {
    Sum* sum = nullptr;       ///< null: lacks a label, or left out
    bool is_counted = false;  ///< what it had counted has been added, or is left out
    bool is_inside = false;   ///< of another cgroup of the same sum
    /// Until it is counted, and in the snapshot in which it begins: what cgroups inside of it have
    /// added to each sum. It contains that, so that it is not added again should it be in that sum.
    std::map<const Sum*, Totals> inside = {};
  };

  Member(const CountingPlan& plan, std::uint64_t of_series)
      : series(of_series), totals(plan), places(plan.sums.size()) {}

  /// Nothing is counted without time enabled, nor estimated without time running; but time that was
  /// enabled before may turn out to be unmeasured, as when a group is closed.
  bool has_changed(const Snapshot& snapshot, std::size_t first, std::size_t end) const {
    for (const Place& place : places) {
      if (place.sum != nullptr && !place.is_counted) return true;
    }
    for (std::size_t group = 0; group < totals.groups(); ++group) {
      GroupTimes times;
      for (std::size_t row = first; row < end; ++row) {
        times.add(snapshot.cgroup[group].rows[row].times);
      }
      const GroupTimes& added = totals.times(group);
      if (times.enabled != added.enabled || times.running != added.running ||
          times.imputed != added.imputed || times.unmeasured != added.unmeasured) {
        return true;
      }
    }
    return false;
  }

  std::uint64_t series;
  bool was_counted = false;     ///< in the snapshot before; in this one once nesting is known
  bool is_new = true;           ///< in no snapshot before
  bool is_whole = true;         ///< counted on all CPUs, by all groups
  bool was_whole = true;        ///< the same, in the snapshot before
  bool lingers = false;         ///< it was not counted in the snapshot before either
  bool begins = false;          ///< what inner ones count may not be a part of what it counts
  bool has_inner_ones = false;  ///< other targets
  Totals totals;                ///< that were added
  std::vector<Place> places;
  std::vector<std::size_t> around;  ///< the targets that contain it
};

LabelSums::LabelSums(std::shared_ptr<const CountingPlan> plan)
    : plan_(std::move(plan)),
      sums_(plan_->sums.size()),
      left_out_(plan_->sums.size()),
      more_(std::make_unique<Totals>(*plan_)) {}

LabelSums::~LabelSums() = default;

void LabelSums::change(std::shared_ptr<const CountingPlan> plan, const Snapshot* last) {
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, std::move(plan));
  const Places places = keep_sums(*before);
  const PlanChange groups = change_of(*before, *plan_);
  for (Sums& sums : sums_) {
    for (auto& [values, sum] : sums) sum.change(*plan_, groups.cgroup);
  }
  if (plan_->sums.empty()) {
    members_.clear();  // nobody brings them up to date
  } else if (before->sums.empty() && last != nullptr) {
    begin_after(*last, *before);
  }
  change_members(places, groups.cgroup);
  *more_ = Totals(*plan_);
  for (std::size_t number = 0; number < sums_.size(); ++number) end_surplus(number);
  left_out_.assign(sums_.size(), 0);
  targets_ = nullptr;  // all are looked for again
  ++layout_;
}

/// Those that the plan still has; each stays where it is in memory, as members refer to it.
LabelSums::Places LabelSums::keep_sums(const CountingPlan& before) {
  std::vector<Sums> sums_before = std::exchange(sums_, std::vector<Sums>(plan_->sums.size()));
  Places places(plan_->sums.size());
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const SumPlan& now = plan_->sums[number];
    const auto same = std::find_if(before.sums.begin(), before.sums.end(), [&](const auto& each) {
      return each.name == now.name && std::is_permutation(each.labels.begin(), each.labels.end(),
                                                          now.labels.begin(), now.labels.end());
    });
    if (same == before.sums.end()) continue;
    places[number] = static_cast<std::size_t>(same - before.sums.begin());
    Sums& sums = sums_before[*places[number]];
    while (!sums.empty()) {
      auto sum = sums.extract(sums.begin());
      sum.key() = in_order_of(now.labels, same->labels, std::move(sum.key()));
      sums_[number].insert(std::move(sum));
    }
  }
  return places;
}

/// The members as of the last snapshot, with the groups of `plan`, which may have taken the place
/// of that of the snapshot since.
void LabelSums::begin_after(const Snapshot& last, const CountingPlan& plan) {
  members_.clear();
  for (const CgroupTarget& target : last.targets->cgroups) {
    Member& member = members_.emplace_back(*last.plan, target.series);
    member.is_new = false;
    member.was_counted = target.is_counted();
  }
  for (std::size_t row = 0; row < last.cgroup_rows.size(); ++row) {
    members_[last.cgroup_rows[row].target].totals.add(last, row);
  }
  if (last.plan.get() != &plan) {
    const PlanChange groups = change_of(*last.plan, plan);
    for (Member& member : members_) member.totals.change(plan, groups.cgroup);
  }
  (void)note_coverage(last);
  may_nest_ = last.plan->cgroups_nest;
}

void LabelSums::change_members(const Places& sums, std::span<const std::size_t> groups) {
  for (Member& member : members_) {
    member.totals.change(*plan_, groups);
    std::vector<Member::Place> moved(sums.size());
    for (std::size_t number = 0; number < moved.size(); ++number) {
      if (!sums[number]) {  // it begins now, and so not with what was counted before
        moved[number].is_counted = true;
        continue;
      }
      moved[number] = std::move(member.places[*sums[number]]);
      for (auto& [sum, added] : moved[number].inside) added.change(*plan_, groups);
    }
    member.places = std::move(moved);
  }
}

/// Where there are more than the plan allows now, the newest end.
void LabelSums::end_surplus(std::size_t number) {
  std::vector<const Sum*> oldest_first;
  for (const auto& [values, sum] : sums_[number]) oldest_first.push_back(&sum);
  std::stable_sort(oldest_first.begin(), oldest_first.end(),
                   [](const Sum* a, const Sum* b) { return a->begun < b->begun; });
  const std::size_t staying = std::min(oldest_first.size(), plan_->sums[number].max);
  const std::unordered_set<const Sum*> surplus(
      oldest_first.begin() + static_cast<std::ptrdiff_t>(staying), oldest_first.end());
  if (!surplus.empty()) end(number, surplus);
}

void LabelSums::add_to(Snapshot& snapshot, Clock::time_point now, PollReport& report) {
  if (plan_->sums.empty()) return;
  const bool is_same = targets_ && snapshot.targets->has_layout_of(*targets_);
  const bool is_rearranged = !is_same || std::exchange(has_room_again_, false);
  if (is_rearranged) rearrange(snapshot, now);
  const bool all_are_whole = note_coverage(snapshot);
  if (is_rearranged || nesting_changes_ || !all_are_whole) leave_out_inner(*snapshot.targets);
  targets_ = snapshot.targets;
  add(snapshot);
  end_idle(now);
  note_age(now);
  publish(snapshot);
  report_left_out(report);
}

// --- members ------------------------------------------------------------------------------------

/// Targets are by rising series, and so are members.
void LabelSums::rearrange(const Snapshot& snapshot, Clock::time_point now) {
  const TargetSet& targets = *snapshot.targets;
  std::vector<Member> before = std::exchange(members_, {});
  auto known = before.begin();
  for (const CgroupTarget& target : targets.cgroups) {
    known = std::find_if(known, before.end(),
                         [&](const Member& each) { return each.series >= target.series; });
    if (known != before.end() && known->series == target.series) {
      members_.push_back(std::move(*known++));
    } else {
      members_.emplace_back(*plan_, target.series);
    }
  }
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    left_out_[number] = 0;
    for (auto& [values, sum] : sums_[number]) sum.cgroups = 0;
    for (std::size_t target = 0; target < members_.size(); ++target) {
      find_sum(number, snapshot, target, now);
    }
  }
}

void LabelSums::find_sum(std::size_t number, const Snapshot& snapshot, std::size_t target,
                         Clock::time_point now) {
  const SumPlan& plan = plan_->sums[number];
  Member& member = members_[target];
  Member::Place& place = member.places[number];
  place.sum = nullptr;
  const CgroupTarget& of = snapshot.targets->cgroups[target];
  std::optional<std::vector<std::string>> values = values_of(*of.description, plan.labels);
  if (!values) return;
  Sums& sums = sums_[number];
  auto found = sums.find(*values);
  if (found == sums.end() && sums.size() >= plan.max) {
    ++left_out_[number];
    place.is_counted = true;  // what is left out stays so, should there be room later
    return;
  }
  if (found == sums.end()) {
    found = sums.emplace(*std::move(values), Sum{*plan_, now}).first;
    ++layout_;
  }
  place.sum = &found->second;
  if (of.cgroup) ++place.sum->cgroups;
}

/// Returns whether all are counted on all CPUs, and were in the snapshot before.
bool LabelSums::note_coverage(const Snapshot& snapshot) {
  if (!plan_->cgroups_nest) return true;
  for (Member& member : members_) member.was_whole = std::exchange(member.is_whole, true);
  for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
    Member& member = members_[snapshot.cgroup_rows[row].target];
    for (const GroupTable& table : snapshot.cgroup) {
      member.is_whole = member.is_whole && !lacks_coverage(table.rows[row]);
    }
  }
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.is_whole && member.was_whole; });
}

/// Of nested cgroups in one sum the outermost contains the others: from the snapshot after the one
/// in which its counters were opened, up to that in which they are closed, which has its last
/// reading; but not while a CPU lacks it. When both linger, some CPU may be late with their last
/// readings: an inner one that was contained stays so, of others the outer one is added without
/// what they add.
void LabelSums::leave_out_inner(const TargetSet& targets) {
  const bool is_last_time = !plan_->cgroups_nest && may_nest_;  // another plan closes some now
  if (!plan_->cgroups_nest && !is_last_time) return leave_out_none(targets);
  may_nest_ = plan_->cgroups_nest;
  std::unordered_map<std::string_view, std::size_t> outer_ones;
  bool changes = false;
  for (std::size_t target = 0; target < members_.size(); ++target) {
    Member& member = members_[target];
    const bool is_counted = targets.cgroups[target].is_counted();
    member.lingers = !is_counted && !member.was_counted && !member.is_new;
    member.begins = !(member.was_counted && member.was_whole && member.is_whole);
    member.has_inner_ones = false;
    changes = changes || is_counted != member.was_counted || member.is_new;
    outer_ones.emplace(targets.cgroups[target].path, target);
  }
  bool is_nested = false;
  for (std::size_t target = 0; target < members_.size(); ++target) {
    Member& member = members_[target];
    for (Member::Place& place : member.places) place.is_inside = place.is_inside && member.lingers;
    member.around.clear();
    std::string_view path = targets.cgroups[target].path;
    while (path.size() > 1) {
      path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
      const auto found = outer_ones.find(path);
      if (found == outer_ones.end()) continue;
      Member& outer = members_[found->second];
      if (outer.lingers && !member.lingers) continue;  // the inner one goes on counting
      is_nested = outer.has_inner_ones = true;
      member.around.push_back(found->second);
      for (std::size_t number = 0; !outer.begins && number < sums_.size(); ++number) {
        Member::Place& place = member.places[number];
        const bool is_same = place.sum != nullptr && place.sum == outer.places[number].sum;
        place.is_inside = place.is_inside || is_same;
      }
    }
  }
  for (std::size_t target = 0; target < members_.size(); ++target) {
    members_[target].was_counted = targets.cgroups[target].is_counted();
    members_[target].is_new = false;
  }
  nesting_changes_ = (changes && is_nested) || is_last_time;
}

/// Of cgroups that do not contain each other: when one gets another inside of it, the counters of
/// the one are closed as those of the other are opened.
void LabelSums::leave_out_none(const TargetSet& targets) {
  for (std::size_t target = 0; target < members_.size(); ++target) {
    Member& member = members_[target];
    member.begins = member.has_inner_ones = member.is_new = false;
    member.was_counted = targets.cgroups[target].is_counted();
    member.around.clear();
    for (Member::Place& place : member.places) place.is_inside = false;
  }
  nesting_changes_ = false;
}

// --- increments ---------------------------------------------------------------------------------

void LabelSums::add(const Snapshot& snapshot) {
  for (Sums& sums : sums_) {
    for (auto& [values, sum] : sums) sum.forget_states();
  }
  std::vector<RowRange> outer_ones;
  const std::vector<CgroupRow>& rows = snapshot.cgroup_rows;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    const std::size_t target = rows[first].target;
    for (end = first + 1; end < rows.size() && rows[end].target == target;) ++end;
    Member& member = members_[target];
    for (const Member::Place& place : member.places) {
      if (place.sum != nullptr && !place.is_inside) place.sum->add_states(snapshot, first, end);
    }
    if (member.begins && member.has_inner_ones) {
      outer_ones.push_back({first, end});
    } else if (member.has_changed(snapshot, first, end)) {
      add_increments(member, snapshot, first, end);
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
  for (const auto [first, end] : outer_ones) {
    Member& member = members_[snapshot.cgroup_rows[first].target];
    if (member.has_changed(snapshot, first, end)) add_increments(member, snapshot, first, end);
    for (Member::Place& place : member.places) {
      if (place.is_counted) place.inside.clear();
    }
  }
}

void LabelSums::add_increments(Member& member, const Snapshot& snapshot, std::size_t first,
                               std::size_t end) {
  for (std::size_t group = 0; group < member.totals.groups(); ++group) {
    const GroupTable& table = snapshot.cgroup[group];
    GroupTimes times;
    for (std::size_t row = first; row < end; ++row) times.add(table.rows[row].times);
    more_->times(group) = advance(member.totals.times(group), times);
    for (std::size_t event = 0; event < table.events; ++event) {
      EventTotal total;
      for (std::size_t row = first; row < end; ++row) total.add(table.total(row, event));
      more_->total(group, event) = advance(member.totals.total(group, event), total);
    }
  }
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    Member::Place& place = member.places[number];
    if (place.sum == nullptr) continue;
    const bool was_counted = std::exchange(place.is_counted, true);
    const auto inside = std::exchange(place.inside, {});
    if (place.is_inside) continue;
    const auto added = inside.find(place.sum);
    if (was_counted && added == inside.end()) {
      add_to_sum(member, number, *more_);
      continue;
    }
    Totals own = was_counted ? *more_ : member.totals;
    if (added != inside.end()) own.subtract(added->second);
    add_to_sum(member, number, own);
  }
}

void LabelSums::add_to_sum(const Member& member, std::size_t number, const Totals& more) {
  Sum* const sum = member.places[number].sum;
  sum->totals.add(more);
  for (const std::size_t outer : member.around) {
    Member::Place& of_outer = members_[outer].places[number];
    if (of_outer.is_counted && !members_[outer].begins) continue;
    of_outer.inside.try_emplace(sum, *plan_).first->second.add(more);
  }
}

// --- sums ---------------------------------------------------------------------------------------

/// Not while a member is there, or lingers.
void LabelSums::end_idle(Clock::time_point now) {
  for (const Member& member : members_) {
    for (const Member::Place& place : member.places) {
      if (place.sum != nullptr) place.sum->last_member = now;
    }
  }
  for (std::size_t number = 0; number < sums_.size(); ++number) {
    const nanoseconds idle = plan_->sums[number].idle;
    std::unordered_set<const Sum*> idle_ones;
    for (const auto& [values, sum] : sums_[number]) {
      if (now - sum.last_member > idle) idle_ones.insert(&sum);
    }
    if (idle_ones.empty()) continue;
    end(number, idle_ones);
    has_room_again_ = has_room_again_ || left_out_[number] > 0;
  }
}

void LabelSums::end(std::size_t number, const std::unordered_set<const Sum*>& ended) {
  for (Member& member : members_) {
    Member::Place& place = member.places[number];
    if (ended.contains(place.sum)) place.sum = nullptr;
    std::erase_if(place.inside, [&](const auto& each) { return ended.contains(each.first); });
  }
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
    for (const GroupPlan& group : plan_->cgroup.groups) {
      GroupTable& of = table.groups.emplace_back();
      of.events = group.estimated();
      of.rows.resize(sums_[number].size());
      of.totals.resize(of.rows.size() * of.events);
      of.reference_weights.assign(of.events, std::nullopt);
    }
    for (const auto& [values, sum] : sums_[number]) {
      const std::size_t row = table.rows.size();
      table.rows.push_back({values, sum.since, sum.cgroups, sum.is_new});
      for (std::size_t group = 0; group < table.groups.size(); ++group) {
        const Sum::State& state = sum.states[group];
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
