#include "collect/admission.h"

#include <gtest/gtest.h>

namespace pex::collect {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
const OpenRate::Clock::time_point kStart = OpenRate::Clock::now();

TEST(OpenRateTest, LetsThroughWhatMayBeOpenedInASecondAndThenNoMore) {
  OpenRate rate{100};

  EXPECT_TRUE(rate.take(60, kStart));
  EXPECT_TRUE(rate.take(40, kStart));
  EXPECT_FALSE(rate.take(1, kStart));
}

TEST(OpenRateTest, IsFullAgainAfterASecondAndNeverFullerThanThat) {
  OpenRate rate{100};
  ASSERT_TRUE(rate.take(100, kStart));

  EXPECT_FALSE(rate.take(60, kStart + 500ms));
  EXPECT_TRUE(rate.take(60, kStart + 600ms));
  EXPECT_TRUE(rate.take(100, kStart + 1h));
  EXPECT_FALSE(rate.take(1, kStart + 1h));
}

TEST(OpenRateTest, WhatTakesMoreThanASecondsWorthGoesThroughAndDelaysWhatFollows) {
  OpenRate rate{100};

  EXPECT_TRUE(rate.take(300, kStart));
  EXPECT_FALSE(rate.take(1, kStart + 2s));
  EXPECT_TRUE(rate.take(1, kStart + 2s + 20ms));
}

TEST(ShortageTest, UntilOneIsMetThereIsNone) {
  const Shortage shortage;

  EXPECT_EQ(shortage.room(kStart), kAnyNumber);
}

TEST(ShortageTest, LeavesNoMoreRoomThanFittedUntilASecondHasPassed) {
  Shortage shortage;

  shortage.met("open_files", 3, kStart);

  EXPECT_EQ(shortage.room(kStart), 3U);
  EXPECT_EQ(shortage.bound(), "open_files");
  EXPECT_EQ(shortage.room(kStart + 999ms), 3U);
  EXPECT_EQ(shortage.room(kStart + 1s), kAnyNumber);
}

TEST(ShortageTest, IsTriedAgainLessAndLessOftenUpToAMinute) {
  Shortage shortage;
  auto now = kStart;
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
    shortage.met("memory", 1, now);

    EXPECT_EQ(shortage.room(now + wait - 1ms), 1U);
    EXPECT_EQ(shortage.room(now + wait), kAnyNumber);
    now += wait;
  }
}

TEST(ShortageTest, BeginsAnewWhenTheLastOneIsLongOver) {
  Shortage shortage;
  shortage.met("open_files", 1, kStart);
  shortage.met("open_files", 1, kStart + 1s);

  shortage.met("open_files", 1, kStart + 1min);

  EXPECT_EQ(shortage.room(kStart + 1min + 1s), kAnyNumber);
}

}  // namespace
}  // namespace pex::collect
