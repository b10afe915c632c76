#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "events/event_modifiers.h"
#include "events/event_resolver.h"
#include "events/event_spec.h"
#include "events/event_syntax.h"
#include "events/pmu.h"

namespace pex::events {

/// What an event becomes before its modifiers: all but `identity.name`, which is the spelling.
struct Draft {
  EventSpec spec;
  ModifierSupport modifiers = ModifierSupport::kAll;
};
using Drafts = Result<std::vector<Draft>, Unresolved>;

/// What is asked.
struct Machine {
  const host::HostRoots& roots;
  const PmuCatalogue& pmus;
  bool is_hybrid() const { return pmus.core_pmus().size() > 1; }
};

/// One for each kind of spelling; `at` is where the event begins, for errors.
Drafts draft(const Machine& machine, const NamedEvent& event, TextOffset at);
Drafts draft(const Machine& machine, const RawEvent& event, TextOffset at);
Drafts draft(const Machine& machine, const PmuEvent& event, TextOffset at);
Drafts draft(const Machine& machine, const Tracepoint& event, TextOffset at);
Drafts draft(const Machine& machine, const Breakpoint& event, TextOffset at);
Drafts draft(const Machine& machine, const Probe& event, TextOffset at);
Drafts draft(const Machine& machine, const VendorEvent& event, TextOffset at);

/// The same on just these PMUs, of which there is at least one.
Drafts draft_on(const Machine& machine, const std::vector<const Pmu*>& pmus, const PmuEvent& event,
                TextOffset at);

/// "cycles" of "cpu-cycles"; what is no name of the generic tables stays as it is.
std::string canonical_name(std::string_view name);

/// What each core PMU counts in its own way.
struct CoreEvent {
  std::uint32_t type = 0;  ///< PERF_TYPE_HARDWARE, _HW_CACHE or _RAW
  std::uint64_t config = 0;
};
/// Of a generic name; nothing for what is no name of the tables, or counted by the kernel itself.
std::optional<CoreEvent> find_core_event(std::string_view name);

/// What a core PMU of this machine takes for a generic or raw event. Each PMU of a hybrid x86 needs
/// its type in the upper half of config (PERF_PMU_TYPE_SHIFT); elsewhere the CPU decides.
perf::EventAttributes attributes_on(const Pmu& pmu, const CoreEvent& event);

/// A mistake of who wrote the event.
Unresolved mistake(TextOffset at, std::string what, std::string remedy);
/// Something that this machine lacks.
Unresolved not_here(TextOffset at, int code, std::string what, std::string remedy);
/// "did you mean 'x'?" when something is near `word`, else `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         const std::string& otherwise);

}  // namespace pex::events
