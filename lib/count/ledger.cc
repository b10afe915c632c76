#include "count/ledger.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>
#include <utility>

#include "base/boot_clock.h"

namespace pex::collect {
namespace {

/// With other rows: `old_row(row)` is the one that it was before; nothing: it is new.
template <typename OldRow>
void change_rows(GroupTable& table, std::size_t rows, OldRow old_row) {
  GroupTable before = std::exchange(table, {.events = table.events,
                                            .is_estimated = table.is_estimated,
                                            .rows = std::vector<GroupRow>(rows),
                                            .totals = std::vector<EventTotal>(rows * table.events),
                                            .reference_weights = {}});
  for (std::size_t row = 0; row < rows; ++row) {
    const std::optional<std::size_t> old = old_row(row);
    if (!old) continue;
    table.rows[row] = before.rows[*old];
    for (std::size_t event = 0; event < table.events; ++event) {
      table.total(row, event) = before.total(*old, event);
    }
  }
}

void clear(GroupTable& table, std::size_t row) {
  table.rows[row] = {};
  for (std::size_t event = 0; event < table.events; ++event) table.total(row, event) = {};
}

}  // namespace

// --- plan, targets and CPUs ---------------------------------------------------------------------

Ledger::Ledger(std::shared_ptr<const CountingPlan> plan)
    : plan_(std::move(plan)), starts_(*plan_), losses_(plan_->cgroup.groups.size()), sums_(plan_) {
  for (const GroupPlan& group : plan_->cgroup.groups) {
    assert(group.id != kNoGroup);
    cgroups_.push_back(blank(group));
  }
}

Ledger::OfCgroups Ledger::blank(const GroupPlan& group) const {
  const std::size_t rows = slots() * rows_of_slot();
  OfCgroups of;
  of.table.events = group.estimated();
  of.table.is_estimated = group.shares_pmu;
  of.table.rows.resize(rows);
  of.table.totals.resize(rows * of.table.events);
  of.states.resize(rows);
  return of;
}

void Ledger::follow(std::shared_ptr<const CountingPlan> plan) {
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, std::move(plan));
  follow_groups(before->cgroup, plan_->cgroup, cgroups_,
                [this](const GroupPlan& group) { return blank(group); });
  for (auto& [cpu, of] : cpus_) {
    std::erase_if(of.groups,
                  [&](const auto& group) { return !find_group(plan_->cpu, group.first); });
  }
  starts_.follow(*before, *plan_, BootClock::now());
  losses_.follow(plan_->cgroup.groups.size());
  sums_.follow(plan_);
  due_.add_all();
}

void Ledger::follow(std::shared_ptr<const TargetSet> targets) {
  const std::shared_ptr<const TargetSet> before = std::exchange(targets_, std::move(targets));
  if (!targets_->has_layout_of(*before)) follow_series(*before);
  std::vector<const GroupTable*> tables;
  for (const OfCgroups& of : cgroups_) tables.push_back(&of.table);
  sums_.follow(targets_, tables);
}

void Ledger::follow_series(const TargetSet& before) {
  const std::size_t known = before.cgroups.size() * rows_of_slot();
  const std::size_t rows = slots() * rows_of_slot();
  for (OfCgroups& of : cgroups_) {
    if (rows != known) {
      change_rows(of.table, rows, [known](std::size_t row) {
        return row < known ? std::optional(row) : std::nullopt;
      });
      of.states.resize(rows);
    }
    for (std::size_t row = 0; row < std::min(rows, known); ++row) {
      if (targets_->has_series_of(before, row / rows_of_slot())) continue;
      clear(of.table, row);
      of.states[row] = {};
    }
  }
  for (std::size_t slot = 0; slot < before.cgroups.size(); ++slot) {
    if (slot < slots() && !targets_->has_series_of(before, slot)) losses_.forget(slot);
  }
  losses_.resize(slots());
  same_since_.resize(slots());
  unknown_.resize(slots());
  due_.reset(slots());
  due_.add_all();
}

