#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/remedy.h"
#include "base/result.h"
#include "events/event_modifiers.h"
#include "events/event_resolver.h"
#include "events/event_spec.h"
#include "events/event_syntax.h"
#include "events/pmu.h"
#include "host/roots.h"

namespace pex::events {

/// An event on this machine, before its modifiers: everything except `identity.name`, which is the
/// spelling.
struct Resolution {
  EventSpec spec;
  ModifierSupport modifiers = ModifierSupport::kAll;
};
using Resolved = Result<std::vector<Resolution>, Unresolved>;

/// The machine as kinds of events see it: its files and PMUs.
struct Machine {
  const host::HostRoots& roots;
  const PmuCatalogue& pmus;
  bool is_hybrid() const { return pmus.core_pmus().size() > 1; }
  /// As EventInstance::pmu: the PMU whose list of CPUs is needed; empty if every CPU has it.
  std::string where_it_counts(const Pmu& pmu) const;
};

/// For an event that the kernel itself counts, on every CPU.
std::vector<Resolution> counted_by_kernel(std::string metric, std::string help,
                                          const perf::EventAttributes& attributes);

/// What no machine could resolve.
Unresolved invalid(TextOffset at, std::string what, Remedy remedy);
/// What this machine lacks.
Unresolved unavailable(TextOffset at, int code, std::string what, Remedy remedy);
/// Whether `word` differs in two letters at most from one of `known`. If in more, it may be the
/// name of an event that CPUs of another kind have.
bool is_misspelled(std::string_view word, const std::vector<std::string>& known);
/// "did you mean 'x'?" if a candidate is near `word`, else `otherwise`.
Remedy did_you_mean(std::string_view word, const std::vector<std::string>& known,
                    const Remedy& otherwise);

}  // namespace pex::events
