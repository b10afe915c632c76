#include "collect/totals.h"

#include <limits>

namespace pex::collect {
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum < a ? std::numeric_limits<std::uint64_t>::max() : sum;
}

void GroupTotals::add(const Increment& increment) {
  for (std::size_t event = 0; event < events_.size(); ++event) {
    events_[event] = saturating_sum(events_[event], increment.events[event]);
  }
  enabled_ += increment.enabled;
  running_ += increment.running;
  measured_ = true;
  wanted_ = wanted_ || increment.enabled.count() > 0;
  counted_ = counted_ ||
             (increment.coverage != estimate::Coverage::kNone && increment.enabled.count() > 0);
}

}  // namespace pex::collect
