#pragma once

#include <string>

#include "perf/event_spec.h"

namespace pex::exposition {

/// Whose counts a family holds. Host-wide and per-cgroup counts never share a family: they are the
/// same events, and would be summed twice.
enum class Scope { kCpu, kCgroup };

/// "perf_cpu_task_clock_seconds_total": scope, event, base unit, total.
std::string family_name(Scope scope, const perf::EventSpec& event);

/// What stands after "# HELP name ".
std::string family_help(Scope scope, const perf::EventSpec& event);

}  // namespace pex::exposition
