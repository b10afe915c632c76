#pragma once

#include <cstddef>
#include <optional>

#include "perf/counter_group.h"
#include "perf/event_resolver.h"
#include "perf/perf_kernel.h"
#include "perf/pmu.h"

namespace pex::perf {

/// How many events a core PMU can count at the same time, besides what others hold for good.
struct FreeCounters {
  std::size_t general = 0;         ///< for any event; at most kMostGeneralCounters
  std::size_t fixed = 0;           ///< beyond those, each for one event of its own, such as cycles
  CounterSpec general_event = {};  ///< that takes one of the general ones, as often as it is opened
};

/// No PMU is known to have more; bounds the trials.
inline constexpr std::size_t kMostGeneralCounters = 32;

/// Found by trial on `cpu`, which is one of `core`: larger and larger pinned groups, each closed at
/// once, until one has no place. Others that count without being pinned have to wait meanwhile,
/// some milliseconds. Nothing when no hardware event can be opened.
std::optional<FreeCounters> count_free_counters(PerfKernel& kernel, const EventResolver& resolver,
                                                const Pmu& core, int cpu);

}  // namespace pex::perf
