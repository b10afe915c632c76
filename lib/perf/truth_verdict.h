#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "perf/known_work.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// What an event counts, if a number of it can be known.
enum class Quantity {
  kInstructions,
  kBranches,
  kCycles,
  kReferences,  ///< to a cache: only more than the misses
  kMisses,      ///< of a cache or of branches: no more than the references
  kPageFaults,
  kContextSwitches,
  kMigrations,
  kTaskTime,
  kClock,  ///< the same of a CPU; of a task, some kernels do not count it (plan/clock_trial.h)
};
/// On a hybrid machine, config has the type of the PMU in its upper half (PERF_PMU_TYPE_SHIFT).
inline constexpr std::uint64_t kEventOfConfig = 0xffffffff;
/// Nothing for an event whose number is not known, or that counts nothing in user mode of the host.
std::optional<Quantity> quantity_of(const EventAttributes& event);

/// Whether an event counts what happens.
enum class Truth {
  kUnknown,  ///< it was not counted long enough
  kTrue,
  kStuck,
  kTooSmall,
  kOffByFactor,
  kErratic,
  kJumps,  ///< far more than a CPU can do
  kMovesWhileIdle,
  kCountsOtherCpus,
  kAboveReferences,
};
/// "off_by_factor": as a label; empty for kUnknown and kTrue.
std::string_view name_of(Truth truth);
constexpr bool is_lie(Truth truth) { return truth > Truth::kTrue; }

/// One reading of an event around known work.
struct Observation {
  enum class While { kWorking, kIdle, kOthersWork };
  While when = While::kWorking;
  Bounds known;
  std::uint64_t counted = 0;
};

/// Between the bounds, with a margin for what happens around the work.
bool is_right(const Observation& one);

struct Verdict {
  Truth truth = Truth::kUnknown;
  std::string evidence = {};  ///< of a lie: "it counted 395 of 400000 (too_small)"
};

/// How often an event must be wrong to be accused: each time.
inline constexpr std::size_t kRepetitions = 4;

/// An event is true if it was right once in each situation that it was observed in: interrupts,
/// other tasks and migrations of a virtual machine disturb single readings.
Verdict judge(Quantity quantity, std::span<const Observation> observations);

/// The most that a CPU can do: eight cycles each nanosecond, and 16 instructions in each cycle. No
/// CPU comes near either.
inline constexpr std::uint64_t kMaxCyclesPerNanosecond = 8;
inline constexpr std::uint64_t kMaxInstructionsPerCycle = 16;

/// More misses than these are none. Counters of some CPUs include speculation and prefetches, and a
/// group is not started and stopped at one instant.
constexpr std::uint64_t most_misses(std::uint64_t references) { return 2 * references + 10'000; }

}  // namespace pex::perf
