#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "estimate/group_estimator.h"

namespace pex::collect {

/// Saturates, because a total that wraps would decrease.
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}
inline std::chrono::nanoseconds saturating_sum(std::chrono::nanoseconds a,
                                               std::chrono::nanoseconds b) {
  std::int64_t sum = 0;
  const bool overflows = __builtin_add_overflow(a.count(), b.count(), &sum);
  return overflows ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds{sum};
}

/// The totals of one event.
struct EventTotal {
  std::uint64_t value = 0;     ///< observed and extrapolated: the published value
  std::uint64_t observed = 0;  ///< events that were really counted
  double variance = 0;         ///< of value, events^2; infinite instead of a fall

  void add(const EventTotal& part);
};

inline void EventTotal::add(const EventTotal& part) {
  value = saturating_sum(value, part.value);
  observed = saturating_sum(observed, part.observed);
  variance += part.variance;
}

/// The totals of one group. Counts are scaled up to `enabled`, without `unmeasured`.
struct GroupTimes {
  std::chrono::nanoseconds enabled{};     ///< wanted the PMU (time_enabled)
  std::chrono::nanoseconds running{};     ///< had it (time_running)
  std::chrono::nanoseconds imputed{};     ///< did not have it, and was filled from history
  std::chrono::nanoseconds unmeasured{};  ///< did not have it, and is in no count
  double reference = 0;                   ///< events of the reference
  double reference_sampled = 0;           ///< those of them while it had the PMU

  void add(const GroupTimes& more);
};

inline void GroupTimes::add(const GroupTimes& more) {
  enabled = saturating_sum(enabled, more.enabled);
  running = saturating_sum(running, more.running);
  imputed = saturating_sum(imputed, more.imputed);
  unmeasured = saturating_sum(unmeasured, more.unmeasured);
  reference += more.reference;
  reference_sampled += more.reference_sampled;
}

/// Those of one interval.
inline EventTotal total_of(const estimate::EventIncrement& event) {
  return {saturating_sum(event.observed, event.extrapolated), event.observed, event.variance};
}
inline GroupTimes times_of(const estimate::GroupIncrement& group) {
  return {group.enabled,    group.running,   group.imputed,
          group.unmeasured, group.reference, group.reference_sampled};
}

}  // namespace pex::collect