void Ledger::add_cpu(int cpu) {
  if (!cpus_.try_emplace(cpu).second || !plan_->cgroup_per_cpu) return;
  const std::size_t added = index_of(cpu);
  const std::size_t now = rows_of_slot();
  const auto old_row = [added, now](std::size_t row) -> std::optional<std::size_t> {
    const std::size_t at = row % now;
    if (at == added) return {};
    return row / now * (now - 1) + at - (at > added ? 1 : 0);
  };
  for (OfCgroups& of : cgroups_) {
    const std::vector<StateCounts> before =
        std::exchange(of.states, std::vector<StateCounts>(slots() * now));
    change_rows(of.table, of.states.size(), old_row);
    for (std::size_t row = 0; row < of.states.size(); ++row) {
      if (const auto old = old_row(row)) of.states[row] = before[*old];
    }
  }
  due_.add_all();
}

std::size_t Ledger::slots() const { return targets_->cgroups.size(); }

std::size_t Ledger::index_of(int cpu) const {
  return static_cast<std::size_t>(std::distance(cpus_.begin(), cpus_.find(cpu)));
}

// --- increments ---------------------------------------------------------------------------------

/// Of one group of scope cgroup on one CPU.
class Ledger::Sink {
 public:
  /// `counted`: the targets that it was counted at.
  Sink(Ledger& ledger, std::size_t group, std::size_t of_cpu, const TargetSet& counted)
      : ledger_(ledger),
        group_(group),
        of_(ledger.cgroups_[group]),
        rows_of_slot_(ledger.rows_of_slot()),
        of_cpu_(of_cpu),
        counted_(ledger.targets_->has_layout_of(counted) ? nullptr : &counted) {}

  void add_exact(std::size_t slot, std::chrono::nanoseconds enabled,
                 std::span<const std::uint64_t> counts) {
    if (has_ended(slot)) return;
    const std::size_t row = note(slot);
    GroupTimes& times = of_.table.rows[row].times;
    times.enabled = saturating_sum(times.enabled, enabled);
    times.running = saturating_sum(times.running, enabled);
    for (std::size_t event = 0; event < counts.size(); ++event) {
      of_.table.total(row, event).add({counts[event], counts[event], 0});
    }
  }
  void add(std::size_t slot, const GroupTimes& times, std::span<const EventTotal> totals) {
    if (has_ended(slot)) return;
    of_.table.add(note(slot), times, totals);
  }
  /// The kernel's account of a cgroup is of all CPUs together.
  void add_lost(std::size_t slot, std::chrono::nanoseconds time) {
    if (ledger_.plan_->cgroup_per_cpu) return add(slot, {.enabled = time, .unmeasured = time}, {});
    if (has_ended(slot)) return;
    note(slot);
    ledger_.losses_.add(slot, group_, time);
  }
  void change_state(std::size_t slot, const GroupState& before, const GroupState& now) {
    if (has_ended(slot)) return;
    StateCounts& states = of_.states[note(slot)];
    states.remove(before);
    states.add(now);
  }

 private:
  /// The CPU was late, and another series may have the slot now.
  bool has_ended(std::size_t slot) const {
    return counted_ != nullptr && !ledger_.targets_->has_series_of(*counted_, slot);
  }
  std::size_t note(std::size_t slot) {
    ledger_.due_.add(slot);
    return slot * rows_of_slot_ + of_cpu_;
  }

  Ledger& ledger_;
  std::size_t group_;
  OfCgroups& of_;
  std::size_t rows_of_slot_;
  std::size_t of_cpu_;  ///< its place in the rows of a slot
  const TargetSet* counted_;
};

void Ledger::add(PollCycle& cycle) {
  add_own(cycle);
  if (cycle.targets()) {
    add_cgroups(cycle, {0, cycle.targets()->cgroups.size()});
    add_to_sums(cycle);
  }
  cycle.clear_increments();
}

