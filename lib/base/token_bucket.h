#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace pex {

/// A token bucket: limits a rate and its bursts. Full at first. Time is passed in; a step back adds
/// nothing. Tokens are doubles: exact for whole tokens up to 2^53, and beyond within rounding,
/// which is far less than a token.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  struct Rate {
    double per_second = 0;
    double at_once = 0;  ///< its capacity

    bool operator==(const Rate&) const = default;
  };

  explicit TokenBucket(Rate rate) : rate_(rate), tokens_(rate.at_once) {}

  /// Changes the limit from now on. Keeps the tokens that still fit.
  void set_rate(Rate rate, Clock::time_point now) {
    tokens_ = tokens(now);
    filled_ = now;
    rate_ = rate;
  }

  /// The current number of tokens; negative after more were taken than available.
  double tokens(Clock::time_point now) const {
    const std::chrono::duration<double> passed = now - filled_;
    return std::min(rate_.at_once, tokens_ + std::max(passed.count(), 0.0) * rate_.per_second);
  }

  /// If more tokens are taken than available, the next caller waits for them.
  void take(double amount, Clock::time_point now) {
    tokens_ = tokens(now) - amount;
    filled_ = now;
  }

  /// The time until `amount` tokens are available, if none are taken: 0 if they are. Requires a
  /// rate above 0 and an amount within the capacity.
  std::chrono::nanoseconds time_until(double amount, Clock::time_point now) const {
    const double missing = std::max(amount - tokens(now), 0.0);
    return std::chrono::nanoseconds{std::llround(std::ceil(missing / rate_.per_second * 1e9))};
  }

 private:
  Rate rate_;
  double tokens_;
  Clock::time_point filled_;  ///< the time for which tokens_ is valid; before the first use: any
};

}  // namespace pex
