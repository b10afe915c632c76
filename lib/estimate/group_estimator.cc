#include "estimate/group_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/increase.h"
#include "estimate/ratio_estimator.h"

namespace pex::estimate {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kHalfRange = std::uint64_t{1} << 63;
constexpr double kHistoryWeight = 1.0 / 20;  // polls
constexpr double kClockTolerance = 0.001;    // of the time enabled
// How far a clock must be ahead of the kernel's time to prove that the kernel accounts to the wrong
// group. More than any kernel loses at switches between cgroups (1.5 % were seen on Linux 6.1), and
// more than some microseconds of a group that hardly ran.
constexpr double kProof = 0.03;                 // of the time enabled
constexpr double kProofInIntervals = 1.0 / 16;  // of the mux interval

nanoseconds sum(nanoseconds a, nanoseconds b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a.count(), b.count(), &result) ? nanoseconds::max()
                                                               : nanoseconds{result};
}

double ns(nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

struct GroupEstimator::Passed {
  nanoseconds enabled{};
  nanoseconds running{};
  double sampled = 0;
  double reference = 0;
  bool has_reference = false;
};

GroupEstimator::GroupEstimator(std::size_t events, nanoseconds mux_interval, bool keeps_history)
    : mux_interval_(mux_interval), events_(events), keeps_history_(keeps_history) {}

GroupIncrement GroupEstimator::advance(const Interval& interval, std::span<const EventModel> models,
                                       std::span<EventIncrement> increments,
                                       std::span<ModelUpdate> updates) {
  if (!keeps_history_) {
    if (const auto exact = count_exactly(interval, increments)) {
      note_totals(interval);
      return *exact;
    }
  }
  GroupIncrement increment;
  std::fill(increments.begin(), increments.end(), EventIncrement{});
  Passed passed = passed_in(interval, increment);
  note_totals(interval);
  increment.enabled = passed.enabled;
  if (interval.fell) {
    increment.anomaly = true;
    increment.unmeasured = passed.enabled;
    increment.mistimed = false;
    return increment;
  }
  increment.running = passed.running;
  increment.reference = passed.reference;
  increment.reference_sampled = passed.sampled;
  observe(interval, increments);

  cap_imputation(interval.is_stopped, passed, increment);
  open_.enabled += ns(passed.enabled);
  open_.running += ns(passed.running);
  open_.reference += passed.reference;
  open_.sampled += passed.sampled;
  open_has_reference_ =
      open_has_reference_ && (passed.has_reference || passed.enabled.count() == 0);
  const bool all_unmeasured = increment.unmeasured.count() > 0 && open_.enabled <= 0;
  if (all_unmeasured || !can_commit()) return increment;

  const bool exact = open_.running >= open_.enabled;
  if (exact) open_.reference = open_.sampled;  // not quite equal, as they are not read at once
  increment.coverage = exact ? Coverage::kComplete : Coverage::kScaled;
  for (std::size_t event = 0; event < events_.size(); ++event) {
    commit(events_[event], models[event], increments[event], updates[event]);
  }
  increment.imputed = pending_starved_;
  pending_starved_ = {};
  open_ = {};
  open_has_reference_ = true;
  return increment;
}

/// Nothing if it is more complicated: a total fell, an interval is open, or it was not running all
/// the time.
std::optional<GroupIncrement> GroupEstimator::count_exactly(
    const Interval& interval, std::span<EventIncrement> increments) const {
  const bool is_exact =
      interval.enabled == interval.running && !interval.fell && open_.enabled <= 0;
  if (!is_exact) return {};
  for (std::size_t event = 0; event < events_.size(); ++event) {
    increments[event] = {interval.counts[event], 0, 0};
  }
  GroupIncrement increment;
  increment.coverage = Coverage::kComplete;
  increment.enabled = increment.running = interval.enabled;
  return increment;
}

void GroupEstimator::observe(const Interval& interval, std::span<EventIncrement> increments) {
  for (std::size_t event = 0; event < events_.size(); ++event) {
    increments[event].observed = interval.counts[event];
    events_[event].pending += static_cast<double>(interval.counts[event]);
  }
}

void GroupEstimator::note_totals(const Interval& interval) {
  if (interval.clock_always) clock_always_ = *interval.clock_always;
  has_reference_ = interval.reference.has_value();
  if (interval.reference) reference_ = *interval.reference;
}

GroupEstimator::Passed GroupEstimator::passed_in(const Interval& interval,
                                                 GroupIncrement& increment) const {
  Passed passed;
  passed.enabled = interval.enabled;
  passed.running = std::min(interval.running, interval.enabled);
  check_running(interval, passed, increment);
  if (interval.reference && has_reference_) add_reference(*interval.reference, passed, increment);
  return passed;
}

/// A clock only misses time, so one that ran for much longer than the kernel's time of the group
/// proves that the kernel accounted the time to another group. One that ran for less proves
/// nothing: switches between cgroups cost it time. But on a kernel that is known to account
/// wrongly, the clock is right once the difference exceeds what switches cost the clock that is
/// always counted. (Where switches cost much, they are frequent, and then the kernel's times are
/// right on every kernel: each switch updates them.) A clock that stands still while events are
/// counted was never started.
void GroupEstimator::check_running(const Interval& interval, Passed& passed,
                                   GroupIncrement& increment) const {
  if (!interval.clock) return;
  const double own = ns(*interval.clock);
  const auto counted_any = [](std::span<const std::uint64_t> counts) {
    return std::any_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; });
  };
  if (own <= 0 && counted_any(interval.counts)) return;
  const double enabled = ns(passed.enabled);
  const std::optional<double> counted_always = clock_always_in(interval);
  const double always = counted_always.value_or(enabled);
  const double missed = enabled - always;  // by that clock, at switches
  const bool never_lost = always - own <= missed;
  const double by_clock = never_lost ? enabled : enabled * (own / always);

  const double ahead = own - ns(passed.running);
  const bool is_proof = ahead > kProof * enabled && ahead > kProofInIntervals * ns(mux_interval_);
  const bool is_wrong =
      interval.kernel_mistimes && counted_always &&
      std::abs(by_clock - ns(passed.running)) > missed + kClockTolerance * enabled;
  // Linux 6.1 accounts some microseconds of each wake-up as not running.
  const bool is_short = ahead > 0 && never_lost;
  if (!is_proof && !is_wrong && !is_short) return;
  passed.running = by_clock < enabled  // which is rounded, and may be beyond the range of a time
                       ? std::min(nanoseconds{static_cast<std::int64_t>(by_clock)}, passed.enabled)
                       : passed.enabled;
  increment.mistimed = is_proof || is_wrong;
}

