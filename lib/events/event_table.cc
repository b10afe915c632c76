#include "events/event_table.h"

#include <linux/perf_event.h>

#include <array>
#include <cassert>

#include "base/lookup.h"

namespace pex::events {
namespace {

// Columns of the table; short, so that a row is a line. NOLINTBEGIN(readability-identifier-naming)
constexpr std::uint32_t HW = PERF_TYPE_HARDWARE;
constexpr std::uint32_t SW = PERF_TYPE_SOFTWARE;
constexpr Unit N = Unit::kEvents;
constexpr Unit NS = Unit::kSeconds;
constexpr auto ALL = ModifierSupport::kAll;
constexpr auto UK = ModifierSupport::kUserKernel;
constexpr auto NO = ModifierSupport::kIgnored;
constexpr auto KERNEL = ModifierSupport::kAlwaysKernel;
// NOLINTEND(readability-identifier-naming)

/// The clocks of a whole CPU also run while it is idle.
constexpr std::string_view kElapsed = "Elapsed time, including the time that the CPU is idle.";

// clang-format off
constexpr std::array kGeneric = {
    //       name                       alias                    type config                               metric                     unit modifiers help
    GenericEvent{"cycles",                  "cpu-cycles",              HW, PERF_COUNT_HW_CPU_CYCLES,              "cycles",                  N,  ALL,    "Core clock cycles while not halted."},
    GenericEvent{"instructions",            "",                        HW, PERF_COUNT_HW_INSTRUCTIONS,            "instructions",            N,  ALL,    "Instructions retired."},
    GenericEvent{"cache-references",        "",                        HW, PERF_COUNT_HW_CACHE_REFERENCES,        "cache_references",        N,  ALL,    "Accesses to a cache, usually of the last level."},
    GenericEvent{"cache-misses",            "",                        HW, PERF_COUNT_HW_CACHE_MISSES,            "cache_misses",            N,  ALL,    "Accesses that missed a cache, usually of the last level."},
    GenericEvent{"branches",                "branch-instructions",     HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,     "branches",                N,  ALL,    "Branch instructions retired."},
    GenericEvent{"branch-misses",           "",                        HW, PERF_COUNT_HW_BRANCH_MISSES,           "branch_misses",           N,  ALL,    "Branches that were mispredicted."},
    GenericEvent{"bus-cycles",              "",                        HW, PERF_COUNT_HW_BUS_CYCLES,              "bus_cycles",              N,  ALL,    "Bus cycles."},
    GenericEvent{"stalled-cycles-frontend", "idle-cycles-frontend",    HW, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "stalled_cycles_frontend", N,  ALL,    "Cycles in which no instruction could be fetched."},
    GenericEvent{"stalled-cycles-backend",  "idle-cycles-backend",     HW, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,  "stalled_cycles_backend",  N,  ALL,    "Cycles in which no instruction could be retired."},
    GenericEvent{"ref-cycles",              "",                        HW, PERF_COUNT_HW_REF_CPU_CYCLES,          "ref_cycles",              N,  ALL,    "Cycles of a clock that does not follow frequency changes."},
    GenericEvent{"cpu-clock",               "",                        SW, PERF_COUNT_SW_CPU_CLOCK,               "cpu_clock",               NS, NO,     "CPU time used by the tasks, by the CPU's high-resolution clock.", kElapsed},
    GenericEvent{"task-clock",              "",                        SW, PERF_COUNT_SW_TASK_CLOCK,              "task_clock",              NS, NO,     "CPU time used by the tasks.", kElapsed},
    GenericEvent{"page-faults",             "faults",                  SW, PERF_COUNT_SW_PAGE_FAULTS,             "page_faults",             N,  UK,     "Page faults, minor and major."},
    GenericEvent{"context-switches",        "cs",                      SW, PERF_COUNT_SW_CONTEXT_SWITCHES,        "context_switches",        N,  KERNEL, "Context switches, voluntary and forced."},
    GenericEvent{"cpu-migrations",          "migrations",              SW, PERF_COUNT_SW_CPU_MIGRATIONS,          "migrations",              N,  KERNEL, "Tasks that moved to another CPU."},
    GenericEvent{"minor-faults",            "",                        SW, PERF_COUNT_SW_PAGE_FAULTS_MIN,         "minor_faults",            N,  UK,     "Page faults served without I/O."},
    GenericEvent{"major-faults",            "",                        SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ,         "major_faults",            N,  UK,     "Page faults that had to wait for I/O."},
    GenericEvent{"alignment-faults",        "",                        SW, PERF_COUNT_SW_ALIGNMENT_FAULTS,        "alignment_faults",        N,  UK,     "Unaligned accesses that the kernel had to fix up."},
    GenericEvent{"emulation-faults",        "",                        SW, PERF_COUNT_SW_EMULATION_FAULTS,        "emulation_faults",        N,  UK,     "Instructions that the kernel had to emulate."},
    GenericEvent{"dummy",                   "",                        SW, PERF_COUNT_SW_DUMMY,                   "dummy",                   N,  NO,     "Nothing; a placeholder that never counts."},
    GenericEvent{"bpf-output",              "",                        SW, PERF_COUNT_SW_BPF_OUTPUT,              "bpf_output",              N,  NO,     "Nothing; BPF programs write records to it, which are not counted."},
    GenericEvent{"cgroup-switches",         "",                        SW, PERF_COUNT_SW_CGROUP_SWITCHES,         "cgroup_switches",         N,  KERNEL, "Context switches between tasks of different cgroups."},
};

struct Cache {
  std::string_view name;
  std::uint64_t id;
  std::string_view title;
  bool writes;      ///< perf list has its stores
  bool prefetches;  ///< perf list has its prefetches
};
/// Which operations exist: tools/perf/util/evsel.c, evsel__hw_cache_stat.
constexpr std::array kCaches = {
    Cache{"L1-dcache", PERF_COUNT_HW_CACHE_L1D,  "level 1 data cache",                    true,  true},
    Cache{"L1-icache", PERF_COUNT_HW_CACHE_L1I,  "level 1 instruction cache",             false, true},
    Cache{"LLC",       PERF_COUNT_HW_CACHE_LL,   "last level cache",                      true,  true},
    Cache{"dTLB",      PERF_COUNT_HW_CACHE_DTLB, "data translation lookaside buffer",     true,  true},
    Cache{"iTLB",      PERF_COUNT_HW_CACHE_ITLB, "instruction translation lookaside buffer", false, false},
    Cache{"branch",    PERF_COUNT_HW_CACHE_BPU,  "branch prediction unit",                false, false},
    Cache{"node",      PERF_COUNT_HW_CACHE_NODE, "local memory node",                     true,  true},
};

struct Operation {
  std::string_view accesses;  ///< suffix for all accesses
  std::string_view misses;    ///< suffix for misses
  std::uint64_t op;
  std::string_view title;
};
constexpr std::array kOperations = {
    Operation{"-loads",      "-load-misses",     PERF_COUNT_HW_CACHE_OP_READ,     "Loads"},
    Operation{"-stores",     "-store-misses",    PERF_COUNT_HW_CACHE_OP_WRITE,    "Stores"},
    Operation{"-prefetches", "-prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, "Prefetches"},
};
// clang-format on

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < kGeneric.size(); ++i) {
    for (std::size_t j = i + 1; j < kGeneric.size(); ++j) {
      if (kGeneric[i].name == kGeneric[j].name || kGeneric[i].metric == kGeneric[j].metric) {
        return false;
      }
    }
  }
  return true;
}
static_assert(names_are_unique(), "two events share a name");

bool exists(const Cache& cache, const Operation& operation) {
  if (operation.op == PERF_COUNT_HW_CACHE_OP_WRITE) return cache.writes;
  if (operation.op == PERF_COUNT_HW_CACHE_OP_PREFETCH) return cache.prefetches;
  return true;
}

CacheEvent cache_event(const Cache& cache, const Operation& operation, bool misses) {
  const std::uint64_t result =
      misses ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
  return {std::string(cache.name) + std::string(misses ? operation.misses : operation.accesses),
          cache.id | operation.op << 8 | result << 16,
          std::string(operation.title) + (misses ? " that missed the " : " of the ") +
              std::string(cache.title) + "."};
}

std::vector<CacheEvent> make_cache_events() {
  std::vector<CacheEvent> events;
  for (const Cache& cache : kCaches) {
    for (const Operation& operation : kOperations) {
      if (!exists(cache, operation)) continue;
      events.push_back(cache_event(cache, operation, false));
      events.push_back(cache_event(cache, operation, true));
    }
  }
  return events;
}

}  // namespace

std::span<const GenericEvent> generic_events() { return kGeneric; }

const GenericEvent* find_generic_event(std::string_view name) {
  const GenericEvent* named = lookup(kGeneric, &GenericEvent::name, name);
  const bool can_be_alias = !name.empty();  // most have none
  return named == nullptr && can_be_alias ? lookup(kGeneric, &GenericEvent::alias, name) : named;
}

perf::CounterSpec generic_counter(std::string_view name) {
  const GenericEvent* event = lookup(kGeneric, &GenericEvent::name, name);
  assert(event != nullptr);
  return {std::string(name), {event->type, event->config}};
}

const std::vector<CacheEvent>& cache_events() {
  static const std::vector<CacheEvent> events = make_cache_events();
  return events;
}

const CacheEvent* find_cache_event(std::string_view name) {
  return lookup(cache_events(), &CacheEvent::name, name);
}

bool is_table_name(std::string_view word) {
  return find_generic_event(word) != nullptr || find_cache_event(word) != nullptr;
}

}  // namespace pex::events
