#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

namespace pex {

/// What one series of scope cpu represents (the kernel's cputopology.rst): a part of the machine,
/// from the smallest to all of it.
enum class Aggregation { kCpu, kCore, kDie, kPackage, kNumaNode, kHost };

struct AggregationEntry {
  std::string_view word;  ///< in the configuration
  Aggregation aggregation;
  std::string_view help;  ///< in the HELP text of a metric
  /// What identifies one part: labels, and numbers of host::CpuPlace. Unused ones are empty. The
  /// number of a core is unique within its die (host::separate_cores()), that of a die within its
  /// package.
  std::array<std::string_view, 3> labels = {};
};
/// In the order of the enumerators.
inline constexpr AggregationEntry kAggregationEntries[] = {
    {"cpu", Aggregation::kCpu, "by CPU", {"cpu"}},
    {"core", Aggregation::kCore, "by core", {"package", "die", "core"}},
    {"die", Aggregation::kDie, "by die", {"package", "die"}},
    {"package", Aggregation::kPackage, "by package", {"package"}},
    {"numa_node", Aggregation::kNumaNode, "by NUMA node", {"numa_node"}},
    {"host", Aggregation::kHost, "over the whole host", {}},
};
inline constexpr std::size_t kAggregations = std::size(kAggregationEntries);

constexpr const AggregationEntry& entry_of(Aggregation aggregation) {
  return kAggregationEntries[static_cast<std::size_t>(aggregation)];
}

/// "cpu", "core", "die", "package", "numa_node", "host"
constexpr std::string_view name_of(Aggregation aggregation) { return entry_of(aggregation).word; }

/// The labels that distinguish its rows, in their order; none for the host.
constexpr std::span<const std::string_view> labels_of(Aggregation aggregation) {
  const auto& labels = entry_of(aggregation).labels;
  const auto end = std::find(labels.begin(), labels.end(), std::string_view());
  return {labels.data(), static_cast<std::size_t>(end - labels.begin())};
}

}  // namespace pex
