#include "count/scope_groups.h"

#include <algorithm>
#include <map>
#include <string>

namespace pex::collect {
namespace {

/// Pinned groups are opened first: they determine what remains of the PMU. All CPUs rotate at the
/// same instants. With another order of opening on each CPU, multiplexed groups are on the PMU of
/// some CPU at any instant, so that an activity of all CPUs at once is not missed by all of them.
/// Groups of software events come last: between two cgroups Linux 6.1 switches the PMU whose events
/// came first last, and accounts too little time_running to the events of the others. That does not
/// affect software events, which always count.
std::vector<std::size_t> order_of_opening(const ScopePlan& plan, int cpu) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> software;
  std::map<std::string, std::vector<std::size_t>> multiplexed;  // on each PMU
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (group.is_multiplexed()) {
      multiplexed[group.pmu].push_back(i);
    } else {
      (group.shares_pmu ? order : software).push_back(i);
    }
  }
  for (auto& [pmu, groups] : multiplexed) {
    const auto first = cpu % static_cast<std::ptrdiff_t>(groups.size());
    std::rotate(groups.begin(), groups.begin() + first, groups.end());
    order.insert(order.end(), groups.begin(), groups.end());
  }
  order.insert(order.end(), software.begin(), software.end());
  return order;
}

}  // namespace

bool is_multiplexed(const ScopePlan& plan) {
  return std::any_of(plan.groups.begin(), plan.groups.end(),
                     [](const GroupPlan& group) { return group.is_multiplexed(); });
}

ScopeGroups::ScopeGroups(const ScopePlan& of, CounterSource& source, int cpu)
    : plan(&of), opening_order(order_of_opening(of, cpu)) {
  groups.reserve(of.groups.size());
  for (const GroupPlan& group : of.groups) groups.emplace_back(group, source, cpu, targets);
  keep_totals();
}

/// Of those that others are estimated by.
void ScopeGroups::keep_totals() {
  for (const GroupPlan& group : plan->groups) {
    const AuxiliaryCounters& by = group.auxiliary;
    if (by.always_on) groups[*by.always_on].estimation().keep_totals();
    if (by.reference_always) groups[by.reference_always->group].estimation().keep_totals();
  }
}

void ScopeGroups::resize(std::size_t to) {
  for (TargetGroups& group : groups) group.resize(to);
  if (may_starve) rotations.resize(to);
  targets = to;
}

void ScopeGroups::forget(std::size_t target) {
  for (TargetGroups& group : groups) group.forget(target);
  if (may_starve) rotations[target] = {};
}

/// Manual rotation goes on: the time for which its groups were stopped is in none of their readings
/// yet.
std::size_t ScopeGroups::change(const ScopePlan& to, CounterSource& source, int cpu) {
  std::size_t open = 0;
  for (const TargetGroups& group : groups) open += group.count_open();
  for (Rotation& rotation : rotations) rotation.follow(*plan, to);
  rotations.resize(may_starve ? targets : 0);
  follow_groups(*plan, to, groups, [&](const GroupPlan& group) {
    return TargetGroups{group, source, cpu, targets};
  });
  plan = &to;
  opening_order = order_of_opening(to, cpu);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].use(to.groups[i]);
    kept += groups[i].count_open();
  }
  keep_totals();
  return open - kept;
}

AlwaysOn ScopeGroups::always_on(const GroupPlan& group, std::size_t target) const {
  AlwaysOn read;
  if (group.auxiliary.always_on) {
    const TargetGroups& clock = groups[*group.auxiliary.always_on];
    if (clock.is_open(target) && clock.was_read(target)) {
      const KeptTotals& kept = clock.estimation().kept();
      read.clock = kept.time(target);
      read.clock_counted = std::chrono::nanoseconds{kept.count(target, 0)};
    }
  }
  if (const auto& at = group.auxiliary.reference_always) {
    const TargetGroups& reference = groups[at->group];
    if (reference.is_open(target) && reference.was_read(target) &&
        at->event < reference.open_events(target)) {
      const KeptTotals& kept = reference.estimation().kept();
      read.reference = {kept.count(target, at->event), kept.time(target)};
    }
  }
  return read;
}

}  // namespace pex::collect
