#pragma once

#include <string>
#include <vector>

#include "collect/counting_plan.h"
#include "perf/counter_group.h"

namespace pex::plan {

/// What the kernel is asked for at each target: which counters, of which PMU, and how they share it
/// with others. Groups of two plans that have the same identity, scope and targets are counted by
/// the same counters, whatever they are called and whatever other groups there are.
struct GroupIdentity {
  std::string pmu;  ///< only on the CPUs of this PMU; empty: on all
  perf::GroupMode mode;
  std::vector<perf::CounterSpec> events;  ///< in the order in which they are opened

  bool operator==(const GroupIdentity&) const = default;
};

GroupIdentity identity_of(const collect::GroupPlan& group);

}  // namespace pex::plan
