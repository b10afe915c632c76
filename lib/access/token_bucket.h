#pragma once

#include <chrono>
#include <limits>
#include <optional>

#include "access/access.h"

namespace pex::access {

/// Limits a rate: each request takes a token, and they come one by one. Full at first. The limit
/// may be another one at each call.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Takes a token. When there is none: how long until there is.
  std::optional<std::chrono::nanoseconds> take(const RateLimit& limit, Time now);

 private:
  double tokens_ =
      std::numeric_limits<double>::infinity();  ///< more than fit: seen at the next call
  Time filled_at_{};
};

}  // namespace pex::access
