#include "access/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace pex::access {

std::optional<std::chrono::nanoseconds> TokenBucket::take(const RateLimit& limit, Time now) {
  using Tokens = std::chrono::duration<double, std::nano>;
  const double interval = Tokens{limit.interval}.count();
  const double come = Tokens{now - filled_at_}.count() / interval;
  tokens_ = std::min(tokens_ + come, static_cast<double>(limit.burst));
  filled_at_ = now;
  if (tokens_ < 1) {
    return std::chrono::nanoseconds{std::llround(std::ceil((1 - tokens_) * interval))};
  }
  tokens_ -= 1;
  return {};
}

}  // namespace pex::access