/// The time of the clock that is always counted while the group was enabled. It was read a moment
/// earlier or later, which is corrected by its own time.
std::optional<double> GroupEstimator::clock_always_in(const Interval& interval) const {
  if (!interval.clock_always) return {};
  const auto none = nanoseconds{0};
  const ClockTotals& now = *interval.clock_always;
  const double counted = ns(increase(clock_always_.counted, now.counted).value_or(none));
  const double own_enabled = ns(increase(clock_always_.enabled, now.enabled).value_or(none));
  if (counted <= 0 || own_enabled <= 0) return {};
  return ns(interval.enabled) * std::min(1.0, counted / own_enabled);
}

/// The two readings of the reference lie a moment apart, which is corrected by their times.
void GroupEstimator::add_reference(const Reference& now, Passed& passed,
                                   GroupIncrement& increment) const {
  const auto more = increase(reference_.always, now.always);
  const auto enabled = increase(reference_.always_enabled, now.always_enabled);
  if (now.fell || !more || !enabled) {
    increment.anomaly = true;  // APERF restarts after a suspend; this interval has no reference
    return;
  }
  const double always_enabled = ns(*enabled);
  if (always_enabled <= 0) return;
  // The first interval of a group that was opened late would have earlier, unrelated activity.
  const bool is_lifetime =
      reference_.always_enabled.count() == 0 && always_enabled > 2 * ns(passed.enabled);
  if (is_lifetime) return;
  const double always = static_cast<double>(*more);
  passed.sampled = static_cast<double>(now.sampled);
  passed.reference = std::max(always * (ns(passed.enabled) / always_enabled), passed.sampled);
  passed.has_reference = true;
}

