#include "count/poll_cycle.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pex::collect {
namespace {

const std::shared_ptr<const cgroup::Cgroup> kWholeCpu;

}  // namespace

PollCycle::PollCycle(std::unique_ptr<CounterSource> source,
                     std::shared_ptr<const CountingPlan> plan, int cpu)
    : source_(std::move(source)),
      plan_(std::move(plan)),
      cpu_(cpu),
      cpu_scope_(plan_->cpu, *source_, cpu),
      cgroup_scope_(plan_->cgroup, *source_, cpu),
      update_(*plan_),
      increments_(perf::kMaxGroupMembers) {
  source_->use(plan_);
  cpu_scope_.resize(1);                                      // the CPU itself
  cgroup_scope_.may_starve = is_multiplexed(plan_->cgroup);  // a whole CPU's rotation never stops
}

std::size_t PollCycle::change(std::shared_ptr<const CountingPlan> plan) {
  if (plan == plan_) return 0;
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, std::move(plan));
  cgroup_scope_.may_starve = is_multiplexed(plan_->cgroup);
  const std::size_t closed = cpu_scope_.change(plan_->cpu, *source_, cpu_) +
                             cgroup_scope_.change(plan_->cgroup, *source_, cpu_);
  source_->use(plan_);
  update_ = ModelUpdates(*plan_);
  is_reconciled_ = false;
  return closed;
}

template <typename Step>
void PollCycle::each_group(Step step) {
  for (ScopeGroups* scope : {&cpu_scope_, &cgroup_scope_}) {
    for (TargetGroups& group : scope->groups) step(group);
  }
}

PollCycle::Outcome PollCycle::run(const std::shared_ptr<const TargetSet>& targets,
                                  const EventModels& models) {
  if (!is_reconciled_) each_group([](TargetGroups& group) { group.begin_poll(); });
  const std::chrono::nanoseconds begun = source_->now();
  set_paused(true, begun);  // before its records are read: none of them is of the pause
  begin(targets, models);
  find_due();
  collect(cpu_scope_, 0);
  due_cgroups_.for_each([this](std::size_t target) { collect(cgroup_scope_, target); });
  set_paused(false, begun);  // after the time of their pause was read
  each_group([now = source_->now()](TargetGroups& group) { group.end_poll(now); });
  polled_plan_ = plan_;
  polled_targets_ = targets_;
  return std::exchange(outcome_, {});
}

/// Those that are to be so.
void PollCycle::set_paused(bool paused, std::chrono::nanoseconds now) {
  each_group([&](TargetGroups& group) {
    const std::optional<DutyCycle>& turn = group.plan().duty_cycle;
    const bool is_to_be = is_paused_ || (turn && !is_on(*turn, cpu_, now));
    if (is_to_be == paused) group.set_paused(paused, report());
  });
}

/// The cgroups that have changed, and once more those that had changed in the last poll, as they
/// may stand still now.
void PollCycle::find_due() {
  std::swap(due_cgroups_, changed_cgroups_);
  changed_cgroups_.reset(cgroup_scope_.targets);
  if (!source_->take_changed(changed_cgroups_)) changed_cgroups_.add_all();
  due_cgroups_.add_all(changed_cgroups_);
}

PollCycle::Outcome PollCycle::reconcile(const std::shared_ptr<const TargetSet>& targets,
                                        const EventModels& models) {
  begin(targets, models);
  if (targets_->is_nested) read_nested();
  return std::exchange(outcome_, {});
}

/// An outer cgroup contains those inside of it from the part of a poll after the one that opens it,
/// up to the one that closes it (LabelSums): both are read in these parts.
void PollCycle::read_nested() {
  ScopeGroups& scope = cgroup_scope_;
  for (std::size_t index = 0; index < scope.groups.size(); ++index) {
    const TargetGroups& group = scope.groups[index];
    RowSet nested{scope.targets};
    for (std::size_t target = 0; target < scope.targets; ++target) {
      for (const std::size_t outer : targets_->cgroups[target].around) {
        const bool begins = group.is_open(outer) && !group.was_open(outer);
        const bool ends = group.was_open(outer) && !group.is_open(outer);
        if (!ends && !(begins && group.was_open(target))) continue;
        if (group.is_open(target)) nested.add(target);
        if (group.is_open(outer)) nested.add(outer);
      }
    }
    nested.for_each([&](std::size_t target) {
      collect_in_addition(scope, target, index, Reading::kForAnother);
    });
  }
}

