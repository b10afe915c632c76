#pragma once

#include <string>
#include <vector>

#include "cgroup_times.h"
#include "replay.h"
#include "simulation.h"

namespace pex::bench {

/// What we hold ourselves to, one line for each that is missed.
std::vector<std::string> missed_targets(const std::vector<Cell>& cells,
                                        const std::vector<CgroupCell>& cgroups,
                                        const std::vector<Replay>& replays);

}  // namespace pex::bench
