#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "records/switch_attribution.h"

namespace pex::collect {

// Why the cgroups of a CPU are not counted by records, or not completely.

/// `error` is what the kernel answered when the recording was opened.
Error records_refused(const Error& error, int cpu);
Error records_incomplete(const SwitchAttribution::Statistics& poll, int cpu);
Error records_lost(std::uint64_t lost, int cpu);
Error records_lost_often(const SwitchAttribution::Statistics& poll, int cpu);
Error tasks_move_often(const SwitchAttribution::Statistics& poll, int cpu);
/// So many cgroups, which had `time` on the CPU in all.
Error cgroups_never_named(std::uint64_t cgroups, std::chrono::nanoseconds time, int cpu);

}  // namespace pex::collect