void PollCycle::begin(const std::shared_ptr<const TargetSet>& targets, const EventModels& models) {
  models_ = &models;
  update_.clear();
  update_.kernel_mistimes = models.kernel_mistimes;
  opens_again_ = source_->begin_poll(*targets);
  was_online_ = online_;
  was_left_out_ = targets_ && std::ranges::binary_search(targets_->cpus->left_out, cpu_);
  align_to(targets);
  detect_cpu_offline();
  if (!is_reconciled_ || cpu_was_offline() || opens_again_) close_and_open();
  source_->report(report(), outcome_.feedback);
  if (!online_) report().now.forget_source();
}

void PollCycle::close_and_open() {
  each_target([this](ScopeGroups& scope, std::size_t target) {
    close_gone(scope, target);  // with their last reading
  });
  account_cpu_offline();
  is_reconciled_ = true;
  each_target([this](ScopeGroups& scope, std::size_t target) { open_new(scope, target); });
}

/// Calls `step(scope, target)` for the CPU itself and each cgroup on it.
template <typename Step>
void PollCycle::each_target(Step step) {
  for (ScopeGroups* scope : {&cpu_scope_, &cgroup_scope_}) {
    for (std::size_t target = 0; target < scope->targets; ++target) step(*scope, target);
  }
}

/// The cgroup of a target; null for the CPU itself, and once the cgroup is gone.
const std::shared_ptr<const cgroup::Cgroup>& PollCycle::place(const ScopeGroups& scope,
                                                              std::size_t target) const {
  return is_of_cpu(scope) ? kWholeCpu : targets_->cgroups[target].cgroup;
}

bool PollCycle::is_uncounted(const ScopeGroups& scope, std::size_t target) const {
  return !is_of_cpu(scope) && !targets_->cgroups[target].is_counted();
}

void PollCycle::collect(ScopeGroups& scope, std::size_t target) {
  for (std::size_t index = 0; index < scope.groups.size(); ++index) {
    if (!scope.groups[index].is_open(target)) continue;
    collect_group(scope, target, index, Reading::kOfPoll);
  }
  if (!scope.may_starve || is_paused_) return;
  Rotation& rotation = scope.rotations[target];
  rotation.advance(scope.groups, target);
  report().now.targets_rotated_manually += rotation.is_manual() ? 1 : 0;
}

/// read -> estimate -> hand over. The failure of one group does not affect the others.
void PollCycle::collect_group(ScopeGroups& scope, std::size_t target, std::size_t index,
                              Reading which) {
  using State = GroupCounters::State;
  TargetGroups& group = scope.groups[index];
  const bool is_last = which == Reading::kLast;
  ++report().groups_read;
  report().now.open_events += group.descriptors(target);
  const bool is_of_cpu = this->is_of_cpu(scope);
  const auto begun = is_of_cpu ? source_->now() : std::chrono::nanoseconds{};
  const Result<State> state =
      is_last ? group.read_last(target, interval_) : group.read(target, interval_);
  if (!state) {
    ++report().of_group(group.plan().name).read_failures;
    return report().add_failure("read " + group.plan().name, state.error(),
                                group.subject(target, cpu_));
  }
  if (*state == State::kUnchanged) return group.estimation().mark_unchanged(target);
  AlwaysOn read = scope.always_on(group.plan(), target);
  if (is_of_cpu && group.is_paused() && !group.plan().auxiliary.always_on && online_) {
    read.clock = begun - offline_for_.value_or(std::chrono::nanoseconds{});  // its time goes on
  }
  if (*state == State::kOffPmu) {
    return is_last ? group.estimation().end_loss(target, read.clock)
                   : group.missed_its_place(target, read, report());
  }
  if (which != Reading::kForAnother) {  // once in a poll
    group.estimation().add_lost(target, interval_.lost);
  }
  if (interval_.unreadable.any()) report_unreadable(group, target);
  if (is_of_cpu && !is_last) {
    const auto standstill = group.find_standstill(interval_, begun, source_->now());
    if (standstill) return open_again(group, *standstill);
  }
  const Estimation::Learning learning{(is_of_cpu ? models_->cpu : models_->cgroup)[index],
                                      (is_of_cpu ? update_.cpu : update_.cgroup)[index],
                                      std::span(increments_).first(group.plan().estimated()),
                                      update_.kernel_mistimes, update_.has_learned};
  group.add(target, interval_, read, learning, report());
}

