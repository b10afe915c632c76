#include "plan/auxiliary_counters.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "events/event_table.h"

namespace pex::plan {
namespace {

/// In ns: while the group is on the PMU.
perf::CounterSpec clock_of(const Machine& machine, Scope scope) {
  const bool is_of_cpu = scope == Scope::kCpu && !machine.counts_tasks;
  return events::generic_counter(is_of_cpu || machine.counts_cpu_clock() ? "cpu-clock"
                                                                         : "task-clock");
}

/// Whether cycles are a reference for the group: a part of the package has a separate clock. The
/// generic events belong to the cores even if sysfs names no PMU for them.
bool counts_on_cores(const collect::GroupPlan& group, const events::PmuCatalogue& pmus) {
  return std::any_of(group.events.begin(), group.events.end(), [&](const perf::CounterSpec& event) {
    if (pmus.always_counts(event.attributes.type)) return false;
    const events::Pmu* pmu = pmus.counting(event.attributes.type);
    return pmu == nullptr || pmu->kind == events::PmuKind::kCore;
  });
}

std::optional<std::size_t> index_of(const collect::GroupPlan& group,
                                    const perf::CounterSpec& counter) {
  for (std::size_t i = 0; i < group.events.size(); ++i) {
    if (group.events[i].attributes == counter.attributes) return i;
  }
  return {};
}

/// A member of the group that is not published; the existing one if the group counts it already.
std::size_t add_member(collect::GroupPlan& group, const perf::CounterSpec& counter) {
  if (const std::optional<std::size_t> there = index_of(group, counter)) return *there;
  group.events.push_back(counter);
  ++group.auxiliary_events;
  ++group.optional_events;
  return group.events.size() - 1;
}

const perf::CounterSpec* counter_for(const Reference& reference, const std::string& pmu) {
  for (const Reference::OfPmu& of : reference.counters) {
    if (of.pmu.empty() || of.pmu == pmu) return &of.counter;
  }
  return nullptr;
}

/// Builds the groups of one scope, the auxiliary ones first.
class ScopeBuilder {
 public:
  ScopeBuilder(Scope scope, const Reference& reference, const Machine& machine)
      : scope_(scope), reference_(reference), pmus_(machine.pmus()), machine_(machine) {}

  collect::ScopePlan build(std::span<const PlannedGroup> groups) {
    each_group(groups, [this](const auto& group, config::Estimator estimator) {
      count(group, takes_reference(group, estimator, reference_, scope_, pmus_));
    });
    if (needs_clock()) clock_ = add_clock();
    each_group(groups, [this](const auto& group, config::Estimator estimator) {
      const bool takes = takes_reference(group, estimator, reference_, scope_, pmus_);
      if (takes && reference_.cost == Reference::Cost::kCounter) add_pinned_reference(group);
    });
    for (const PlannedGroup& group : groups) {
      if (group.is_in(scope_)) append(group);
    }
    return std::move(plan_);
  }

 private:
  template <typename Step>
  void each_group(std::span<const PlannedGroup> groups, Step step) {
    for (const PlannedGroup& planned : groups) {
      if (!planned.is_in(scope_)) continue;
      for (const collect::GroupPlan& group : planned.counted.groups) step(group, planned.estimator);
    }
  }

  void count(const collect::GroupPlan& group, bool takes_reference) {
    pinned_ += group.shares_pmu && group.mode.pinned ? 1 : 0;
    multiplexed_ += group.is_multiplexed() ? 1 : 0;
    with_reference_ += takes_reference ? 1 : 0;
  }

  /// Measures how long a pinned group was without its place; how long the disabled groups of a
  /// cgroup would have been enabled, during manual rotation; and how much the clocks of a cgroup's
  /// groups miss at switches.
  bool needs_clock() const {
    return pinned_ > 0 || with_reference_ > 0 || (scope_ == Scope::kCgroup && multiplexed_ > 0);
  }

