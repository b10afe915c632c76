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

}  // namespace

Capacity cgroup_capacity(const Budget& budget, std::size_t cpus) {
  const std::size_t cpu_events = (budget.cpu_events + kPresenceEvents) * cpus;
  const std::size_t per_cgroup = budget.cgroup_events * cpus;
  const Capacity bounds[] = {
      {budget.max_cgroups, "max"},
      {fits(budget.max_open_events, cpu_events, per_cgroup), "max_open_events"},
      {fits(budget.max_series, budget.cpu_series * cpus, budget.cgroup_series), "max_series"},
      // each cgroup is also held by one descriptor of its directory
      {fits(budget.max_open_files, kReservedFiles + cpu_events, per_cgroup + 1), "open_files"},
  };
  return *std::min_element(std::begin(bounds), std::end(bounds),
                           [](const auto& a, const auto& b) { return a.cgroups < b.cgroups; });
}

}  // namespace pex::collect
