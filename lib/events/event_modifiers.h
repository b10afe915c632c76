#pragma once

#include <optional>
#include <string_view>

#include "events/event_spec.h"
#include "events/event_syntax.h"
#include "events/pmu.h"

namespace pex::events {

/// How the kernel treats the modifiers of an event.
enum class ModifierSupport {
  kAll,           ///< a core PMU honours them, or refuses them
  kCoreOfX86,     ///< a core PMU that ignores h and I (arch/x86/events/core.c, x86_pmu_hw_config)
  kUserKernel,    ///< counted by the kernel: u and k only (perf_exclude_event)
  kAlwaysKernel,  ///< the same, but it happens in the kernel only
  kTracepoint,    ///< the same, but it happens in the kernel: u counts nothing, or all of it for
                  ///< those of system calls, whose registers are the user's (perf_tp_event_match)
  kIgnored,       ///< counts everything, whatever the modifiers
  kWholePmu,      ///< cannot distinguish modes, and its driver refuses modifiers
};

/// The modifiers that affect a counter: none about samples or the group, and neither all three of
/// u, k, h nor both of H and G, which is the default.
Modifiers effective(Modifiers modifiers);

/// kAll becomes kCoreOfX86 if the core PMUs are those of an x86; nothing else changes.
ModifierSupport on_machine(const PmuCatalogue& pmus, ModifierSupport support);

/// Why the modifiers `effective` are unavailable, to follow the event's name; nothing if they are
/// available.
std::optional<std::string_view> refusal_of(const Modifiers& effective, ModifierSupport support);

/// Sets the flags of all instances, and extends the metric's name and its help.
void apply(const Modifiers& effective, EventSpec& spec);

}  // namespace pex::events
