#include "count/estimation.h"

#include <algorithm>

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// A group that never shares the PMU needs no history.
estimate::GroupEstimator blank_estimator(const GroupPlan& plan) {
  return estimate::GroupEstimator{plan.estimated(), plan.mux_interval, plan.shares_pmu};
}

}  // namespace

estimate::Interval interval_of(const perf::GroupInterval& since, const GroupPlan& plan,
                               const AlwaysOn& always_on) {
  const auto is_counted = [&](std::optional<std::size_t> member) {
    return member && *member < since.counts.size() && !since.unreadable.test(*member);
  };
  estimate::Interval interval;
  interval.enabled = since.enabled;
  interval.running = since.running;
  interval.counts = std::span(since.counts).first(plan.estimated());
  interval.fell = since.time_fell;
  for (std::size_t event = 0; event < plan.estimated() && since.fell.any(); ++event) {
    interval.fell = interval.fell || since.fell.test(event);
  }
  const std::optional<std::size_t> clock = plan.auxiliary.clock;
  if (is_counted(clock) && !since.fell.test(*clock)) {
    interval.clock = nanoseconds{since.counts[*clock]};
  }
  if (always_on.clock) interval.clock_always = {always_on.clock_counted, *always_on.clock};
  const std::optional<std::size_t> reference = plan.auxiliary.reference;
  if (is_counted(reference) && always_on.reference) {
    interval.reference = {since.counts[*reference], always_on.reference->total,
                          always_on.reference->enabled, since.fell.test(*reference)};
  }
  return interval;
}

// --- targets ------------------------------------------------------------------------------------

void Estimation::use(const GroupPlan& plan) {
  plan_ = &plan;
  const std::span<const perf::CounterSpec> events = std::span(plan.events).first(plan.estimated());
  possible_ = plan.refuses_impossible ? perf::PossibleCounts{events} : perf::PossibleCounts{};
}

void Estimation::resize(std::size_t targets) {
  fit(known_, targets);
  absence_.resize(targets);
  changed_.resize(targets);
  kept_.resize(targets);
  if (plan_->can_lose_pmu()) {
    fit(shared_, targets);
    fit(estimators_, targets, blank_estimator(*plan_));
  }
  if (!inexact_.empty()) fit(inexact_, targets);
}

void Estimation::forget(std::size_t target) {
  known_[target] = {};
  absence_.forget(target);
  changed_.remove(target);
  kept_.forget(target);
  if (plan_->can_lose_pmu()) {
    shared_[target] = {};
    estimators_[target] = blank_estimator(*plan_);
  }
  if (!inexact_.empty()) inexact_[target].reset();
}

void Estimation::begin(std::size_t target) {
  if (!plan_->can_lose_pmu()) return;
  shared_[target].wanted = {};
  shared_[target].starved_polls = 0;
}

void Estimation::end(std::size_t target) {
  if (estimate::GroupEstimator* const estimator = find_estimator(target)) {
    const nanoseconds open = estimator->discard_open();
    if (open.count() > 0) add_times(target, {.unmeasured = open});
  }
  known_[target].was_on_pmu = false;
  changed_.add(target);
}

estimate::GroupEstimator* Estimation::find_estimator(std::size_t target) {
  if (plan_->can_lose_pmu()) return &estimators_[target];
  return inexact_.empty() ? nullptr : inexact_[target].get();
}

/// That of a group that cannot lose the PMU is created when it is needed.
estimate::GroupEstimator& Estimation::estimator(std::size_t target) {
  if (estimate::GroupEstimator* const made = find_estimator(target)) return *made;
  inexact_.resize(known_.size());
  inexact_[target] = std::make_unique<estimate::GroupEstimator>(blank_estimator(*plan_));
  return *inexact_[target];
}

// --- intervals ----------------------------------------------------------------------------------

Estimation::Faults Estimation::add(std::size_t target, const perf::GroupInterval& since,
                                   const AlwaysOn& always_on, Held held, const Learning& learning) {
  if (plan_->mode.pinned) {
    add_unmeasured(target, shared_[target].wanted.regained(since.enabled, always_on.clock));
  }
  const bool is_exact = find_estimator(target) == nullptr && since.running == since.enabled &&
                        !since.time_fell && since.fell.none();
  if (!is_exact) return add_estimate(target, since, always_on, held, learning);
  add_exactly(target, since);
  return {};
}

/// Of a group that never loses the PMU, without an estimator.
void Estimation::add_exactly(std::size_t target, const perf::GroupInterval& since) {
  Known& known = known_[target];
  if (!known.measured) changed_.add(target);
  known.measured = true;
  const std::span counts = std::span(since.counts).first(plan_->estimated());
  const bool is_enabled = since.enabled.count() > 0;
  const bool has_counts =
      is_enabled || std::any_of(counts.begin(), counts.end(), [](auto count) { return count > 0; });
  if (has_counts) increments_.add_exact(target, since.enabled, counts);
  if (is_enabled) known.wanted = known.counted = true;  // note_wanted() notes the change
  if (kept_.is_kept()) {
    for (std::size_t event = 0; event < counts.size(); ++event) {
      kept_.add_count(target, event, counts[event]);
    }
    kept_.add_time(target, since.enabled);
  }
  note_counted(target);
  note_wanted(target, since.enabled, is_enabled);
  known.was_wanted = is_enabled;
}

