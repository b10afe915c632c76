#include "collect/records/record_cost.h"

#include <algorithm>

#include "collect/descriptor_source.h"

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

}  // namespace

/// On each CPU that counts by records, the groups of scope cgroup once, with their leaders, for the
/// ring, and for a base without events; one group for the check. On the others, all cgroups.
CounterCost record_cost(const CountingPlan& plan, const MachineCpus& cpus, std::size_t by_records) {
  const CounterCost descriptors = descriptor_cost(plan, cpus);
  if (plan.cgroup.empty()) return descriptors;
  constexpr std::size_t kRingAndBase = 2;
  const std::size_t online = std::max<std::size_t>(cpus.online.size(), 1);
  const std::size_t recorded = std::min(by_records, online);
  const std::size_t share = online - recorded;
  CounterCost cost = descriptors;
  cost.cpus += (descriptors.cgroup * recorded + online - 1) / online +
               (kRingAndBase + plan.cgroup.groups.size() + events_of_check(plan)) * recorded;
  cost.cgroup = (descriptors.cgroup * share + online - 1) / online;
  cost.cgroup_on_a_cpu = share == 0 ? 0 : descriptors.cgroup_on_a_cpu;
  return cost;
}

}  // namespace pex::collect
