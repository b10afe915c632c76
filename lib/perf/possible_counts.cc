#include "perf/possible_counts.h"

#include "perf/truth_verdict.h"

namespace pex::perf {

PossibleCounts::PossibleCounts(std::span<const CounterSpec> events) {
  // Some kernels account time wrongly; a counter that jumps does so by 2^47 or 2^48.
  constexpr std::uint64_t kJump = std::uint64_t{1} << 40;
  constexpr std::uint64_t kOfOneCycle = 100'000;  // events of a group do not start at one instant
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventAttributes& event = events[i].attributes;
    const auto quantity = quantity_of(event);
    if (!quantity || *quantity > Quantity::kMisses) continue;
    limits_.push_back({i, kTime, kMaxCyclesPerNanosecond * kMaxInstructionsPerCycle, kJump});
    for (std::size_t j = 0; j < events.size(); ++j) {
      const EventAttributes& other = events[j].attributes;
      if (other.exclude_kernel != event.exclude_kernel ||
          other.exclude_user != event.exclude_user) {
        continue;
      }
      const bool is_pair = other.type == event.type && (other.config ^ event.config) == 1;
      if (is_pair && quantity == Quantity::kInstructions) {
        limits_.push_back({i, j, kMaxInstructionsPerCycle, kOfOneCycle});
      }
      if (is_pair && quantity == Quantity::kMisses) limits_.push_back({i, j, 2, most_misses(0)});
    }
  }
}

bool PossibleCounts::contain(std::span<const std::uint64_t> counts,
                             std::chrono::nanoseconds enabled) const {
  for (const auto& [event, other, times, more] : limits_) {
    const auto of = other == kTime ? static_cast<std::uint64_t>(enabled.count()) : counts[other];
    if (counts[event] > of * times + more) return false;
  }
  return true;
}

}  // namespace pex::perf
