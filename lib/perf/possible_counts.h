#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/counter_group.h"

namespace pex::perf {

/// What a group cannot have counted in an interval: more events than a CPU can do, more misses than
/// references. A reading costs a few comparisons.
class PossibleCounts {
 public:
  PossibleCounts() = default;  ///< all counts are possible
  explicit PossibleCounts(std::span<const CounterSpec> events);

  bool contain(std::span<const std::uint64_t> counts, std::chrono::nanoseconds enabled) const;

 private:
  struct Limit {
    std::size_t event = 0;
    std::size_t other = 0;  ///< an event, or kTime
    std::uint64_t times = 1;
    std::uint64_t more = 0;
  };
  static constexpr std::size_t kTime = ~std::size_t{0};

  std::vector<Limit> limits_;
};

}  // namespace pex::perf