/// As another group is opened, or this one closed. Open events are those of the poll's own
/// readings.
void PollCycle::collect_in_addition(ScopeGroups& scope, std::size_t target, std::size_t index,
                                    Reading which) {
  const std::size_t open_events = report().now.open_events;
  collect_group(scope, target, index, which);
  report().now.open_events = open_events;
}

void PollCycle::report_unreadable(const TargetGroups& group, std::size_t target) {
  std::string events;
  for (std::size_t event = 0; event < group.plan().events.size(); ++event) {
    if (!interval_.unreadable.test(event)) continue;
    events += (events.empty() ? "'" : ", '") + group.plan().events[event].name + "'";
  }
  report().add_failure(
      "last counts of " + group.plan().name,
      Error{0,
            "lost the last counts of " + events + " in group '" + group.plan().name + "' on CPU " +
                std::to_string(cpu_) +
                ", which is offline: the kernel no longer returns those since the previous poll",
            {}},
      group.subject(target, cpu_));
}

/// The kernel does not count a group of the CPU, and reports no error.
void PollCycle::open_again(TargetGroups& group, std::chrono::nanoseconds standstill) {
  const std::string& name = group.plan().name;
  ++report().of_group(name).standstills;
  report().add_failure(
      "standstill of " + name,
      Error{0,
            "group '" + name + "' did not count on CPU " + std::to_string(cpu_) +
                ": the kernel did not schedule it, which happens if another program also counts "
                "cgroups; it was reopened",
            "if this happens again, stop other programs that count cgroups, such as cAdvisor with "
            "perf events"},
      group.subject(0, cpu_));
  group.estimation().add_unmeasured(0, standstill);
  group.close(0, report());
  (void)group.open(0, kWholeCpu, report());
  is_reconciled_ = is_reconciled_ && group.is_open(0);
}

void PollCycle::clear_increments() {
  each_group([](TargetGroups& group) { group.clear_increments(); });
}

void PollCycle::detect_cpu_offline() {
  offline_for_ = source_->detect_cpu_offline(online_);
  if (was_left_out_) offline_for_.reset();  // on request: the time counts nowhere
  report().now.open_events += source_->own_events();
}

/// Any cgroup may have run until the CPU went, and since it is back.
void PollCycle::account_cpu_offline() {
  if (!offline_for_) return;
  each_target([&](ScopeGroups& scope, std::size_t target) {
    for (TargetGroups& group : scope.groups) {
      if (!group.is_wanted(target)) continue;
      Estimation& estimation = group.estimation();
      is_of_cpu(scope) ? estimation.add_unmeasured(target, *offline_for_)
                       : estimation.add_lost(target, *offline_for_);
    }
  });
  if (!was_online_) return;  // as the list of CPUs said
  const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(*offline_for_);
  report().add_failure(
      "absence of a CPU",
      Error{0,
            "CPU " + std::to_string(cpu_) +
                " was offline and is back since the last poll: what happened on it in the last " +
                std::to_string(length.count()) + " ms is not counted",
            "shorten collection.interval to lose less"},
      {{}, {}, {}, cpu_});
}

/// Forgets the series that have ended: the slots of some may have new ones.
void PollCycle::align_to(std::shared_ptr<const TargetSet> targets) {
  const std::shared_ptr<const TargetSet> before = std::exchange(targets_, std::move(targets));
  if (before && targets_->has_layout_of(*before)) return;
  for (std::size_t slot = 0; slot < cgroup_scope_.targets; ++slot) {
    note_unopened(slot, before->cgroups[slot]);
    if (!targets_->has_series_of(*before, slot)) cgroup_scope_.forget(slot);
  }
  cgroup_scope_.resize(targets_->cgroups.size());
  changed_cgroups_.reset(cgroup_scope_.targets);
  changed_cgroups_.add_all();
  is_reconciled_ = false;
  online_ = targets_->cpus->is_online(cpu_);
  find_wanted(cpu_scope_);
  find_wanted(cgroup_scope_);
  for (std::size_t slot = 0; has_missed_targets_ && slot < cgroup_scope_.targets; ++slot) {
    if (!before || !targets_->has_series_of(*before, slot)) note_missed(slot);
  }
}

