#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "events/resolution.h"

namespace pex::events {

/// Events that each core PMU encodes differently.
struct CoreEvent {
  std::uint32_t type = 0;  ///< PERF_TYPE_HARDWARE, _HW_CACHE or _RAW
  std::uint64_t config = 0;
};

/// For a generic name; nothing for a name that is not in the tables, or counted by the kernel
/// itself.
std::optional<CoreEvent> find_core_event(std::string_view name);

/// The encoding of a generic or raw event for a core PMU of this machine. A raw event has the PMU's
/// type, as PERF_TYPE_RAW may be that of another PMU (cpum_sf of s390). Each PMU of a hybrid x86
/// needs its type in the upper half of config (PERF_PMU_TYPE_SHIFT); elsewhere the CPU decides.
perf::EventAttributes attributes_on(const Pmu& pmu, const CoreEvent& event);

/// Whether the CPU on which it is opened decides which PMU counts it. Without a CPU, in a task, the
/// kernel takes the first PMU that has it (perf_init_event(), kernel/events/core.c).
bool is_decided_by_cpu(const perf::EventAttributes& attributes);

/// One, or on a hybrid machine one for each core PMU.
std::vector<Resolution> counted_by_core_pmus(const Machine& machine, const CoreEvent& event,
                                             std::string metric, std::string_view help);

}  // namespace pex::events
