#pragma once

#include <string>
#include <vector>

#include "perf/counter_group.h"
#include "targets/counting_plan.h"

namespace pex::plan {

/// The kernel groups at each target: which counters, of which PMU, and how they share it. Groups of
/// two plans with the same identity, scope and targets are counted by the same counters, regardless
/// of their names and of other groups.
struct GroupIdentity {
  std::string pmu;  ///< only on the CPUs of this PMU; empty: on all
  perf::GroupMode mode;
  std::vector<perf::CounterSpec> events;  ///< in the order in which they are opened

  bool operator==(const GroupIdentity&) const = default;
};

inline GroupIdentity identity_of(const collect::GroupPlan& group) {
  return {group.pmu, group.mode, group.events};
}

}  // namespace pex::plan
