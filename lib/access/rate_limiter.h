#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "access/access.h"
#include "access/peer.h"
#include "base/token_bucket.h"

namespace pex::access {

/// Counts the requests of each peer against a limit, which may differ at each call, and apart from
/// them those whose login was accepted before, so that other clients behind the address of a
/// user do not use up its limit. A peer that was here within an hour keeps its place: while there
/// are more than kMaxPeers, those that are new share one limit, so that no number of them takes
/// that of a known one.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMaxPeers = 1024;
  static constexpr std::chrono::hours kRemembers{1};

  /// Takes a token. If there is none: the time until there is.
  std::optional<std::chrono::nanoseconds> take(const Peer& peer, bool is_user,
                                               const RateLimit& limit, Time now);

 private:
  struct Client {
    std::optional<TokenBucket> bucket = {};  ///< nothing before the first call: it begins full
    Time seen = {};
  };
  Client& client(const Peer& peer, bool is_user, Time now);

  std::map<std::pair<Peer, bool>, Client> known_;
  std::array<Client, 2> others_;  ///< index 1: users
};

}  // namespace pex::access
