#pragma once

#include <chrono>
#include <optional>

#include "access/access.h"
#include "base/token_bucket.h"

namespace pex::access {

/// Counts requests against a limit, which may differ at each call.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Takes a token. If there is none: the time until there is.
  std::optional<std::chrono::nanoseconds> take(const RateLimit& limit, Time now);

 private:
  std::optional<TokenBucket> bucket_;  ///< nothing before the first call, so that it begins full
};

}  // namespace pex::access
