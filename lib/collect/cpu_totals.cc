#include "collect/cpu_totals.h"

#include <utility>

namespace pex::collect {
namespace {

GroupPart blank(const GroupPlan& group) {
  return {GroupTotals{group.estimated(), group.shares_pmu}, {}};
}

std::vector<GroupPart> parts_of(const ScopePlan& plan) {
  std::vector<GroupPart> parts;
  for (const GroupPlan& group : plan.groups) parts.push_back(blank(group));
  return parts;
}

void copy_all(const TargetGroups& group, GroupPart& part) {
  part.is_known = true;
  part.totals = group.totals();
  part.states.resize(group.size());
  for (std::size_t target = 0; target < part.states.size(); ++target) {
    part.states[target] = group.state(target);
  }
}

void copy_scope(std::span<const TargetGroups> groups, std::span<GroupPart> parts) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    copy_all(groups[group], parts[group]);
  }
}

/// What has changed since the end of the last poll but so many.
RowSet changed_since(const TargetGroups& group, std::uint64_t polls) {
  RowSet changed = group.changed_since();
  if (polls > 0) changed.add_all(group.changed_in_last_poll());
  if (polls > 1) changed.add_all(group.changed_in_poll_before());
  return changed;
}

void copy_changed(const TargetGroups& group, std::uint64_t polls, GroupPart& part) {
  const RowSet changed = changed_since(group, polls);
  if (changed.size() > group.size() / 2) return copy_all(group, part);  // faster, in order
  changed.for_each([&](std::size_t target) {
    part.totals.copy(group.totals(), target);
    part.states[target] = group.state(target);
  });
}

}  // namespace

CpuTotals::CpuTotals(std::shared_ptr<const CountingPlan> plan, int cpu)
    : plan_(std::move(plan)),
      cpu_(cpu),
      cpu_groups_(parts_of(plan_->cpu)),
      cgroup_groups_(parts_of(plan_->cgroup)) {}

void CpuTotals::use(const std::shared_ptr<const CountingPlan>& plan) {
  if (plan == plan_) return;
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, plan);
  follow_groups(before->cpu, plan->cpu, cpu_groups_, blank);
  follow_groups(before->cgroup, plan->cgroup, cgroup_groups_, blank);
  stamp_ = {};
}

void CpuTotals::copy(const PollCycle& cycle, const TargetSet& targets) {
  const std::span<const TargetGroups> groups = cycle.groups_of_cgroups();
  const std::uint64_t polls = cycle.polls() - stamp_.polls;
  const bool is_follower = stamp_.arrangement == cycle.arrangement() && polls <= 2;
  copy_scope(cycle.groups_of_cpu(), cpu_groups_);
  if (is_follower) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      copy_changed(groups[group], polls, cgroup_groups_[group]);
    }
  } else {
    copy_scope(groups, cgroup_groups_);
    series_.clear();
    for (const CgroupTarget& target : targets.cgroups) series_.push_back(target.series);
  }
  stamp_ = {cycle.arrangement(), cycle.polls()};
  changed_.reset(series_.size());
  for (const TargetGroups& group : groups) {
    changed_.add_all(changed_since(group, 1));
    if (group.changed_since().size() > 0) stamp_ = {};  // it is not that of the end of a poll
  }
}

}  // namespace pex::collect
