#include "collect/cpu_totals.h"

namespace pex::collect {
namespace {

std::vector<GroupPart> parts_of(const ScopePlan& plan) {
  std::vector<GroupPart> parts;
  for (const GroupPlan& group : plan.groups) {
    parts.push_back({GroupTotals{group.estimated(), group.shares_pmu}, {}});
  }
  return parts;
}

void copy_scope(std::span<const TargetGroups> groups, std::span<GroupPart> parts) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    parts[group].totals = groups[group].totals();
    std::vector<GroupState>& states = parts[group].states;
    states.resize(groups[group].size());
    for (std::size_t target = 0; target < states.size(); ++target) {
      states[target] = groups[group].state(target);
    }
  }
}

}  // namespace

CpuTotals::CpuTotals(const CountingPlan& plan, int cpu)
    : cpu_(cpu), cpu_groups_(parts_of(plan.cpu)), cgroup_groups_(parts_of(plan.cgroup)) {}

void CpuTotals::copy(const PollCycle& cycle, const TargetSet& targets) {
  is_known_ = true;
  copy_scope(cycle.groups_of_cpu(), cpu_groups_);
  copy_scope(cycle.groups_of_cgroups(), cgroup_groups_);
  series_.clear();
  for (const CgroupTarget& target : targets.cgroups) series_.push_back(target.series);
}

}  // namespace pex::collect
