#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "access/access.h"
#include "access/peer.h"
#include "base/token_bucket.h"

namespace pex::access {

/// Counts the requests of each peer against a limit, which may differ at each call. Those with a
/// password that was accepted before have a limit of their own, which no other client of the same
/// address takes. A peer that was here within an hour keeps its place: while there are more than
/// kMaxPeers, those that are new and have no such password share one limit, so that no number of
/// them takes that of a known one.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMaxPeers = 1024;
  static constexpr std::chrono::hours kRemembers{1};

  /// Takes a token. If there is none: the time until there is.
  std::optional<std::chrono::nanoseconds> take(const Peer& peer, const RateLimit& limit, Time now,
                                               bool is_logged_in = false);

 private:
  struct Client {
    std::optional<TokenBucket> bucket = {};  ///< nothing before the first call: it begins full
    Time seen = {};
  };
  using Key = std::pair<Peer, bool>;  ///< whether it has logged in
  Client& client(const Key& key, Time now);

  std::map<Key, Client> known_;
  Client others_;
};

}  // namespace pex::access
