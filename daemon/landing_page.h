#pragma once

#include <string>

#include "collect/snapshot.h"
#include "daemon/plan.h"

namespace pex::daemon {

/// The page at "/": what this is, where the metrics are, what is counted and what is not and why.
/// `snapshot` is null before the first poll.
std::string landing_page(const Plan& plan, const collect::Snapshot* snapshot,
                         const std::string& telemetry_path);

}  // namespace pex::daemon
