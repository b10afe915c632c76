#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "events/resolution.h"

namespace pex::events {

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

/// One, or on a hybrid machine one for each core PMU.
std::vector<Resolution> counted_by_core_pmus(const Machine& machine, const CoreEvent& event,
                                             std::string metric, std::string_view help);

}  // namespace pex::events
