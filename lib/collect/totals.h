#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "estimate/group_estimator.h"

namespace pex::collect {

/// At its end a total stands still, as a wrap would be a fall.
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}
std::chrono::nanoseconds saturating_sum(std::chrono::nanoseconds a, std::chrono::nanoseconds b);

/// Of one event.
struct EventTotal {
  std::uint64_t value = 0;     ///< observed and extrapolated: what is published
  std::uint64_t observed = 0;  ///< events that were really counted
  double variance = 0;         ///< of value, events^2; infinite rather than a fall

  void add(const EventTotal& part);
};

inline void EventTotal::add(const EventTotal& part) {
  value = saturating_sum(value, part.value);
  observed = saturating_sum(observed, part.observed);
  variance += part.variance;
}

/// Of one group. `enabled` is what counts are scaled up to, but for `unmeasured`.
struct GroupTimes {
  std::chrono::nanoseconds enabled{};     ///< wanted the PMU
  std::chrono::nanoseconds running{};     ///< had it
  std::chrono::nanoseconds imputed{};     ///< did not have it, and was filled from history
  std::chrono::nanoseconds unmeasured{};  ///< did not have it, and is in no count
  double reference = 0;                   ///< events of the reference
  double reference_sampled = 0;           ///< those of them while it had the PMU

  void add(const GroupTimes& more);
};

/// What one group has counted at one target on one CPU since the exporter first opened it, across
/// all reopenings. Takes increments only, so nothing in it can fall.
class GroupTotals {
 public:
  /// Of a group that never loses the PMU all is observed, so that nothing is kept but the values
  /// (`is_estimated` false): a poll of many cgroups is as fast as their memory is small.
  explicit GroupTotals(std::size_t events, bool is_estimated = true)
      : values_(events), evidence_(is_estimated ? events : 0) {}

  /// `events`: one for each event of the group.
  void add(const estimate::GroupIncrement& group, std::span<const estimate::EventIncrement> events);

  /// The group wanted the PMU for `wanted` and did not have it: no value can be known of that time.
  void want_in_vain(std::chrono::nanoseconds wanted);

  /// What was enabled, and waited for a value that will not come.
  void give_up(std::chrono::nanoseconds open);

  std::size_t size() const { return values_.size(); }  ///< events
  EventTotal operator[](std::size_t event) const {
    if (evidence_.empty()) return {values_[event], values_[event], 0};
    return {values_[event], evidence_[event].observed, evidence_[event].variance};
  }
  const GroupTimes& times() const { return times_; }
  bool measured() const { return measured_; }  ///< has been read at least once
  bool counted() const { return counted_; }    ///< has had the PMU at least once
  bool wanted() const { return wanted_; }      ///< has wanted the PMU at least once

 private:
  struct Evidence {
    std::uint64_t observed = 0;
    double variance = 0;
  };
  std::vector<std::uint64_t> values_;
  std::vector<Evidence> evidence_;
  GroupTimes times_;
  bool measured_ = false;
  bool counted_ = false;
  bool wanted_ = false;
};

}  // namespace pex::collect
