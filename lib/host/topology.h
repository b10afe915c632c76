#pragma once

#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// The CPUs that run tasks now, in rising order; at least one. Changes when a CPU is hotplugged,
/// and the events of a CPU that went away never count again, so it is read at each poll.
Result<std::vector<int>> online_cpus(const HostRoots& roots);

}  // namespace pex::host
