#pragma once

#include <cstddef>

#include "targets/budget.h"
#include "targets/counting_plan.h"
#include "targets/machine_cpus.h"

namespace pex::collect {

/// Pinned and exclusive groups take a descriptor for each cgroup, also where others are recorded,
/// and so do those that need their own leader: a recorded group is led by the switches.
bool can_be_recorded(const GroupPlan& group);

/// Whether a record of `recorded`, a group of scope cgroup, has the counts of `group`: it is the
/// same group, or that of scope cpu, which lacks auxiliary events of the former.
bool has_counts_of(const GroupPlan& recorded, const GroupPlan& group);

/// The cost on a machine of which so many CPUs count cgroups by records, and the others by
/// descriptors.
CounterCost record_cost(const CountingPlan& plan, const MachineCpus& cpus, std::size_t by_records);

}  // namespace pex::collect
