#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "estimate/group_estimator.h"

namespace pex::collect {

/// At its maximum a total stands still, as a wrap would be a fall.
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}
std::chrono::nanoseconds saturating_sum(std::chrono::nanoseconds a, std::chrono::nanoseconds b);

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

/// The totals of one group at its targets on one CPU since the exporter first opened it there,
/// across all reopenings. Takes increments only, so nothing in it can fall. Flat, so that a copy of
/// it all is a copy of a few arrays.
class GroupTotals {
 public:
  /// For a group that never loses the PMU everything is observed, so that only the values are kept
  /// (`is_estimated` false) until it turns out to lack something: a poll of many cgroups is as fast
  /// as their memory is small.
  explicit GroupTotals(std::size_t events, bool is_estimated = true, std::size_t targets = 0);

  /// The first targets stay, as many as there are now; new ones are at 0.
  void resize(std::size_t targets);
  /// Back to 0.
  void reset(std::size_t target);

  /// `events`: one for each event of the group.
  void add(std::size_t target, const estimate::GroupIncrement& group,
           std::span<const estimate::EventIncrement> events);

  /// For a group that never loses the PMU: it had it all the time, so these events are complete.
  void add_exact(std::size_t target, std::chrono::nanoseconds enabled,
                 std::span<const std::uint64_t> events);

  /// The group was enabled without the PMU for `wanted`: that time has no value.
  void add_unmeasured(std::size_t target, std::chrono::nanoseconds wanted);

  /// The target may have run for this time, and nothing was counted.
  void add_lost(std::size_t target, std::chrono::nanoseconds time);

  /// Accounts time enabled in an interval that will never get a value.
  void discard_pending(std::size_t target, std::chrono::nanoseconds open);

  /// Makes one target equal to that of `other`, which has as many targets and events.
  void copy(const GroupTotals& other, std::size_t target);

  /// `target` is added to soon: its memory is loaded meanwhile.
  void prefetch(std::size_t target) const {
    __builtin_prefetch(values_.data() + target * events_, 1);
    __builtin_prefetch(times_.data() + target, 1);
    if (is_estimated_) __builtin_prefetch(evidence_.data() + target * events_, 1);
  }

  std::size_t events() const { return events_; }
  std::size_t targets() const { return times_.size(); }
  /// It can lose the PMU, or has turned out not to have observed everything at some target.
  bool is_estimated() const { return is_estimated_; }
  EventTotal total(std::size_t target, std::size_t event) const {
    const std::size_t at = target * events_ + event;
    if (!is_estimated_) return {values_[at], values_[at], 0};
    return {values_[at], evidence_[at].observed, evidence_[at].variance};
  }
  const GroupTimes& times(std::size_t target) const { return times_[target]; }
  /// Has been read at least once; has had the PMU; has wanted it.
  bool measured(std::size_t target) const { return seen_[target].measured; }
  bool counted(std::size_t target) const { return seen_[target].counted; }
  bool wanted(std::size_t target) const { return seen_[target].wanted; }

 private:
  struct Evidence {
    std::uint64_t observed = 0;
    double variance = 0;
  };
  void keep_evidence();

  struct Seen {
    bool measured = false;
    bool counted = false;
    bool wanted = false;
  };
  std::size_t events_;
  bool is_estimated_;
  std::vector<std::uint64_t> values_;  ///< [target * events + event]
  std::vector<Evidence> evidence_;     ///< [target * events + event]; empty if not is_estimated_
  std::vector<GroupTimes> times_;
  std::vector<Seen> seen_;
};

/// Identifies the totals of one CPU at the end of a poll: equal stamps, equal totals.
struct TotalsStamp {
  std::uint64_t arrangement = 0;  ///< PollCycle::arrangement(); 0: nothing is known of them
  std::uint64_t polls = 0;        ///< PollCycle::polls()

  bool is_known() const { return arrangement != 0; }
  /// These are the totals of `before`, or those of the next poll, of the same targets.
  bool follows(const TotalsStamp& before) const {
    return before.is_known() && arrangement == before.arrangement && polls - before.polls <= 1;
  }
  bool operator==(const TotalsStamp&) const = default;
};

/// The totals of one target.
class TotalsOfTarget {
 public:
  /// `all` outlives it.
  TotalsOfTarget(const GroupTotals& all, std::size_t target) : all_(&all), target_(target) {}

  std::size_t size() const { return all_->events(); }
  EventTotal operator[](std::size_t event) const { return all_->total(target_, event); }
  const GroupTimes& times() const { return all_->times(target_); }
  bool measured() const { return all_->measured(target_); }
  bool counted() const { return all_->counted(target_); }
  bool wanted() const { return all_->wanted(target_); }

 private:
  const GroupTotals* all_;
  std::size_t target_;
};

}  // namespace pex::collect
