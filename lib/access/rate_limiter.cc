#include "access/rate_limiter.h"

namespace pex::access {

std::optional<std::chrono::nanoseconds> RateLimiter::take(const RateLimit& limit, Time now) {
  const std::chrono::duration<double> interval = limit.interval;
  const TokenBucket::Rate rate{1 / interval.count(), static_cast<double>(limit.burst)};
  if (!bucket_) bucket_.emplace(rate);
  bucket_->set_rate(rate, now);
  if (bucket_->tokens(now) < 1) return bucket_->time_until(1, now);
  bucket_->take(1, now);
  return {};
}

}  // namespace pex::access