void Ledger::add_own(const PollCycle& cycle) {
  Cpu& cpu = cpus_.at(cycle.cpu());
  cpu.plan = cycle.polled_plan();
  cpu.targets = cycle.polled_targets();
  for (const TargetGroups& group : cycle.groups_of_cpu()) {
    if (!find_group(plan_->cpu, group.plan().id)) continue;
    OfCpu& of = cpu.groups.try_emplace(group.plan().id).first->second;
    of.sum.totals.resize(group.plan().estimated());
    of.is_estimated =
        of.is_estimated || group.plan().shares_pmu || group.increments().is_estimated();
    of.polls_wanted = group.polls_wanted(0);
    of.polls_counted = group.polls_counted(0);
    group.increments().for_each({0, 1}, of);
  }
  for (const TargetGroups& group : cycle.groups_of_cgroups()) {
    const std::optional<std::size_t> place = find_group(plan_->cgroup, group.plan().id);
    if (place && group.increments().is_estimated()) cgroups_[*place].table.is_estimated = true;
  }
}

void Ledger::add_cgroups(const PollCycle& cycle, SlotRange range) {
  const std::size_t of_cpu = plan_->cgroup_per_cpu ? index_of(cycle.cpu()) : 0;
  for (const TargetGroups& group : cycle.groups_of_cgroups()) {
    const std::optional<std::size_t> place = find_group(plan_->cgroup, group.plan().id);
    if (!place) continue;
    group.increments().for_each(range, Sink(*this, *place, of_cpu, *cycle.targets()));
  }
}

void Ledger::add_to_sums(const PollCycle& cycle) {
  for (const TargetGroups& group : cycle.groups_of_cgroups()) sums_.add(group, *cycle.targets());
}

void Ledger::settle_losses(bool is_whole, const Losses::CpuTime& cpu_time) {
  std::vector<GroupTable*> tables;
  for (OfCgroups& of : cgroups_) tables.push_back(&of.table);
  losses_.settle(plan_->cgroup, *targets_, tables, is_whole, cpu_time,
                 [this](std::size_t slot, std::size_t group, const GroupSum& more) {
                   add_missing(slot, group, more);
                 });
}

void Ledger::add_passed_over(std::size_t slot, std::chrono::nanoseconds time) {
  if (plan_->cgroup_per_cpu) return;
  for (std::size_t group = 0; group < cgroups_.size(); ++group) {
    cgroups_[group].table.is_estimated = true;
    add_missing(slot, group, {{.enabled = time, .unmeasured = time}, {}});
  }
  due_.add(slot);
}

void Ledger::add_missing(std::size_t slot, std::size_t group, const GroupSum& more) {
  cgroups_[group].table.add(slot, more.times, more.totals);
  sums_.add_missing(slot, group, more);
}

// --- values -------------------------------------------------------------------------------------

void Ledger::find_changed() {
  due_.add_all(unknown_);
  unknown_.reset(slots());
  behind_.clear();
  std::size_t index = 0;
  for (const auto& [number, cpu] : cpus_) {
    const std::size_t at = index++;
    if (cpu.plan == plan_ && targets_->has_layout_of(*cpu.targets)) continue;
    behind_.push_back({number, at, &cpu});
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      const bool is_unknown = cpu.plan != plan_ || !targets_->has_series_of(*cpu.targets, slot);
      if (is_unknown) unknown_.add(slot);
    }
  }
  due_.add_all(unknown_);
}

bool Ledger::knows(const Cpu& cpu, GroupId group, std::size_t slot) const {
  return cpu.plan && find_group(cpu.plan->cgroup, group) &&
         targets_->has_series_of(*cpu.targets, slot);
}

/// Whether it should be counted there now.
bool Ledger::counts_on(const GroupPlan& group, int cpu) const {
  const MachineCpus& cpus = *targets_->cpus;
  return cpus.is_online(cpu) && cpus.counts_on(group.pmu, cpu, group.left_out_cpus);
}

void Ledger::settle(SlotRange range, std::uint64_t snapshot) {
  for (std::size_t slot = range.first; slot < range.end; ++slot) {
    if (!due_.has(slot)) continue;
    same_since_[slot] = snapshot;
    due_.remove(slot);
    for (std::size_t group = 0; group < cgroups_.size(); ++group) {
      for (std::size_t of_cpu = 0; of_cpu < rows_of_slot(); ++of_cpu) {
        settle_row(plan_->cgroup.groups[group], cgroups_[group], slot,
                   slot * rows_of_slot() + of_cpu);
      }
    }
  }
}

