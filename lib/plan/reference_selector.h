#pragma once

#include <span>

#include "plan/auxiliary_counters.h"
#include "plan/machine.h"

namespace pex::plan {

/// Unhalted cycles, by a register (arch/x86/events/msr.c): an event that joins any group.
inline constexpr const char* kFreeReference = "msr/aperf/";

/// The best reference that `groups` allow, found by trial on the CPUs where events are tried:
///   - msr/aperf/, where it moves and joins hardware groups; it costs nothing
///   - cycles, when groups do take turns and counting it leaves them as much time on the PMU as
///     before; or, whatever it costs, in groups that asked for a reference
///   - none
/// Finding the price of cycles takes up to three trials of half a second, and counters from whoever
/// counts meanwhile. So a reload, beside counters of our own, tries it not at all: with `in_force`,
/// the reference of the plan before, that is kept where none is free.
Reference select_reference(std::span<const PlannedGroup> groups, const Machine& machine,
                           const Reference* in_force = nullptr);

}  // namespace pex::plan
