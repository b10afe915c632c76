#include "access/rate_limiter.h"

namespace pex::access {

RateLimiter::Client& RateLimiter::client(const Peer& peer, bool is_user, Time now) {
  const std::pair key{peer, is_user};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() == kMaxPeers) {
    std::erase_if(known_, [now](const auto& each) { return now - each.second.seen > kRemembers; });
  }
  return known_.size() < kMaxPeers ? known_[key] : others_[is_user ? 1 : 0];
}

std::optional<std::chrono::nanoseconds> RateLimiter::take(const Peer& peer, bool is_user,
                                                          const RateLimit& limit, Time now) {
  const std::chrono::duration<double> interval = limit.interval;
  const TokenBucket::Rate rate{1 / interval.count(), static_cast<double>(limit.burst)};
  Client& of = client(peer, is_user, now);
  of.seen = now;
  if (!of.bucket) of.bucket.emplace(rate);
  of.bucket->set_rate(rate, now);
  if (of.bucket->tokens(now) < 1) return of.bucket->time_until(1, now);
  of.bucket->take(1, now);
  return {};
}

}  // namespace pex::access
