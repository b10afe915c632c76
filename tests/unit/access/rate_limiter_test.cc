#include "access/rate_limiter.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pex::access {
namespace {

using namespace std::chrono_literals;

constexpr RateLimiter::Time kStart{1000h};

TEST(RateLimiterTest, GivesABurstAndThenOneForEachInterval) {
  const RateLimit limit{.interval = 2s, .burst = 3};
  RateLimiter limiter;

  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take(limit, kStart));
  EXPECT_EQ(limiter.take(limit, kStart), 2s);
  EXPECT_EQ(limiter.take(limit, kStart + 500ms), 1500ms);
  EXPECT_FALSE(limiter.take(limit, kStart + 2s));
  EXPECT_EQ(limiter.take(limit, kStart + 2s), 2s);
}

TEST(RateLimiterTest, KeepsNoMoreThanABurstHoweverLongNoClientCame) {
  const RateLimit limit{.interval = 1s, .burst = 2};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(limit, kStart));

  EXPECT_FALSE(limiter.take(limit, kStart + 100h));
  EXPECT_FALSE(limiter.take(limit, kStart + 100h));
  EXPECT_TRUE(limiter.take(limit, kStart + 100h));
}

TEST(RateLimiterTest, TakesAnotherLimitAtAnyTime) {
  const RateLimit wide{.interval = 1s, .burst = 1000};
  const RateLimit narrow{.interval = 64s, .burst = 1};
  RateLimiter limiter;
  EXPECT_FALSE(limiter.take(wide, kStart));

  EXPECT_FALSE(limiter.take(narrow, kStart));
  EXPECT_EQ(limiter.take(narrow, kStart), 64s);
  EXPECT_EQ(limiter.take(wide, kStart), 1s);
  EXPECT_FALSE(limiter.take(wide, kStart + 1s));
  EXPECT_TRUE(limiter.take(wide, kStart + 1s));
}

}  // namespace
}  // namespace pex::access
