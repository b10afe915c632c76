#pragma once

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

}  // namespace pex::events