/// Time enabled without the PMU is added to the open interval only up to the cap.
void GroupEstimator::cap_imputation(bool is_stopped, Passed& passed, GroupIncrement& increment) {
  if (passed.running.count() > 0) starved_ = {};
  if (passed.running.count() > 0 || passed.enabled.count() == 0) return;
  if (is_stopped) {
    pending_starved_ = sum(pending_starved_, passed.enabled);
    return;
  }
  const nanoseconds left = std::max(nanoseconds{kMaxImputed} - starved_, nanoseconds{0});
  starved_ = std::min(starved_ + std::min(passed.enabled, nanoseconds{kMaxImputed}),
                      nanoseconds{kMaxImputed});
  const nanoseconds imputable = std::min(passed.enabled, left);
  increment.unmeasured = passed.enabled - imputable;
  const double part = ns(imputable) / ns(passed.enabled);
  passed.enabled = imputable;
  passed.sampled *= part;
  passed.reference *= part;
  pending_starved_ += imputable;
  if (imputable.count() == 0) increment.unmeasured = sum(increment.unmeasured, discard_open());
}

/// Ends an open interval that never got a history to be filled from.
nanoseconds GroupEstimator::discard_open() {
  const double missed = std::max(open_.enabled - open_.running, 0.0);
  pending_starved_ = {};
  open_ = {};
  open_has_reference_ = true;
  for (Event& event : events_) event.pending = 0;
  return missed < static_cast<double>(kHalfRange) ? nanoseconds{static_cast<std::int64_t>(missed)}
                                                  : nanoseconds::max();
}

/// False while there is no history of this target to fill the open interval from: other targets may
/// behave differently. A reference that is not seen in the windows for a minute may never be, so
/// then time is used.
bool GroupEstimator::can_commit() const {
  if (open_.enabled <= 0) return true;  // and nothing is to be filled
  const bool has_waited = open_.enabled - ns(pending_starved_) >= ns(kMaxImputed);
  const bool saw_activity = open_.running > 0 && (!open_has_reference_ || open_.sampled > 0 ||
                                                  open_.reference <= 0 || has_waited);
  const bool remembers = !events_.empty() && events_.front().history.running > 0;
  return saw_activity || remembers;
}

void GroupEstimator::commit(Event& event, const EventModel& model, EventIncrement& increment,
                            ModelUpdate& update) {
  Observed interval = open_;
  interval.events = std::exchange(event.pending, 0);
  if (interval.enabled <= 0) return;
  const Estimate result =
      estimate(interval, open_has_reference_, event.history, model, ns(mux_interval_));
  if (!open_has_reference_) {  // the expected value, so that the past stays comparable
    interval.sampled = model.reference_rate() * interval.running;
    interval.reference = model.reference_rate() * interval.enabled;
  }
  update.add(interval, open_has_reference_);
  if (result.size <= 0) return;

  const double carried =
      std::min(result.extrapolated + event.fraction, static_cast<double>(kHalfRange));
  increment.extrapolated = static_cast<std::uint64_t>(carried);
  event.fraction = carried - static_cast<double>(increment.extrapolated);
  increment.variance =
      successive_difference_variance(result, interval.events, event.last_rate, event.last_size);
  if (result.sampled_size <= 0) return;
  event.last_rate = (interval.events + result.extrapolated) / result.size;
  event.last_size = result.sampled_size;
  // A history in time only is not comparable once the reference is available.
  const bool is_first =
      event.history.running <= 0 || (open_has_reference_ && event.history.reference <= 0);
  event.history.follow(interval, is_first ? 1 : kHistoryWeight * result.information);
}

}  // namespace pex::estimate