/// Starving: its target was on the CPU, and the group hardly ever on the PMU.
Estimation::Faults Estimation::add_estimate(std::size_t target, const perf::GroupInterval& since,
                                            const AlwaysOn& always_on, Held held,
                                            const Learning& learning) {
  constexpr double kNextToNothing = 0.01;
  constexpr double kNearlyAll = 0.9;
  Known& known = known_[target];
  estimate::Interval interval = interval_of(since, *plan_, always_on);
  const bool is_whole = since.unreadable.none();
  interval.fell |= is_whole && !possible_.contain(interval.counts, since.enabled);
  if (plan_->can_lose_pmu()) {
    interval.enabled = shared_[target].wanted.advance(since.enabled, always_on.clock,
                                                      held.is_rotated || held.is_paused);
    interval.is_stopped = held.is_stopped && !held.is_paused;
  }
  interval.kernel_mistimes = learning.kernel_mistimes;
  learning.has_learned = true;
  const estimate::GroupIncrement increment =
      estimator(target).advance(interval, learning.models, learning.increments, learning.updates);
  increments_.add(target, increment, learning.increments);
  const bool is_enabled = increment.enabled.count() > 0;
  const bool has_run = increment.running.count() > 0;
  known.measured = true;
  known.wanted = known.wanted || is_enabled;
  known.counted = known.counted || (has_run && increment.coverage != estimate::Coverage::kNone);
  if (kept_.is_kept()) {
    for (std::size_t event = 0; event < plan_->estimated(); ++event) {
      const estimate::EventIncrement& of = learning.increments[event];
      kept_.add_count(target, event, of.observed + of.extrapolated);
    }
    kept_.add_time(target, increment.enabled - increment.unmeasured);
  }
  changed_.add(target);
  note_counted(target);
  if (plan_->is_multiplexed() && !held.is_paused && is_enabled) {
    const double share = static_cast<double>(increment.running.count()) /
                         static_cast<double>(increment.enabled.count());
    Shared& shared = shared_[target];
    shared.starved_polls = share < kNextToNothing ? shared.starved_polls + 1 : 0;
    shared.had_the_pmu = share > kNearlyAll;
  }
  if (!interval.is_stopped) note_wanted(target, increment.enabled, has_run);
  known.was_wanted = is_enabled;
  learning.kernel_mistimes = learning.kernel_mistimes || increment.mistimed;
  return {increment.anomaly, increment.mistimed};
}

void Estimation::mark_unchanged(std::size_t target) {
  Known& known = known_[target];
  if (!known.measured) changed_.add(target);
  known.measured = true;
  note_wanted(target, nanoseconds{0}, false);
  known.was_wanted = false;
}

// --- time that was not counted ------------------------------------------------------------------

void Estimation::add_loss(std::size_t target, std::optional<nanoseconds> on_cpu) {
  if (plan_->can_lose_pmu()) add_unmeasured(target, shared_[target].wanted.lost(on_cpu));
  known_[target].wanted = true;
  changed_.add(target);
}

void Estimation::end_loss(std::size_t target, std::optional<nanoseconds> on_cpu) {
  if (plan_->can_lose_pmu()) add_unmeasured(target, shared_[target].wanted.closed(on_cpu));
}

void Estimation::add_unmeasured(std::size_t target, std::optional<nanoseconds> wanted) {
  if (!wanted) return;
  note_wanted(target, *wanted, false);
  known_[target].wanted = true;
  changed_.add(target);
  if (wanted->count() > 0) add_times(target, {.enabled = *wanted, .unmeasured = *wanted});
}

void Estimation::add_lost(std::size_t target, nanoseconds time) {
  if (time.count() > 0) increments_.add_lost(target, time);
}

void Estimation::add_times(std::size_t target, const GroupTimes& times) {
  increments_.add_times(target, times);
  if (kept_.is_kept()) kept_.add_time(target, times.enabled - times.unmeasured);
}

void Estimation::note_wanted(std::size_t target, nanoseconds wanted, bool had_the_pmu) {
  Known& known = known_[target];
  if (known.was_on_pmu != had_the_pmu) changed_.add(target);
  known.was_on_pmu = had_the_pmu;
  absence_.add(target, wanted, had_the_pmu);
}

void Estimation::note_counted(std::size_t target) {
  Known& known = known_[target];
  if (known.first_counted == 0 && known.counted) known.first_counted = polls_ + 1;
}

}  // namespace pex::collect
