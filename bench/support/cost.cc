#include "bench/support/cost.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace pex::bench {

std::chrono::nanoseconds process_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], at - std::floor(at));
}

void RoundTimes::summarise_into(Cost& cost) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < floor.size(); ++round) {
    ratios.push_back(daemon[round] / floor[round]);
  }
  cost.floor_us = quantile(floor, 0.5);
  cost.daemon_us = quantile(daemon, 0.5);
  cost.low_ratio = quantile(ratios, 0.25);
  cost.high_ratio = quantile(ratios, 0.75);
}

}  // namespace pex::bench
