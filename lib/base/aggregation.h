#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace pex {

/// What one series of scope cpu stands for (the kernel's cputopology.rst): a part of the machine,
/// from the smallest to all of it.
enum class Aggregation { kCpu, kCore, kDie, kPackage, kNode, kHost };

struct AggregationEntry {
  std::string_view word;  ///< in the configuration
  Aggregation aggregation;
};
/// In the order of the enumerators.
inline constexpr AggregationEntry kAggregationEntries[] = {
    {"cpu", Aggregation::kCpu},         {"core", Aggregation::kCore}, {"die", Aggregation::kDie},
    {"package", Aggregation::kPackage}, {"node", Aggregation::kNode}, {"host", Aggregation::kHost},
};
inline constexpr std::size_t kAggregations = std::size(kAggregationEntries);

/// "cpu", "core", "die", "package", "node", "host"
constexpr std::string_view name_of(Aggregation aggregation) {
  return kAggregationEntries[static_cast<std::size_t>(aggregation)].word;
}

}  // namespace pex
