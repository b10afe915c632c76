#pragma once

#include <string>

#include "daemon/plan.h"

namespace pex::daemon {

/// The page at "/": what this is, where the metrics are, what is counted and what is not and why.
std::string landing_page(const Plan& plan, const std::string& telemetry_path);

}  // namespace pex::daemon
