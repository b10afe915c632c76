#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cgroup/hierarchy.h"
#include "cgroup/use/uncounted_use.h"
#include "targets/targets.h"

namespace pex::daemon {

/// CPU time in none of these cgroups, for so long from now on; nothing if the kernel does not
/// report it. No counters are needed.
std::optional<cgroup::UncountedUse::Use> measure_uncounted(const cgroup::Hierarchy& hierarchy,
                                                           const collect::TargetSet& targets,
                                                           std::chrono::nanoseconds span);

/// "0.98 CPUs, 49.0 % of the CPU time of this machine"
std::string describe(const cgroup::UncountedUse::Rate& rate);

/// "0.98 CPUs, 49.0 %: /hog (no pattern of cgroups.include matches it; ...)"
std::string describe(const cgroup::UncountedUse::Part& part, const cgroup::Selection& selection);

}  // namespace pex::daemon
