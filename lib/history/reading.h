#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collect/snapshot.h"

namespace pex::history {

/// The measures that cgroups and the host are compared by.
enum class Measure { kCpuTime, kCycles, kInstructions };
inline constexpr std::size_t kMeasures = 3;

/// Seconds that a group was enabled, and that it had the PMU.
struct PmuTime {
  double enabled = 0;
  double running = 0;
};
/// Of all groups of a scope. Groups that cannot lose the PMU have none.
using PmuTimes = std::vector<PmuTime>;

/// Totals of the host or of one cgroup at an instant, summed over its rows.
struct Reading {
  std::uint64_t series = 0;                             ///< identity of a cgroup's series
  std::array<std::optional<double>, kMeasures> totals;  ///< by Measure; nothing: not known
  PmuTimes pmu_times;
};

Reading read_host(const collect::Snapshot& snapshot);

/// In the order of the targets. A cgroup may have several rows, one for each CPU.
std::vector<Reading> read_cgroups(const collect::Snapshot& snapshot);

}  // namespace pex::history
