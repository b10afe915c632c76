#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "events/event_resolver.h"
#include "events/pmu.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::plan {

/// How many events a core PMU can count at the same time, without the counters others hold
/// permanently.
struct FreeCounters {
  std::size_t general = 0;  ///< for any event; at most kMaxGeneralCounters
  std::size_t fixed = 0;    ///< beyond those, each for one event only, such as cycles
  perf::CounterSpec general_event =
      {};  ///< that takes one of the general ones, as often as it is opened
};

/// Above the number of counters of any known PMU; bounds the trials.
inline constexpr std::size_t kMaxGeneralCounters = 32;

/// Found by trial on `cpu`, one of the CPUs of `core`: opens larger and larger pinned groups, each
/// closed at once, until one does not fit. Unpinned events of others wait meanwhile, for some
/// milliseconds. Nothing if no hardware event can be opened.
std::optional<FreeCounters> count_free_counters(perf::PerfKernel& kernel,
                                                const events::EventResolver& resolver,
                                                const events::Pmu& core, int cpu);

/// Of each core PMU on which hardware events can be counted, by its name; on a CPU that is not left
/// out.
std::map<std::string, FreeCounters> count_free_counters(perf::PerfKernel& kernel,
                                                        const host::HostRoots& roots,
                                                        const std::vector<int>& left_out_cpus);

}  // namespace pex::plan
