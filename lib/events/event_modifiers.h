#pragma once

#include <optional>
#include <string_view>

#include "events/event_spec.h"
#include "events/event_syntax.h"
#include "events/pmu.h"

namespace pex::events {

/// What the kernel does with the modifiers of an event.
enum class ModifierSupport {
  kAll,           ///< a core PMU honours them, or refuses those that it cannot
  kCoreOfX86,     ///< a core PMU that ignores h and I (arch/x86/events/core.c, x86_pmu_hw_config)
  kUserKernel,    ///< what the kernel counts itself: u and k only (perf_exclude_event)
  kAlwaysKernel,  ///< the same, but it happens in the kernel alone
  kIgnored,       ///< counts everything, whatever they say
  kWholePmu,      ///< cannot tell modes apart, and its driver refuses to try
};

/// Those that make a difference to a counter: nothing about samples or about the group, and neither
/// all three of u, k, h nor both of H and G, which is what counts without them.
Modifiers effective(Modifiers modifiers);

/// kAll becomes kCoreOfX86 where the core PMUs are those of an x86; nothing else changes.
ModifierSupport on_machine(const PmuCatalogue& pmus, ModifierSupport support);

/// Why `effective` ones cannot be had, to follow the event's name; nothing when they can.
std::optional<std::string_view> refusal_of(const Modifiers& effective, ModifierSupport support);

/// Sets the flags of all instances, and adds to the metric's name and its help.
void apply(const Modifiers& effective, EventSpec& spec);

}  // namespace pex::events
