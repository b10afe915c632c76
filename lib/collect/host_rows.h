#pragma once

#include <vector>

#include "collect/machine_cpus.h"
#include "collect/snapshot.h"

namespace pex::collect {

/// The parts of the machine that the CPUs in `counted`, which rise, are summed up in, by the
/// numbers of their places. A CPU whose place is not known is a part of its own.
HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   const std::vector<int>& counted);

}  // namespace pex::collect
