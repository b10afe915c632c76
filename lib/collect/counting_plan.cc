#include "collect/counting_plan.h"

namespace pex::collect {

std::size_t events_in(const ScopePlan& groups) {
  std::size_t events = 0;
  for (const GroupPlan& group : groups) events += group.events.size();
  return events;
}

std::size_t series_in(const ScopePlan& groups) { return events_in(groups) + 2 * groups.size(); }

}  // namespace pex::collect
