#include "collect/budget.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "collect/cpu_presence.h"

namespace pex::collect {
namespace {

/// How many times `each` fits into what is left of `limit` after `used`.
std::size_t fits(std::size_t limit, std::size_t used, std::size_t each) {
  if (each == 0) return std::numeric_limits<std::size_t>::max();
  return limit <= used ? 0 : (limit - used) / each;
}

/// Calls `add(group, cpus)` for each group and the number of CPUs it is opened on.
template <typename Add>
void each_group(const ScopePlan& scope, const MachineCpus& cpus, Add add) {
  for (const GroupPlan& group : scope.groups) add(group, cpus.count_of(group.pmu));
}

}  // namespace

Need need_of(const CountingPlan& plan, const MachineCpus& cpus) {
  Need need;
  need.cpu_events = kPresenceEvents * cpus.online.size();
  each_group(plan.cpu, cpus, [&](const GroupPlan& group, std::size_t places) {
    need.cpu_events += group.events.size() * places;
    need.cpu_series += series_of_group(group, plan.evidence) * places;
  });
  for (const Column& column : plan.cpu.columns) {
    std::size_t rows = 0;  // PMUs that share the work do it in the same places, or each in its own
    for (const Column::Part& part : column.parts) {
      rows += cpus.count_of(plan.cpu.groups[part.group].pmu);
    }
    need.cpu_series +=
        std::min(rows, cpus.online.size()) * series_of_column(column, plan.cpu, plan.evidence);
  }
  for (const ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const Column& column : scope->columns) {  // its weight of the reference: one for all rows
      need.cpu_series += scope->groups[column.parts.front().group].witnesses.reference ? 1 : 0;
    }
  }
  each_group(plan.cgroup, cpus, [&](const GroupPlan& group, std::size_t places) {
    need.cgroup_events += group.events.size() * places;
    need.cgroup_series += series_of_group(group, plan.evidence);
  });
  for (const Column& column : plan.cgroup.columns) {
    need.cgroup_series += series_of_column(column, plan.cgroup, plan.evidence);
  }
  return need;
}

std::size_t series_room(const Budget& budget, const Need& need) {
  return fits(budget.max_series, need.cpu_series, need.cgroup_series);
}

Capacity cgroup_capacity(const Budget& budget, const Need& need) {
  // each cgroup is also held by one descriptor of its directory
  const std::size_t files = need.cgroup_events == 0 ? 0 : need.cgroup_events + 1;
  const Capacity bounds[] = {
      {budget.max_cgroups, kCgroupBounds[0]},
      {fits(budget.max_open_events, need.cpu_events, need.cgroup_events), kCgroupBounds[1]},
      {series_room(budget, need), kCgroupBounds[2]},
      {fits(budget.max_open_files, kReservedFiles + need.cpu_events, files), kCgroupBounds[3]},
  };
  return *std::min_element(std::begin(bounds), std::end(bounds),
                           [](const auto& a, const auto& b) { return a.cgroups < b.cgroups; });
}

Result<> check_cpu_groups(const Budget& budget, const Need& need) {
  struct Row {
    const char* what;
    std::size_t needed;
    std::size_t bound;
    const char* remedy;
  };
  const Row rows[] = {
      {"open events", need.cpu_events, budget.max_open_events,
       "raise limits.max_open_events, or count fewer events"},
      {"series", need.cpu_series, budget.max_series,
       "raise limits.max_series, or count fewer events"},
      {"open files", need.cpu_events + kReservedFiles, budget.max_open_files,
       "raise LimitNOFILE= in the unit, or count fewer events"},
  };
  for (const Row& row : rows) {
    if (row.needed <= row.bound) continue;
    return Error{0,
                 "the groups of the CPUs need " + std::to_string(row.needed) + " " + row.what +
                     ", and " + std::to_string(row.bound) + " are allowed",
                 row.remedy};
  }
  return {};
}

}  // namespace pex::collect