  std::size_t add_clock() {
    collect::GroupPlan clock;
    clock.name = collect::kClockGroup;
    clock.is_published = false;
    clock.events = {clock_of(machine_, scope_)};
    if (reference_.cost == Reference::Cost::kFree) {
      clock.events.push_back(reference_.counters.front().counter);
      clock.optional_events = 1;
      free_ = collect::EventAt{plan_.groups.size(), 1};
    }
    plan_.groups.push_back(std::move(clock));
    return plan_.groups.size() - 1;
  }

  void add_pinned_reference(const collect::GroupPlan& of) {
    if (reference_at(of.pmu)) return;
    collect::GroupPlan pinned;
    pinned.name = collect::kReferenceGroup;
    pinned.pmu = of.pmu;
    pinned.mode.pinned = true;
    pinned.is_published = false;
    pinned.shares_pmu = true;
    pinned.mux_interval = of.mux_interval;
    pinned.events = {*counter_for(reference_, of.pmu)};
    pinned.auxiliary.always_on = clock_;
    if (scope_ == Scope::kCgroup) {
      pinned.auxiliary.clock = add_member(pinned, clock_of(machine_, scope_));
    }
    plan_.groups.push_back(std::move(pinned));
  }

  /// Where the reference is counted all the time on the CPUs of `pmu`.
  std::optional<collect::EventAt> reference_at(const std::string& pmu) const {
    if (free_) return free_;
    for (std::size_t i = 0; i < plan_.groups.size(); ++i) {
      const collect::GroupPlan& group = plan_.groups[i];
      if (!group.is_published && group.mode.pinned && group.pmu == pmu) return {{i, 0}};
    }
    return {};
  }

  void append(const PlannedGroup& planned) {
    const std::size_t first = plan_.groups.size();
    for (collect::GroupPlan group : planned.counted.groups) {
      add_auxiliary_members(group, planned.estimator);
      plan_.groups.push_back(std::move(group));
    }
    for (collect::PublishedEvent column : planned.counted.columns) {
      for (collect::EventAt& part : column.parts) part.group += first;
      plan_.columns.push_back(std::move(column));
    }
  }

  void add_auxiliary_members(collect::GroupPlan& group, config::Estimator estimator) const {
    if (!group.shares_pmu) return;
    group.auxiliary.always_on = clock_;
    if (!counts_on_cores(group, pmus_)) return;
    if (group.is_multiplexed() && takes_reference(group, estimator, reference_, scope_, pmus_)) {
      group.auxiliary.reference = add_member(group, *counter_for(reference_, group.pmu));
      group.auxiliary.reference_always = reference_at(group.pmu);
    }
    if (scope_ == Scope::kCgroup) {
      group.auxiliary.clock = add_member(group, clock_of(machine_, scope_));
    }
  }

  Scope scope_;
  const Reference& reference_;
  const events::PmuCatalogue& pmus_;
  const Machine& machine_;
  collect::ScopePlan plan_;
  std::size_t pinned_ = 0;
  std::size_t multiplexed_ = 0;  ///< groups that can lose the PMU to others, and are not pinned
  std::size_t with_reference_ = 0;
  std::optional<std::size_t> clock_;
  std::optional<collect::EventAt> free_;
};

}  // namespace

bool may_have_reference(const collect::GroupPlan& group, config::Estimator estimator,
                        const events::PmuCatalogue& pmus) {
  return estimator != config::Estimator::kTime && group.is_multiplexed() &&
         counts_on_cores(group, pmus);
}

bool takes_reference(const collect::GroupPlan& group, config::Estimator estimator,
                     const Reference& reference, Scope scope, const events::PmuCatalogue& pmus) {
  const perf::CounterSpec* counter = counter_for(reference, group.pmu);
  if (counter == nullptr || !may_have_reference(group, estimator, pmus)) return false;
  const bool asked = estimator == config::Estimator::kReference;
  if (reference.cost == Reference::Cost::kCounter && scope == Scope::kCgroup) return asked;
  return reference.joins_all || asked || index_of(group, *counter).has_value();
}

collect::ScopePlan with_auxiliary_counters(std::span<const PlannedGroup> groups, Scope scope,
                                           const Reference& reference, const Machine& machine) {
  return ScopeBuilder{scope, reference, machine}.build(groups);
}

}  // namespace pex::plan
