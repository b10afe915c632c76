#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

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

/// What one group has counted somewhere, or a part of it.
struct GroupSum {
  GroupTimes times;
  std::vector<EventTotal> totals;

  void add(const GroupSum& more) { add(more.times, more.totals); }
  void add(const GroupTimes& more, std::span<const EventTotal> of_events) {
    times.add(more);
    totals.resize(std::max(totals.size(), of_events.size()));
    for (std::size_t event = 0; event < of_events.size(); ++event) {
      totals[event].add(of_events[event]);
    }
  }
  /// None of its numbers is less than in `part`. Infinite variances leave nothing.
  void subtract(const GroupSum& part) {
    each_number(part, [](auto& number, const auto& of_part) {
      number = number == of_part ? std::decay_t<decltype(number)>{} : number - of_part;
    });
  }
  /// What it and `other` both may have: of each number the smaller one.
  GroupSum common_with(const GroupSum& other) const {
    GroupSum common = *this;
    common.totals.resize(std::min(totals.size(), other.totals.size()));
    common.each_number(
        other, [](auto& number, const auto& of_other) { number = std::min(number, of_other); });
    return common;
  }

 private:
  template <typename Step>
  void each_number(const GroupSum& other, Step step) {
    step(times.enabled, other.times.enabled);
    step(times.running, other.times.running);
    step(times.imputed, other.times.imputed);
    step(times.unmeasured, other.times.unmeasured);
    step(times.reference, other.times.reference);
    step(times.reference_sampled, other.times.reference_sampled);
    for (std::size_t event = 0; event < std::min(totals.size(), other.totals.size()); ++event) {
      step(totals[event].value, other.totals[event].value);
      step(totals[event].observed, other.totals[event].observed);
      step(totals[event].variance, other.totals[event].variance);
    }
  }
};

/// Those of one interval.
inline EventTotal total_of(const estimate::EventIncrement& event) {
  return {saturating_sum(event.observed, event.extrapolated), event.observed, event.variance};
}
inline GroupTimes times_of(const estimate::GroupIncrement& group) {
  return {group.enabled,    group.running,   group.imputed,
          group.unmeasured, group.reference, group.reference_sampled};
}

}  // namespace pex::collect
