#include "collect/poll_cycle.h"

#include <algorithm>
#include <map>
#include <string>

namespace pex::collect {
namespace {

/// Pinned groups are opened first: what they take of the PMU is settled then. All CPUs rotate at
/// the same instants. Opened in another order on each CPU, groups that take turns are on the PMU of
/// some CPU at any instant, and what happens on all CPUs at once is not missed by all of them.
/// Groups of software events come last: between two cgroups Linux 6.1 switches the PMU whose events
/// came first last, and books too little time_running to the events of the others. That does no
/// harm to software events, which always count.
std::vector<std::size_t> opening_order(const ScopePlan& plan, int cpu) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> software;
  std::map<std::string, std::vector<std::size_t>> in_turns;  // on each PMU
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (group.takes_turns()) {
      in_turns[group.pmu].push_back(i);
    } else {
      (group.shares_pmu ? order : software).push_back(i);
    }
  }
  for (auto& [pmu, groups] : in_turns) {
    const auto first = cpu % static_cast<std::ptrdiff_t>(groups.size());
    std::rotate(groups.begin(), groups.begin() + first, groups.end());
    order.insert(order.end(), groups.begin(), groups.end());
  }
  order.insert(order.end(), software.begin(), software.end());
  return order;
}

bool takes_turns(const ScopePlan& plan) {
  return std::any_of(plan.groups.begin(), plan.groups.end(),
                     [](const GroupPlan& group) { return group.takes_turns(); });
}

/// What the auxiliary of `plan` say that never lose the PMU. They stand before it in its scope, so
/// they have just been read.
AlwaysOn always_on(const GroupPlan& plan, std::span<const TargetGroup> groups) {
  AlwaysOn said;
  if (plan.auxiliary.always_on) {
    const TargetGroup& clock = groups[*plan.auxiliary.always_on];
    if (clock.is_open() && clock.was_read()) {
      said.clock = clock.totals().times().enabled;
      said.clock_counted = std::chrono::nanoseconds{clock.totals()[0].value};
    }
  }
  if (const auto& at = plan.auxiliary.reference_always) {
    const TargetGroup& reference = groups[at->group];
    const GroupTotals& totals = reference.totals();
    if (reference.is_open() && reference.was_read() && at->event < reference.open_events()) {
      said.reference = {totals[at->event].value,
                        totals.times().enabled - totals.times().unmeasured};
    }
  }
  return said;
}

}  // namespace

PollCycle::PollCycle(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan, int cpu)
    : kernel_(kernel),
      plan_(std::move(plan)),
      cpu_(cpu),
      cpu_scope_{plan_->cpu, &EventModels::cpu, &PollLessons::cpu, opening_order(plan_->cpu, cpu),
                 takes_turns(plan_->cpu)},
      cgroup_scope_{plan_->cgroup, &EventModels::cgroup, &PollLessons::cgroup,
                    opening_order(plan_->cgroup, cpu), takes_turns(plan_->cgroup)},
      presence_(kernel, cpu),
      whole_cpu_(plan_->cpu),
      lessons_(*plan_),
      increments_(perf::kMaxGroupMembers) {}

PollReport PollCycle::run(const std::shared_ptr<const TargetSet>& targets,
                          const EventModels& models) {
  lessons_.clear();
  lessons_.kernel_mistimes = models.kernel_mistimes;
  if (!is_settled_) {
    each_target([](Target& target, const Scope&) {
      for (TargetGroup& group : target.groups) group.begin_poll();
    });
  }
  PollReport report = settle(targets, models);
  each_target([&](Target& target, const Scope& scope) { collect(target, scope, models, report); });
  const std::chrono::nanoseconds now = kernel_.now();
  each_target([now](Target& target, const Scope&) {
    for (TargetGroup& group : target.groups) group.end_poll(now);
  });
  return report;
}

PollReport PollCycle::settle(const std::shared_ptr<const TargetSet>& targets,
                             const EventModels& models) {
  PollReport report;
  align_to(targets, report);
  notice_absence(report);
  if (is_settled_ && !cpu_was_away()) return report;
  each_target([&](Target& target, const Scope& scope) {
    close_gone(target, scope, models, report);  // with their last reading
  });
  book_absence(report);
  is_settled_ = true;
  each_target([&](Target& target, const Scope& scope) { open_new(target, scope, report); });
  return report;
}

