#include "access/token_bucket.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pex::access {
namespace {

using namespace std::chrono_literals;

constexpr TokenBucket::Time kStart{1000h};

TEST(TokenBucketTest, GivesABurstAndThenOneForEachInterval) {
  const RateLimit limit{.interval = 2s, .burst = 3};
  TokenBucket bucket;

  for (int i = 0; i < 3; ++i) EXPECT_FALSE(bucket.take(limit, kStart));
  EXPECT_EQ(bucket.take(limit, kStart), 2s);
  EXPECT_EQ(bucket.take(limit, kStart + 500ms), 1500ms);
  EXPECT_FALSE(bucket.take(limit, kStart + 2s));
  EXPECT_EQ(bucket.take(limit, kStart + 2s), 2s);
}

TEST(TokenBucketTest, KeepsNoMoreThanABurstHoweverLongNobodyCame) {
  const RateLimit limit{.interval = 1s, .burst = 2};
  TokenBucket bucket;
  EXPECT_FALSE(bucket.take(limit, kStart));

  EXPECT_FALSE(bucket.take(limit, kStart + 100h));
  EXPECT_FALSE(bucket.take(limit, kStart + 100h));
  EXPECT_TRUE(bucket.take(limit, kStart + 100h));
}

TEST(TokenBucketTest, TakesAnotherLimitAtAnyTime) {
  const RateLimit wide{.interval = 1s, .burst = 1000};
  const RateLimit narrow{.interval = 1h, .burst = 1};
  TokenBucket bucket;
  EXPECT_FALSE(bucket.take(wide, kStart));

  EXPECT_FALSE(bucket.take(narrow, kStart));
  EXPECT_EQ(bucket.take(narrow, kStart), 1h);
  EXPECT_FALSE(bucket.take(wide, kStart + 1s));
  EXPECT_TRUE(bucket.take(wide, kStart + 1s));
}

}  // namespace
}  // namespace pex::access
