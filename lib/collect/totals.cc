#include "collect/totals.h"

#include <limits>

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

void GroupTotals::add(const estimate::GroupIncrement& group,
                      std::span<const estimate::EventIncrement> events) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = saturating_sum(values_[i], events[i].observed);
    values_[i] = saturating_sum(values_[i], events[i].extrapolated);
  }
  for (std::size_t i = 0; i < evidence_.size(); ++i) {
    evidence_[i].observed = saturating_sum(evidence_[i].observed, events[i].observed);
    evidence_[i].variance += events[i].variance;
  }
  times_.add({group.enabled, group.running, group.imputed, group.unmeasured, group.reference,
              group.reference_sampled});
  measured_ = true;
  wanted_ = wanted_ || group.enabled.count() > 0;
  counted_ = counted_ || (group.running.count() > 0 && group.coverage != estimate::Coverage::kNone);
}

void GroupTotals::want_in_vain(std::chrono::nanoseconds wanted) {
  times_.enabled = saturating_sum(times_.enabled, wanted);
  times_.unmeasured = saturating_sum(times_.unmeasured, wanted);
  wanted_ = true;
}

void GroupTotals::give_up(std::chrono::nanoseconds open) {
  times_.unmeasured = saturating_sum(times_.unmeasured, open);
}

}  // namespace pex::collect
