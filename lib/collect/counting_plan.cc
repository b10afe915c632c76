#include "collect/counting_plan.h"

#include <set>

namespace pex::collect {

std::vector<std::string> pmus_of(const CountingPlan& plan) {
  std::set<std::string> pmus;
  for (const ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const GroupPlan& group : scope->groups) {
      if (!group.pmu.empty()) pmus.insert(group.pmu);
    }
  }
  return {pmus.begin(), pmus.end()};
}

}  // namespace pex::collect
