#pragma once

#include <string>
#include <vector>

#include "cgroup_times.h"
#include "replay.h"
#include "simulation.h"

namespace pex::bench {

/// All tables, in Markdown.
std::string report(const std::vector<Cell>& cells, const std::vector<CgroupCell>& cgroups,
                   const std::vector<Replay>& replays);

/// RMS errors of lifetime, delta and ours for each workload, as an SVG picture.
std::string plot(const std::vector<Cell>& cells);

}  // namespace pex::bench
