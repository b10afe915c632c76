#include "collect/totals.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pex::collect {

std::chrono::nanoseconds saturating_sum(std::chrono::nanoseconds a, std::chrono::nanoseconds b) {
  std::int64_t sum = 0;
  const bool overflows = __builtin_add_overflow(a.count(), b.count(), &sum);
  return overflows ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds{sum};
}

void GroupTimes::add(const GroupTimes& more) {
  enabled = saturating_sum(enabled, more.enabled);
  running = saturating_sum(running, more.running);
  imputed = saturating_sum(imputed, more.imputed);
  unmeasured = saturating_sum(unmeasured, more.unmeasured);
  reference += more.reference;
  reference_sampled += more.reference_sampled;
}

GroupTotals::GroupTotals(std::size_t events, bool is_estimated, std::size_t targets)
    : events_(events),
      is_estimated_(is_estimated),
      values_(events * targets),
      evidence_(is_estimated ? events * targets : 0),
      times_(targets),
      seen_(targets) {}

void GroupTotals::resize(std::size_t targets) {
  values_.resize(events_ * targets);
  if (is_estimated_) evidence_.resize(events_ * targets);
  times_.resize(targets);
  seen_.resize(targets);
}

void GroupTotals::reset(std::size_t target) {
  const std::size_t first = target * events_;
  std::fill_n(values_.data() + first, events_, 0);
  if (is_estimated_) std::fill_n(evidence_.data() + first, events_, Evidence{});
  times_[target] = {};
  seen_[target] = {};
}

void GroupTotals::copy(const GroupTotals& other, std::size_t target) {
  const std::size_t first = target * events_;
  if (other.is_estimated_) {
    keep_evidence();  // the other targets are those from before `other` lacked anything
    std::copy_n(other.evidence_.data() + first, events_, evidence_.data() + first);
  }
  std::copy_n(other.values_.data() + first, events_, values_.data() + first);
  times_[target] = other.times_[target];
  seen_[target] = other.seen_[target];
}

/// Everything up to now was observed.
void GroupTotals::keep_evidence() {
  if (std::exchange(is_estimated_, true)) return;
  evidence_.resize(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) evidence_[i].observed = values_[i];
}

void GroupTotals::add(std::size_t target, const estimate::GroupIncrement& group,
                      std::span<const estimate::EventIncrement> events) {
  keep_evidence();
  const std::size_t first = target * events_;
  for (std::size_t i = 0; i < events_; ++i) {
    std::uint64_t& value = values_[first + i];
    value = saturating_sum(value, events[i].observed);
    value = saturating_sum(value, events[i].extrapolated);
    Evidence& evidence = evidence_[first + i];
    evidence.observed = saturating_sum(evidence.observed, events[i].observed);
    evidence.variance += events[i].variance;
  }
  times_[target].add({group.enabled, group.running, group.imputed, group.unmeasured,
                      group.reference, group.reference_sampled});
  Seen& seen = seen_[target];
  seen.measured = true;
  seen.wanted = seen.wanted || group.enabled.count() > 0;
  seen.counted =
      seen.counted || (group.running.count() > 0 && group.coverage != estimate::Coverage::kNone);
}

void GroupTotals::add_exact(std::size_t target, std::chrono::nanoseconds enabled,
                            std::span<const std::uint64_t> events) {
  seen_[target].measured = true;
  std::uint64_t* value = values_.data() + target * events_;
  for (const std::uint64_t count : events) {
    *value = saturating_sum(*value, count);
    ++value;
  }
  for (std::size_t i = 0; is_estimated_ && i < events_; ++i) {
    std::uint64_t& observed = evidence_[target * events_ + i].observed;
    observed = saturating_sum(observed, events[i]);
  }
  if (enabled.count() == 0) return;
  GroupTimes& times = times_[target];
  times.enabled = saturating_sum(times.enabled, enabled);
  times.running = saturating_sum(times.running, enabled);
  seen_[target].wanted = seen_[target].counted = true;
}

void GroupTotals::add_unmeasured(std::size_t target, std::chrono::nanoseconds wanted) {
  add_lost(target, wanted);
  seen_[target].wanted = true;
}

void GroupTotals::add_lost(std::size_t target, std::chrono::nanoseconds time) {
  if (time.count() > 0) keep_evidence();
  GroupTimes& times = times_[target];
  times.enabled = saturating_sum(times.enabled, time);
  times.unmeasured = saturating_sum(times.unmeasured, time);
}

void GroupTotals::discard_pending(std::size_t target, std::chrono::nanoseconds open) {
  if (open.count() > 0) keep_evidence();
  GroupTimes& times = times_[target];
  times.unmeasured = saturating_sum(times.unmeasured, open);
}

}  // namespace pex::collect
