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

std::size_t cpu_descriptors(const Budget& budget, std::size_t cpus) {
  return (budget.cpu_events + kPresenceEvents) * cpus;
}

}  // namespace

std::size_t series_room(const Budget& budget, std::size_t cpus) {
  return fits(budget.max_series, budget.cpu_series * cpus, budget.cgroup_series);
}

Capacity cgroup_capacity(const Budget& budget, std::size_t cpus) {
  const std::size_t on_cpus = cpu_descriptors(budget, cpus);
  const std::size_t per_cgroup = budget.cgroup_events * cpus;
  const Capacity bounds[] = {
      {budget.max_cgroups, kCgroupBounds[0]},
      {fits(budget.max_open_events, on_cpus, per_cgroup), kCgroupBounds[1]},
      {series_room(budget, cpus), kCgroupBounds[2]},
      // each cgroup is also held by one descriptor of its directory
      {fits(budget.max_open_files, kReservedFiles + on_cpus, per_cgroup + 1), kCgroupBounds[3]},
  };
  return *std::min_element(std::begin(bounds), std::end(bounds),
                           [](const auto& a, const auto& b) { return a.cgroups < b.cgroups; });
}

Result<> check_cpu_groups(const Budget& budget, std::size_t cpus) {
  struct Row {
    const char* what;
    std::size_t needed;
    std::size_t bound;
    const char* remedy;
  };
  const Row rows[] = {
      {"open events", cpu_descriptors(budget, cpus), budget.max_open_events,
       "raise limits.max_open_events, or count fewer events"},
      {"series", budget.cpu_series * cpus, budget.max_series,
       "raise limits.max_series, or count fewer events"},
      {"open files", cpu_descriptors(budget, cpus) + kReservedFiles, budget.max_open_files,
       "raise LimitNOFILE= in the unit, or count fewer events"},
  };
  for (const Row& row : rows) {
    if (row.needed <= row.bound) continue;
    return Error{0,
                 "the groups of " + std::to_string(cpus) + " CPUs need " +
                     std::to_string(row.needed) + " " + row.what + ", and " +
                     std::to_string(row.bound) + " are allowed",
                 row.remedy};
  }
  return {};
}

}  // namespace pex::collect
