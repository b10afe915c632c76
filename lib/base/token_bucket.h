#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace pex {

/// A token bucket: limits how much is done in the long run, and at once. Full at first. Time is
/// passed in; one that goes back adds nothing. Tokens are doubles: exact for whole tokens up to
/// 2^53, and after that within rounding of what has passed, which is far less than a token.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  struct Rate {
    double per_second = 0;
    double at_once = 0;  ///< the most that it holds

    bool operator==(const Rate&) const = default;
  };

  explicit TokenBucket(Rate rate) : rate_(rate), tokens_(rate.at_once) {}

  /// From now on. What there is stays, as far as it still fits.
  void set_rate(Rate rate, Clock::time_point now) {
    tokens_ = tokens(now);
    filled_ = now;
    rate_ = rate;
  }

  /// As many as there are; below 0 after more was taken than there was.
  double tokens(Clock::time_point now) const {
    const std::chrono::duration<double> passed = now - filled_.value_or(now);
    return std::min(rate_.at_once, tokens_ + std::max(passed.count(), 0.0) * rate_.per_second);
  }

  /// Whoever takes more than there is lets the next one wait for it.
  void take(double amount, Clock::time_point now) {
    tokens_ = tokens(now) - amount;
    filled_ = now;
  }

  /// How long until there are `amount`, when nobody takes any: 0 when there are. Only for a rate
  /// that is not 0, and no more than it holds.
  std::chrono::nanoseconds time_until(double amount, Clock::time_point now) const {
    const double missing = std::max(amount - tokens(now), 0.0);
    return std::chrono::nanoseconds{std::llround(std::ceil(missing / rate_.per_second * 1e9))};
  }

 private:
  Rate rate_;
  double tokens_;
  std::optional<Clock::time_point> filled_;  ///< when tokens_ was true
};

}  // namespace pex
