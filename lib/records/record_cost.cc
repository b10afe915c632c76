#include "records/record_cost.h"

#include <algorithm>
#include <tuple>

namespace pex::collect {
namespace {

/// Descriptors of a RecordCheck.
std::size_t events_of_check(const CountingPlan& plan) {
  std::size_t events = 1;
  for (const GroupPlan& group : plan.cgroup.groups) {
    if (!group.shares_pmu) events = std::max(events, group.events.size());
  }
  return events;
}

/// The groups of scope cgroup that are recorded, or those that are not.
CountingPlan part_of(const CountingPlan& plan, bool is_recorded) {
  CountingPlan part;
  for (const GroupPlan& group : plan.cgroup.groups) {
    if (can_be_recorded(group) == is_recorded) part.cgroup.groups.push_back(group);
  }
  return part;
}

/// The groups of scope cpu that are recorded as groups of scope cgroup.
CountingPlan shared_part_of(const CountingPlan& plan) {
  CountingPlan part;
  for (const GroupPlan& group : plan.cpu.groups) {
    const std::vector<GroupPlan>& recorded = plan.cgroup.groups;
    const bool is_shared = std::any_of(recorded.begin(), recorded.end(),
                                       [&](const auto& one) { return has_counts_of(one, group); });
    if (is_shared) part.cgroup.groups.push_back(group);
  }
  return part;
}

/// Of all CPUs, the cost on so many of them.
std::size_t share_of(std::size_t cost, std::size_t cpus, std::size_t online) {
  return (cost * cpus + online - 1) / online;
}

}  // namespace

bool can_be_recorded(const GroupPlan& group) {
  return !group.mode.pinned && !group.mode.exclusive && !group.needs_its_leader;
}

/// Of the same name, as another group may have another duty cycle.
bool has_counts_of(const GroupPlan& recorded, const GroupPlan& group) {
  const auto what = [](const GroupPlan& of) {
    return std::tie(of.name, of.pmu, of.mode, of.left_out_cpus);
  };
  return can_be_recorded(recorded) && what(recorded) == what(group) &&
         group.events.size() <= recorded.events.size() &&
         std::equal(group.events.begin(), group.events.end(), recorded.events.begin());
}

/// On each CPU that counts by records, the groups that are recorded once, with their leaders, and
/// nothing for those of scope cpu that are the same; for the ring, for a base without events, and
/// for its moves; one group for the check; the other groups for all cgroups. On the other CPUs, all
/// groups for all cgroups. On all of them, a ring for names.
CounterCost record_cost(const CountingPlan& plan, const MachineCpus& cpus, std::size_t by_records) {
  const CounterCost descriptors = descriptor_cost(plan, cpus);
  if (plan.cgroup.empty()) return descriptors;
  const CountingPlan in_records = part_of(plan, true);
  const CounterCost once = descriptor_cost(in_records, cpus);
  const CounterCost always = descriptor_cost(part_of(plan, false), cpus);
  constexpr std::size_t kRingBaseAndMoves = 3;
  const std::size_t online = std::max<std::size_t>(cpus.online.size(), 1);
  const std::size_t recorded = std::min(by_records, online);
  const std::size_t share = online - recorded;
  CounterCost cost = descriptors;
  cost.cpus -= share_of(descriptor_cost(shared_part_of(plan), cpus).cgroup, recorded, online);
  cost.cpus += share_of(once.cgroup, recorded, online) +
               (kRingBaseAndMoves + in_records.cgroup.groups.size() + events_of_check(in_records)) *
                   recorded;
  if (recorded > 0) cost.cpus += online;
  cost.cgroup =
      share_of(descriptors.cgroup, share, online) + share_of(always.cgroup, recorded, online);
  cost.cgroup_on_a_cpu = share == 0 ? always.cgroup_on_a_cpu : descriptors.cgroup_on_a_cpu;
  return cost;
}

}  // namespace pex::collect
