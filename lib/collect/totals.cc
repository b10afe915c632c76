#include "collect/totals.h"

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

}  // namespace pex::collect
