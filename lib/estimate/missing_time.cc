#include "estimate/missing_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pex::estimate {
namespace {

constexpr double kTick = 10e6;          // ns, of a kernel with 100 Hz
constexpr double kMaxLost = 0.01;       // of the time counted, to learn from an interval
constexpr double kMinUsed = 5 * kTick;  // of the account, for a sample of the ratio
constexpr double kWeight = 1.0 / 8;
constexpr double kMaxRatio = 2;  // clocks do not differ by more, so counts are missing otherwise
constexpr int kEnough = 3;
// A loss is known once the next record is written, and counts of a late CPU come later.
constexpr unsigned kRemembered = 8;  // intervals at least
// Unknown ratios are below: counters had 6 to 25 % less time than cpu.stat of a cgroup that sleeps
// often, and up to some per cent more where interrupts are frequent.
constexpr double kMaxExcess = 0.1;

double number_of_ns(MissingTime::Time time) { return static_cast<double>(time.count()); }

}  // namespace

MissingTime::Found MissingTime::advance(const Interval& interval) {
  learn(interval);
  const bool is_known = samples_ >= kEnough;
  const double counted = number_of_ns(interval.counted);
  const double lost = number_of_ns(interval.lost);
  const double used = number_of_ns(interval.used) * counted_of_used();
  balance_ += used - counted;
  recent_.used += interval.used;
  recent_.counted += interval.counted;
  const bool stands_still = used <= 0 && counted <= 0;  // then the account is exact
  const bool is_certain = std::exchange(stood_still_, stands_still) && stands_still;
  if (is_certain && balance_ <= kTick) balance_ = 0;
  const double most = is_known || is_certain ? balance_ : balance_ + kTick;
  const double time = std::clamp(most, 0.0, lost);
  // Not below what was found for a tick, and what the account is behind.
  balance_ = std::max(balance_ - time, is_known ? -kTick : -2 * kTick);
  if (intervals_ % kRemembered == 0) {
    balance_ = std::min(balance_, excess(recent_) + kTick);
    earlier_ = std::exchange(recent_, {});
  }
  Found found{.time = Time{static_cast<std::int64_t>(time)}, .is_estimate = is_known};
  if (is_known) {
    const double of_ratio = used / ratio_;
    const double variance = of_ratio * of_ratio * spread_ + kTick * kTick / 6;
    found.variance = std::min(variance, lost * lost / 4);
    const double error = is_certain ? 0 : std::min(std::sqrt(variance), lost - time);
    found.unsure = Time{static_cast<std::int64_t>(error)};
  }
  return found;
}

/// From intervals without losses, once it is certain that there was none. Half of what was lost may
/// be its own.
void MissingTime::learn(const Interval& interval) {
  ++intervals_;
  const double counted = number_of_ns(interval.counted);
  const bool has_lost = number_of_ns(interval.lost) > kMaxLost * counted;
  if (has_lost || number_of_ns(interval.used) > kMaxRatio * counted + kTick) {
    sum_ = sample_ = {};
    return;
  }
  if (sample_.used.count() > 0 && intervals_ - sampled_in_ >= kRemembered / 2) {
    add_sample(number_of_ns(sample_.used) / number_of_ns(sample_.counted));
    sample_ = {};
  }
  sum_.used += interval.used;
  sum_.counted += interval.counted + interval.lost / 2;
  if (number_of_ns(sum_.used) < kMinUsed || sample_.used.count() > 0) return;
  sample_ = std::exchange(sum_, {});
  sampled_in_ = intervals_;
}

void MissingTime::add_sample(double ratio) {
  if (!(ratio > 1 / kMaxRatio && ratio < kMaxRatio)) return;
  const double weight = std::max(kWeight, 1.0 / ++samples_);
  const double off = ratio - ratio_;
  ratio_ += weight * off;
  spread_ = samples_ == 1 ? 0 : (1 - weight) * (spread_ + weight * off * off);
  if (samples_ != kEnough) return;
  // It was an upper bound. A loss of the last intervals may be reported later.
  const double pending = excess(earlier_) + excess(recent_);
  const double counted = number_of_ns(earlier_.counted + recent_.counted);
  balance_ = pending > kTick + kMaxLost * counted ? pending : 0;
}

double MissingTime::counted_of_used() const {
  return samples_ >= kEnough ? 1 / ratio_ : 1 + kMaxExcess;
}

double MissingTime::excess(const Interval& of) const {
  return std::max(number_of_ns(of.used) * counted_of_used() - number_of_ns(of.counted), 0.0);
}

}  // namespace pex::estimate
