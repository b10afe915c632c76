#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>

#include "access/access.h"
#include "access/peer.h"
#include "base/token_bucket.h"

namespace pex::access {

/// Counts the requests of each peer against a limit, which may differ at each call. A peer that was
/// here within an hour keeps its place: while there are more than kMaxPeers, those that are new
/// share one limit, so that no number of them takes that of a known one.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMaxPeers = 1024;
  static constexpr std::chrono::hours kRemembers{1};

  /// Takes a token. If there is none: the time until there is.
  std::optional<std::chrono::nanoseconds> take(const Peer& peer, const RateLimit& limit, Time now);

 private:
  struct Client {
    std::optional<TokenBucket> bucket = {};  ///< nothing before the first call: it begins full
    Time seen = {};
  };
  Client& client(const Peer& peer, Time now);

  std::map<Peer, Client> known_;
  Client others_;
};

}  // namespace pex::access
