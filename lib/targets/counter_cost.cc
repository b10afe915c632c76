#include "targets/counter_cost.h"

#include <algorithm>

namespace pex::collect {
namespace {

std::size_t events_of(const ScopePlan& scope, const MachineCpus& cpus) {
  std::size_t events = 0;
  for (const GroupPlan& group : scope.groups) {
    events += group.events.size() * cpus.count_of(group.pmu, group.left_out_cpus);
  }
  return events;
}

/// The number on the CPU that has most of them: if PMUs divide the CPUs among them, none has all.
std::size_t most_events_on_a_cpu(const ScopePlan& scope, const MachineCpus& cpus) {
  std::size_t most = 0;
  for (const int cpu : cpus.online) {
    std::size_t events = 0;
    for (const GroupPlan& group : scope.groups) {
      if (cpus.counts_on(group.pmu, cpu)) events += group.events.size();
    }
    most = std::max(most, events);
  }
  return most;
}

}  // namespace

CounterCost descriptor_cost(const CountingPlan& plan, const MachineCpus& cpus) {
  CounterCost cost;
  cost.cpus = kOfflineEvents * cpus.online.size() + events_of(plan.cpu, cpus);
  if (plan.cgroup.empty()) return cost;
  cost.cgroup = events_of(plan.cgroup, cpus);
  cost.cgroup_on_a_cpu = most_events_on_a_cpu(plan.cgroup, cpus);
  return cost;
}

}  // namespace pex::collect