/// Calls `step(target, scope)` for the CPU itself and each cgroup on it.
template <typename Step>
void PollCycle::each_target(Step step) {
  step(whole_cpu_, cpu_scope_);
  for (Target& target : cgroups_) step(target, cgroup_scope_);
}

void PollCycle::collect(Target& target, const Scope& scope, const EventModels& models,
                        PollReport& report) {
  for (std::size_t index = 0; index < target.groups.size(); ++index) {
    if (!target.groups[index].is_open()) continue;
    collect_group(target, index, Reading::kOneOfMany, scope, models, report);
  }
  // A whole CPU is always on, so its rotation never stops.
  if (target.cgroup == nullptr || !scope.takes_turns) return;
  target.turns.take(kernel_, target.groups);
  report.now.targets_in_turns += target.turns.are_taken() ? 1 : 0;
}

/// read -> estimate -> accumulate. One bad group never costs the others.
void PollCycle::collect_group(Target& target, std::size_t index, Reading which, const Scope& scope,
                              const EventModels& models, PollReport& report) {
  TargetGroup& group = target.groups[index];
  const bool is_last = which == Reading::kLast;
  ++report.groups_read;
  report.now.open_events += group.open_events();
  const bool is_of_cpu = target.cgroup == nullptr;
  const auto begun = is_of_cpu ? kernel_.now() : std::chrono::nanoseconds{};
  if (const Result<> read =
          is_last ? group.read_last(kernel_, cpu_, reading_) : group.read(kernel_, cpu_, reading_);
      !read) {
    ++report.of_group(group.plan().name).read_failures;
    return report.add_failure("read " + group.plan().name, read.error(), group.subject(cpu_));
  }
  const AlwaysOn said = always_on(group.plan(), target.groups);
  if (reading_.state == perf::GroupReading::State::kOffPmu) {
    return is_last ? group.lost_its_counts(said)
                   : group.missed_its_place(kernel_, cpu_, said, report);
  }
  if (!reading_.unreadable.empty()) report_unreadable(group, report);
  if (is_of_cpu && !is_last) {
    const auto standstill = group.find_standstill(reading_, begun, kernel_.now());
    if (standstill) return open_again(group, *standstill, report);
  }
  const TargetGroup::Learning learning{
      (models.*scope.models)[index], (lessons_.*scope.lessons)[index],
      std::span(increments_).first(group.plan().estimated()), lessons_.kernel_mistimes};
  group.advance_to(reading_, said, learning, report);
}

void PollCycle::report_unreadable(const TargetGroup& group, PollReport& report) const {
  std::string events;
  for (const std::size_t event : reading_.unreadable) {
    events += (events.empty() ? "'" : ", '") + group.plan().events[event].name + "'";
  }
  report.add_failure(
      "last counts of " + group.plan().name,
      Error{0,
            "read the last counts of " + events + " in group '" + group.plan().name + "' on CPU " +
                std::to_string(cpu_) + ", which is offline: the kernel no longer returns them",
            "none: what was counted of these since the poll before is lost"},
      group.subject(cpu_));
}

/// The kernel does not let `group` count, though it has not said so.
void PollCycle::open_again(TargetGroup& group, std::chrono::nanoseconds standstill,
                           PollReport& report) {
  const std::string& name = group.plan().name;
  ++report.of_group(name).standstills;
  report.add_failure("standstill of " + name,
                     Error{0,
                           "group '" + name + "' stood still on CPU " + std::to_string(cpu_) +
                               ": the kernel did not schedule it, as happens next to another "
                               "program's counters of cgroups; it was opened again",
                           "none if this happens once; else stop other programs that count "
                           "cgroups, such as cAdvisor with perf events"},
                     group.subject(cpu_));
  group.add_unmeasured(standstill);
  group.close(report);
  (void)group.open(kernel_, cpu_, nullptr, report);
  is_settled_ = is_settled_ && group.is_open();
}

void PollCycle::notice_absence(PollReport& report) {
  if (!online_) presence_.reset();
  absence_ = online_ ? presence_.find_absence() : std::nullopt;
  report.now.open_events += presence_.is_open() ? 1 : 0;
}

/// What the tasks of a cgroup had of that time nobody knows, so nothing is booked for it.
void PollCycle::book_absence(PollReport& report) {
  if (!absence_) return;
  for (TargetGroup& group : whole_cpu_.groups) {
    if (group.is_wanted()) group.add_unmeasured(*absence_);
  }
  const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(*absence_);
  report.add_failure("absence of a CPU",
                     Error{0,
                           "CPU " + std::to_string(cpu_) +
                               " was offline and is back since the last poll: what happened on it "
                               "in the last " +
                               std::to_string(length.count()) + " ms is in no count",
                           "none: counting goes on; poll more often to lose less"},
                     {{}, {}, {}, cpu_});
}