/// The cgroup disappeared while some of its groups were still to be opened here.
void PollCycle::note_unopened(std::size_t target, const CgroupTarget& before) {
  const bool is_known =
      target < targets_->cgroups.size() && targets_->cgroups[target].series == before.series;
  if (!before.cgroup || (is_known && before.cgroup == targets_->cgroups[target].cgroup)) return;
  const auto is_unopened = [target](const TargetGroups& group) {
    return group.is_wanted(target) && !group.is_open(target) && !group.has_failed(target);
  };
  std::vector<TargetGroups>& groups = cgroup_scope_.groups;
  if (std::none_of(groups.begin(), groups.end(), is_unopened) ||
      cgroup::still_exists(*before.cgroup)) {
    return;
  }
  outcome_.feedback.unopened.insert(before.series);
  for (TargetGroups& group : groups) {
    if (is_unopened(group)) group.mark_missed(target);
  }
}

/// A new target that has ended: this CPU lacks what it did here.
void PollCycle::note_missed(std::size_t target) {
  const CgroupTarget& of = targets_->cgroups[target];
  if (of.is_free() || of.cgroup) return;
  for (TargetGroups& group : cgroup_scope_.groups) {
    if (!is_counted_here(group.plan())) continue;
    group.mark_missed(target);
    outcome_.feedback.unopened.insert(of.series);
  }
}

/// Groups are counted on the CPUs of their PMUs, while those are online.
bool PollCycle::is_counted_here(const GroupPlan& group) const {
  return online_ && targets_->cpus->counts_on(group.pmu, cpu_, group.left_out_cpus);
}

void PollCycle::find_wanted(ScopeGroups& scope) {
  for (TargetGroups& group : scope.groups) {
    const bool is_here = is_counted_here(group.plan());
    for (std::size_t target = 0; target < scope.targets; ++target) {
      group.set_wanted(target, is_here && !is_uncounted(scope, target));
    }
  }
}

/// A removed cgroup can still be read through its open counters, so its last events are not lost.
void PollCycle::close_gone(ScopeGroups& scope, std::size_t target) {
  const cgroup::Cgroup* const now = place(scope, target).get();
  const auto goes = [&](const TargetGroups& group) {
    return group.is_open(target) && (!group.is_wanted(target) || cpu_was_offline() ||
                                     opens_again_ || group.cgroup(target) != now);
  };
  if (std::none_of(scope.groups.begin(), scope.groups.end(), goes)) return;
  for (std::size_t index = 0; index < scope.groups.size(); ++index) {
    if (!goes(scope.groups[index])) continue;
    collect_in_addition(scope, target, index, Reading::kLast);
  }
  for (TargetGroups& group : scope.groups) {
    if (goes(group)) group.close(target, report());
  }
}

void PollCycle::open_new(ScopeGroups& scope, std::size_t target) {
  if (is_uncounted(scope, target)) return;  // if a part of it failed, its sum still lacks that
  for (const std::size_t index : scope.opening_order) {
    TargetGroups& group = scope.groups[index];
    if (group.is_open(target)) continue;
    if (group.is_wanted(target)) {
      const std::shared_ptr<const cgroup::Cgroup>& cgroup = place(scope, target);
      const int refused = group.open(target, cgroup, report());
      if (cgroup && !bound_met_by(refused).empty()) {
        outcome_.feedback.exhausted[cgroup->path] = refused;
      }
      is_reconciled_ = is_reconciled_ && group.is_open(target);  // else it is retried
      if (group.is_open(target)) {
        group.estimation().set_opened_at(target, read_time_on_cpu(scope, group.plan(), target));
      }
    } else {
      group.forget_failures(target);
    }
  }
}

/// As always_on() has it at each reading. It is read now, as the group was not there before, and
/// may be stopped or without its place on the PMU when it is first read.
std::optional<std::chrono::nanoseconds> PollCycle::read_time_on_cpu(ScopeGroups& scope,
                                                                    const GroupPlan& plan,
                                                                    std::size_t target) {
  const std::optional<std::size_t> always_on = plan.auxiliary.always_on;
  if (!always_on) return is_of_cpu(scope) ? std::optional(source_->now()) : std::nullopt;
  const TargetGroups& clock = scope.groups[*always_on];
  if (clock.is_open(target)) {
    collect_in_addition(scope, target, *always_on, Reading::kForAnother);
  }
  return clock.estimation().kept().time(target);
}

}  // namespace pex::collect
