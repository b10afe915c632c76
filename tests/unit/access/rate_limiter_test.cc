#include "access/rate_limiter.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/address_v4.hpp>
#include <chrono>
#include <cstdint>

namespace pex::access {
namespace {

using namespace std::chrono_literals;

constexpr RateLimiter::Time kStart{1000h};

Peer peer(std::uint32_t number) { return Peer{boost::asio::ip::make_address_v4(number)}; }

const Peer kPeer = peer(1);

TEST(RateLimiterTest, GivesABurstAndThenOneForEachInterval) {
  const RateLimit limit{.interval = 2s, .burst = 3};
  RateLimiter limiter;

  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart));
  EXPECT_EQ(limiter.take(kPeer, false, limit, kStart), 2s);
  EXPECT_EQ(limiter.take(kPeer, false, limit, kStart + 500ms), 1500ms);
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart + 2s));
  EXPECT_EQ(limiter.take(kPeer, false, limit, kStart + 2s), 2s);
}

TEST(RateLimiterTest, KeepsNoMoreThanABurstHoweverLongNoClientCame) {
  const RateLimit limit{.interval = 1s, .burst = 2};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart));

  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart + 100h));
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart + 100h));
  EXPECT_TRUE(limiter.take(kPeer, false, limit, kStart + 100h));
}

TEST(RateLimiterTest, TakesAnotherLimitAtAnyTime) {
  const RateLimit wide{.interval = 1s, .burst = 1000};
  const RateLimit narrow{.interval = 64s, .burst = 1};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(kPeer, false, wide, kStart));

  EXPECT_FALSE(limiter.take(kPeer, false, narrow, kStart));
  EXPECT_EQ(limiter.take(kPeer, false, narrow, kStart), 64s);
  EXPECT_EQ(limiter.take(kPeer, false, wide, kStart), 1s);
  EXPECT_FALSE(limiter.take(kPeer, false, wide, kStart + 1s));
  EXPECT_TRUE(limiter.take(kPeer, false, wide, kStart + 1s));
}

TEST(RateLimiterTest, GivesEachPeerItsOwn) {
  const RateLimit limit{.interval = 1s, .burst = 1};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart));
  EXPECT_TRUE(limiter.take(kPeer, false, limit, kStart));

  EXPECT_FALSE(limiter.take(peer(2), false, limit, kStart));
  EXPECT_FALSE(limiter.take(Peer{}, false, limit, kStart));
}

TEST(RateLimiterTest, StrangersTakeNothingFromAUserBehindTheSameAddress) {
  const RateLimit limit{.interval = 1s, .burst = 1};
  for (const Peer& each : {peer(10), kPeer}) {  // which has its own, and which shares one
    RateLimiter limiter;
    for (std::uint32_t number = 0; number <= RateLimiter::kMaxPeers; ++number) {
      limiter.take(peer(10 + number), false, limit, kStart);
    }
    EXPECT_TRUE(limiter.take(each, false, limit, kStart));
    EXPECT_FALSE(limiter.take(each, true, limit, kStart));
    EXPECT_TRUE(limiter.take(each, true, limit, kStart));
  }
}

TEST(RateLimiterTest, NoNumberOfNewPeersTakesThatOfAKnownOne) {
  constexpr std::uint32_t kNewPeers = 10'000;
  const RateLimit limit{.interval = 1s, .burst = 1};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart));

  std::uint32_t admitted = 0;
  for (std::uint32_t number = 0; number < kNewPeers; ++number) {
    admitted += limiter.take(peer(10 + number), false, limit, kStart + 59min) ? 0 : 1;
  }

  EXPECT_EQ(admitted, RateLimiter::kMaxPeers) << "the known one is there, and the rest share one";
  EXPECT_FALSE(limiter.take(kPeer, false, limit, kStart + 59min));
}

TEST(RateLimiterTest, PeersThatDoNotComeBackMakeRoom) {
  const RateLimit limit{.interval = 1s, .burst = 1};
  RateLimiter limiter;
  for (std::uint32_t number = 0; number < RateLimiter::kMaxPeers; ++number) {
    EXPECT_FALSE(limiter.take(peer(10 + number), false, limit, kStart));
  }
  const auto later = kStart + RateLimiter::kRemembers + 1s;

  EXPECT_FALSE(limiter.take(peer(1), false, limit, later));
  EXPECT_FALSE(limiter.take(peer(2), false, limit, later)) << "not of those that share one";
}

}  // namespace
}  // namespace pex::access
