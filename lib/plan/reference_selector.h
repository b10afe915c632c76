#pragma once

#include <span>

#include "plan/auxiliary_counters.h"
#include "plan/machine.h"

namespace pex::plan {

/// Unhalted cycles, by a register (arch/x86/events/msr.c): an event that joins any group.
inline constexpr const char* kFreeReference = "msr/aperf/";

/// The best reference that `groups` allow, found by trials on the probe CPUs:
///   - msr/aperf/, if it advances and joins hardware groups; it costs nothing
///   - cycles, if groups are multiplexed and counting it leaves them as much time on the PMU as
///     before; or, at any cost, in groups that requested a reference
///   - none
/// The cost of cycles is measured by up to three trials of half a second, which take counters from
/// other users. So a reload, in parallel to our own counters, does not try it: with `in_force`, the
/// reference of the previous plan, that one is kept if none is free.
Reference select_reference(std::span<const PlannedGroup> groups, const Machine& machine,
                           const Reference* in_force = nullptr);

}  // namespace pex::plan
