#pragma once

#include <string_view>

#include "collect/snapshot.h"

namespace pex::daemon {

/// Why the exporter is not ready, for a client; empty if it is. `snapshot` is null before the first
/// poll. With `needs_events` it is not ready while no configured event is counted anywhere, unless
/// only cgroups are counted and there are none.
std::string_view why_not_ready(const collect::Snapshot* snapshot, bool needs_events);

}  // namespace pex::daemon