/// Gives every target its groups, in the order of the targets: those of known series keep theirs.
void PollCycle::align_to(std::shared_ptr<const TargetSet> targets, PollReport& report) {
  if (targets == targets_) return;

  std::vector<Target> aligned;
  aligned.reserve(targets->cgroups.size());
  std::size_t old = 0;
  const std::size_t old_targets = cgroups_.size();
  const auto note = [&](const std::shared_ptr<const cgroup::Cgroup>& now) {
    note_unopened(cgroups_[old], targets_->cgroups[old], now, report);
  };
  for (const CgroupTarget& target : targets->cgroups) {
    for (; old < old_targets && targets_->cgroups[old].series < target.series; ++old) note({});
    if (old < old_targets && targets_->cgroups[old].series == target.series) {
      note(target.cgroup);
      aligned.push_back(std::move(cgroups_[old++]));
    } else {
      aligned.emplace_back(plan_->cgroup);
    }
    aligned.back().cgroup = &target.cgroup;
  }
  for (; old < old_targets; ++old) note({});
  cgroups_ = std::move(aligned);
  targets_ = std::move(targets);
  is_settled_ = false;
  find_wishes();
}

/// A cgroup that has gone while some of its groups were still to be opened here.
void PollCycle::note_unopened(Target& target, const CgroupTarget& before,
                              const std::shared_ptr<const cgroup::Cgroup>& now,
                              PollReport& report) {
  if (!before.cgroup || before.cgroup == now) return;
  const auto is_unopened = [](const TargetGroup& group) {
    return group.is_wanted() && !group.is_open() && !group.has_failed();
  };
  if (std::none_of(target.groups.begin(), target.groups.end(), is_unopened) ||
      cgroup::still_exists(*before.cgroup)) {
    return;
  }
  report.unopened.insert(before.series);
  for (TargetGroup& group : target.groups) {
    if (is_unopened(group)) group.miss();
  }
}

/// Which groups are counted on this CPU: those of its PMUs, while it is online.
void PollCycle::find_wishes() {
  const MachineCpus& cpus = *targets_->cpus;
  online_ = cpus.is_online(cpu_);
  const auto find = [&](Target& target) {
    for (TargetGroup& group : target.groups) {
      group.set_wanted(online_ && !target.is_gone() &&
                       cpus.counts_on(group.plan().pmu, cpu_, group.plan().left_out_cpus));
    }
  };
  find(whole_cpu_);
  for (Target& target : cgroups_) find(target);
}

/// A removed cgroup still answers through its open counters, so its last events are not lost.
void PollCycle::close_gone(Target& target, const Scope& scope, const EventModels& models,
                           PollReport& report) {
  const cgroup::Cgroup* const place = target.cgroup == nullptr ? nullptr : target.cgroup->get();
  const auto goes = [&](const TargetGroup& group) {
    return group.is_open() &&
           (!group.is_wanted() || cpu_was_away() || group.cgroup().get() != place);
  };
  if (std::none_of(target.groups.begin(), target.groups.end(), goes)) return;
  PollReport last_words;
  for (std::size_t index = 0; index < target.groups.size(); ++index) {
    if (!goes(target.groups[index])) continue;
    collect_group(target, index, Reading::kLast, scope, models, last_words);
  }
  last_words.now.open_events = 0;
  report.merge(last_words);
  for (TargetGroup& group : target.groups) {
    if (goes(group)) group.close(report);
  }
}

void PollCycle::open_new(Target& target, const Scope& scope, PollReport& report) {
  if (target.is_gone()) return;  // and if a part of it failed, its sum still lacks that
  for (const std::size_t index : scope.opening_order) {
    TargetGroup& group = target.groups[index];
    if (group.is_open()) continue;
    if (group.is_wanted()) {
      const int refused = group.open(kernel_, cpu_, target.place(), report);
      if (target.cgroup && !bound_met_by(refused).empty()) {
        report.short_of[(*target.cgroup)->path] = refused;
      }
      is_settled_ = is_settled_ && group.is_open();  // else it is tried again
    } else {
      group.forget_failures();
    }
  }
}

}  // namespace pex::collect