/// Of an idle cgroup no group is opened: one that a reload has added counts from 0, and what the
/// cgroup does until it is opened is passed over.
void Ledger::settle_row(const GroupPlan& group, OfCgroups& of, std::size_t slot,
                        std::size_t row) const {
  const CgroupTarget& target = targets_->cgroups[slot];
  StateCounts states = of.states[row];
  for (const Behind& behind : behind_) {
    const bool is_of_row = !plan_->cgroup_per_cpu || behind.index == row % rows_of_slot();
    if (!is_of_row || target.is_free() || knows(*behind.cpu, group.id, slot)) continue;
    if (counts_on(group, behind.number)) states.add(target.is_counted() ? kUnopened : kMissed);
  }
  const bool is_counted =
      (states.counted > 0 || states.wanted == 0) && (states.on_pmu > 0 || states.lack_the_pmu == 0);
  GroupRow& to = of.table.rows[row];
  to.settle(states, is_counted);
  if (target.is_idle && to.value == GroupRow::Value::kNotHere) to.value = GroupRow::Value::kKnown;
  if (target.is_published) return;
  to.value = GroupRow::Value::kNotHere;
  to.has_times = false;
}

/// By rising CPU.
void Ledger::add_cpu_rows(const GroupPlan& group, GroupTable& table, const HostRows& rows) const {
  table.events = group.estimated();
  table.is_estimated = group.shares_pmu;
  table.rows.resize(rows.size());
  table.totals.resize(rows.size() * table.events);
  const MachineCpus& machine = *targets_->cpus;
  const std::vector<int> unread = machine.unread_on(group.pmu, group.left_out_cpus);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    RowState state;
    for (const int cpu : rows[row].cpus) {
      const Cpu& on = cpus_.at(cpu);
      const bool is_known = on.plan && find_group(on.plan->cpu, group.id);
      const auto of = on.groups.find(group.id);
      if (!is_known && counts_on(group, cpu)) state.add(kUnopened, 0, 0);
      if (of == on.groups.end()) continue;
      table.add(row, of->second.sum.times, of->second.sum.totals);
      table.is_estimated = table.is_estimated || of->second.is_estimated;
      if (is_known) state.add(of->second.state, of->second.polls_wanted, of->second.polls_counted);
    }
    const bool lacks_a_part = std::any_of(unread.begin(), unread.end(), [&](int cpu) {
      return is_in(rows[row], group.aggregation, machine, cpu);
    });
    table.rows[row].settle(state.cpus, state.is_counted() && !lacks_a_part);
  }
}

Snapshot Ledger::snapshot(std::uint64_t number, const EventModels& models) const {
  Snapshot snapshot;
  snapshot.number = number;
  snapshot.taken = BootClock::now();
  snapshot.plan = plan_;
  snapshot.targets = targets_;
  snapshot.starts = starts_;
  snapshot.same_since = same_since_;
  std::vector<int> cpus;
  for (const auto& [cpu, of] : cpus_) cpus.push_back(cpu);
  for (std::size_t group = 0; group < plan_->cpu.groups.size(); ++group) {
    const GroupPlan& of = plan_->cpu.groups[group];
    HostRows& rows = snapshot.host_rows[static_cast<std::size_t>(of.aggregation)];
    if (rows.empty()) rows = host_rows(of.aggregation, *targets_->cpus, cpus);
    GroupTable& table = snapshot.cpu.emplace_back();
    add_cpu_rows(of, table, rows);
    table.reference_weights = reference_weights(models.cpu[group]);
  }
  for (std::size_t group = 0; group < cgroups_.size(); ++group) {
    snapshot.cgroup.push_back(cgroups_[group].table);
    snapshot.cgroup.back().reference_weights = reference_weights(models.cgroup[group]);
  }
  snapshot.cgroup_rows.reserve(slots() * rows_of_slot());
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    if (!plan_->cgroup_per_cpu) snapshot.cgroup_rows.push_back({slot, {}});
    for (std::size_t i = 0; plan_->cgroup_per_cpu && i < cpus.size(); ++i) {
      snapshot.cgroup_rows.push_back({slot, cpus[i]});
    }
  }
  return snapshot;
}

}  // namespace pex::collect
