#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace pex {
namespace {

using namespace std::chrono_literals;

const TokenBucket::Clock::time_point kStart{1h};

TEST(TokenBucketTest, HoldsSoMuchAtOnceAndThenGetsSoMuchInASecond) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(20, kStart);

  EXPECT_EQ(bucket.tokens(kStart), 0);
  EXPECT_EQ(bucket.tokens(kStart + 100ms), 1);
  bucket.take(1, kStart + 100ms);
  EXPECT_EQ(bucket.tokens(kStart + 100ms), 0);
}

TEST(TokenBucketTest, WhoTakesMoreThanThereIsLetsTheNextOneWaitForIt) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(120, kStart);

  EXPECT_EQ(bucket.tokens(kStart + 10s), 0);
  EXPECT_EQ(bucket.tokens(kStart + 11s), 10);
}

TEST(TokenBucketTest, DoesNotSaveMoreThanItHolds) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(20, kStart);

  EXPECT_EQ(bucket.tokens(kStart + 1h), 20);
}

TEST(TokenBucketTest, TimeThatGoesBackAddsNothing) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(15, kStart);

  EXPECT_EQ(bucket.tokens(kStart - 1h), 5);
}

TEST(TokenBucketTest, KnowsWhenThereWillBeEnough) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(20, kStart);

  EXPECT_EQ(bucket.time_until(5, kStart), 500ms);
  EXPECT_EQ(bucket.time_until(5, kStart + 400ms), 100ms);
  EXPECT_EQ(bucket.time_until(5, kStart + 1s), 0ms);
}

TEST(TokenBucketTest, AnotherRateTakesEffectAtOnceAndKeepsWhatFits) {
  TokenBucket bucket{{.per_second = 10, .at_once = 20}};
  bucket.take(10, kStart);
  bucket.set_rate({.per_second = 1, .at_once = 12}, kStart);

  EXPECT_EQ(bucket.tokens(kStart), 10);
  EXPECT_EQ(bucket.tokens(kStart + 1s), 11);
  EXPECT_EQ(bucket.tokens(kStart + 1h), 12);
}

}  // namespace
}  // namespace pex
