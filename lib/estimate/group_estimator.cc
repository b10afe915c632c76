#include "estimate/group_estimator.h"

#include <algorithm>
#include <cmath>

namespace pex::estimate {
namespace {

/// Counters are 64 bits wide and start at 0, so a true increment is far below half their range:
/// above it the count fell. A wrap is a small increment in this arithmetic.
constexpr std::uint64_t kHalfRange = std::uint64_t{1} << 63;

std::uint64_t increase(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t difference = to - from;
  return difference < kHalfRange ? difference : 0;
}

/// A time that fell gives zero as well; in this arithmetic no two times are too far apart.
std::chrono::nanoseconds increase(std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  return std::chrono::nanoseconds{
      increase(static_cast<std::uint64_t>(from.count()), static_cast<std::uint64_t>(to.count()))};
}

/// Whole events of `estimate`; what is left of `fraction` goes to the next interval.
std::uint64_t take_whole(const Estimate& estimate, double& fraction) {
  const double extrapolated =
      std::min(estimate.extrapolated + fraction, static_cast<double>(kHalfRange));
  const double whole = std::floor(extrapolated);
  fraction = extrapolated - whole;
  return estimate.observed + static_cast<std::uint64_t>(whole);
}

}  // namespace

Estimate scale(std::uint64_t raw, std::chrono::nanoseconds enabled,
               std::chrono::nanoseconds running) {
  if (enabled.count() <= 0 || running >= enabled) return {raw, 0, Coverage::kComplete};
  if (running.count() <= 0) return {0, 0, Coverage::kNone};
  const double missed = static_cast<double>((enabled - running).count());
  const double seen = static_cast<double>(running.count());
  return {raw, static_cast<double>(raw) * (missed / seen), Coverage::kScaled};
}

GroupEstimator::GroupEstimator(std::size_t events) : events_(events) {}

Coverage GroupEstimator::advance(std::chrono::nanoseconds enabled, std::chrono::nanoseconds running,
                                 std::span<const std::uint64_t> counts,
                                 std::span<std::uint64_t> increments) {
  const std::chrono::nanoseconds wanted = increase(enabled_, enabled);
  const std::chrono::nanoseconds had = increase(running_, running);
  const Coverage coverage = scale(0, wanted, had).coverage;
  if (coverage == Coverage::kNone) {
    std::fill(increments.begin(), increments.end(), 0);
    return coverage;
  }
  for (std::size_t event = 0; event < events_.size(); ++event) {
    const std::uint64_t raw = increase(events_[event].count, counts[event]);
    increments[event] = take_whole(scale(raw, wanted, had), events_[event].fraction);
    events_[event].count = counts[event];
  }
  enabled_ = enabled;
  running_ = running;
  return coverage;
}

}  // namespace pex::estimate
