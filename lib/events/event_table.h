#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "events/event_modifiers.h"
#include "perf/counter_group.h"

namespace pex::events {

/// One event of the kernel's generic table (include/uapi/linux/perf_event.h).
struct GenericEvent {
  std::string_view name;   ///< as `perf list` spells it
  std::string_view alias;  ///< its other spelling there, or empty
  std::uint32_t type;      ///< PERF_TYPE_*
  std::uint64_t config;
  std::string_view metric;  ///< name of the metric, without scope, unit and _total
  Unit unit;                ///< kSeconds: a clock, which the kernel counts in nanoseconds
  ModifierSupport modifiers;
  std::string_view help;  ///< one sentence with its full stop
  /// Of scope cpu, if the event means something else there; else empty.
  std::string_view cpu_help = {};
};

/// The generic hardware and the software events.
std::span<const GenericEvent> generic_events();

/// By its name or alias; null if the table does not have it.
const GenericEvent* find_generic_event(std::string_view name);

/// The attributes of the generic event `name`, which must be in the table.
perf::CounterSpec generic_counter(std::string_view name);

/// A combination of cache, operation and result in `perf list`.
struct CacheEvent {
  std::string name;      ///< "L1-dcache-load-misses"
  std::uint64_t config;  ///< id | op << 8 | result << 16 (perf_event_open(2), PERF_TYPE_HW_CACHE)
  std::string help;
};

/// All of them, made from three tables: caches, operations, results.
const std::vector<CacheEvent>& cache_events();

/// Null if it is not one.
const CacheEvent* find_cache_event(std::string_view name);

/// True for names and aliases of generic events, and names of cache events.
bool is_table_name(std::string_view word);

}  // namespace pex::events
