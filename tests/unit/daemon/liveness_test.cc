#include "daemon/service/liveness.h"

#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using std::chrono::seconds;

class LivenessTest : public testing::Test {
 protected:
  bool is_alive_at(int second, bool is_busy, std::uint64_t steps) {
    liveness_.observe(start_ + seconds{second}, is_busy, steps);
    return liveness_.is_alive();
  }

  static constexpr bool kBusy = true;
  static constexpr bool kIdle = false;
  const Liveness::Clock::time_point start_ = Liveness::Clock::now();
  Liveness liveness_{seconds{15}};
};

TEST_F(LivenessTest, IsTakenForGrantedBeforeTheFirstCheck) { EXPECT_TRUE(liveness_.is_alive()); }

TEST_F(LivenessTest, WhatGetsOnLivesHoweverLongItTakes) {
  for (int second = 0; second < 3600; second += 10) {
    EXPECT_TRUE(is_alive_at(second, kBusy, static_cast<std::uint64_t>(second)));
  }
}

TEST_F(LivenessTest, WhatIsBusyAndStandsStillIsDeadAfterAWhileUntilItGoesOn) {
  EXPECT_TRUE(is_alive_at(0, kBusy, 7));
  EXPECT_TRUE(is_alive_at(14, kBusy, 7));
  EXPECT_FALSE(is_alive_at(15, kBusy, 7));
  EXPECT_TRUE(is_alive_at(30, kBusy, 8));
}

TEST_F(LivenessTest, TheWhileBeginsWhenItWasLastSeenIdle) {
  EXPECT_TRUE(is_alive_at(0, kIdle, 7));
  EXPECT_TRUE(is_alive_at(3600, kIdle, 7));
  EXPECT_TRUE(is_alive_at(3610, kBusy, 7));
  EXPECT_FALSE(is_alive_at(3615, kBusy, 7));
}

TEST_F(LivenessTest, AnotherOneInItsPlaceMayHaveDoneLess) {
  EXPECT_TRUE(is_alive_at(0, kBusy, 700));
  EXPECT_TRUE(is_alive_at(20, kBusy, 1));
}

}  // namespace
}  // namespace pex::daemon
