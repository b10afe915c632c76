#pragma once

#include <vector>

#include "comparison.h"

namespace pex::bench {

/// Groups of a cgroup on one CPU, with the PMU for one group at a time; an event that comes at a
/// constant rate while the cgroup has the CPU. Every error is one of the times. Every load, on
/// kernels that account times rightly and wrongly, for a group that is alone and for one of three.
std::vector<Case> simulate_cgroup_times();

}  // namespace pex::bench
