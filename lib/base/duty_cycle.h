#pragma once

#include <chrono>
#include <cmath>

namespace pex {

/// Counting for a part of the time, so that other programs have the counters for the rest.
struct DutyCycle {
  std::chrono::nanoseconds on{};     ///< more than 0, less than `every`
  std::chrono::nanoseconds every{};  ///< from one beginning to the next
  double shift = 0;                  ///< of all beginnings, in cycles: machines differ; 0 to 1

  bool operator==(const DutyCycle&) const = default;
};

/// Whether it counts at this time of a clock that all CPUs of the machine share. Each CPU begins at
/// another time: consecutive ones are apart by the golden ratio of a cycle, which spreads any
/// number of them evenly (Knuth, The Art of Computer Programming, volume 3, section 6.4).
inline bool is_on(const DutyCycle& cycle, int cpu, std::chrono::nanoseconds now) {
  constexpr double kGoldenRatio = 0.6180339887498949;
  const double cycles = static_cast<double>(now.count()) / static_cast<double>(cycle.every.count());
  const double passed = cycles + cycle.shift + cpu * kGoldenRatio;
  return (passed - std::floor(passed)) * static_cast<double>(cycle.every.count()) <
         static_cast<double>(cycle.on.count());
}

}  // namespace pex
