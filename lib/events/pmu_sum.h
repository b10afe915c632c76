#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "events/resolution.h"

namespace pex::events {

/// PMUs of one family share the work of one kind, such as memory channels, and their counts are
/// added. The core PMUs of a hybrid machine are not a family.
std::string_view family_of(const Pmu& pmu);

/// The event on these PMUs (at least one): encodes the terms for each, and combines those of
/// one family to one event.
Resolved resolve_on(const Machine& machine, const std::vector<const Pmu*>& pmus,
                    const PmuEvent& event, TextOffset at);

/// "mem-loads", "PM_LD_MISS_L1": an event that core PMUs define themselves, on those that do;
/// nothing if none does.
std::optional<Resolved> resolve_on_core_pmus(const Machine& machine, const std::string& name,
                                             TextOffset at);

}  // namespace pex::events
