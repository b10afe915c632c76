#include "collect/cpu_totals.h"

namespace pex::collect {
namespace {

GroupState state_of(const TargetGroup& group) {
  const GroupTotals& totals = group.totals();
  return {.times = totals.times(),
          .is_wanted = group.is_wanted(),
          .is_open = group.is_open(),
          .has_failed = group.has_failed(),
          .measured = totals.measured(),
          .counted = totals.counted(),
          .wanted = totals.wanted(),
          .is_unreadable = group.is_unreadable(),
          .lacks_the_pmu = group.lacks_the_pmu(),
          .was_on_pmu = group.was_on_pmu(),
          .polls_wanted = group.polls_wanted(),
          .polls_counted = group.polls_counted()};
}

}  // namespace

CpuTotals::Scope::Scope(const ScopePlan& plan) {
  std::size_t events = 0;
  for (const GroupPlan& group : plan.groups) {
    first.push_back(events);
    events += group.estimated();
  }
  first.push_back(events);
}

void CpuTotals::Scope::resize(std::size_t targets) {
  states.resize(targets * (first.size() - 1));
  totals.resize(targets * first.back());
}

void CpuTotals::Scope::copy(std::size_t target, std::span<const TargetGroup> groups) {
  EventTotal* total = totals.data() + target * first.back();
  GroupState* state = states.data() + target * groups.size();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    *state++ = state_of(groups[group]);
    const std::size_t events = first[group + 1] - first[group];
    for (std::size_t event = 0; event < events; ++event) *total++ = groups[group].totals()[event];
  }
}

CpuTotals::CpuTotals(const CountingPlan& plan, int cpu)
    : cpu_(cpu), whole_cpu_(plan.cpu), cgroups_(plan.cgroup) {}

void CpuTotals::copy(const PollCycle& cycle, const TargetSet& targets) {
  is_known_ = true;
  whole_cpu_.resize(1);
  whole_cpu_.copy(0, cycle.cpu_groups());
  series_.clear();
  cgroups_.resize(targets.cgroups.size());
  for (std::size_t target = 0; target < targets.cgroups.size(); ++target) {
    series_.push_back(targets.cgroups[target].series);
    cgroups_.copy(target, cycle.cgroup_groups(target));
  }
}

}  // namespace pex::collect
