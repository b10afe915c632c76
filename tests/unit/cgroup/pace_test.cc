#include "cgroup/pace.h"

#include <gtest/gtest.h>

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;

const Pace::Clock::time_point kStart{1h};

TEST(PaceTest, AllowsSoMuchAtOnceAndThenSoMuchInASecond) {
  Pace pace{10, 20};
  pace.take(20, kStart);

  EXPECT_FALSE(pace.allows(kStart));
  EXPECT_TRUE(pace.allows(kStart + 100ms));
  pace.take(1, kStart + 100ms);
  EXPECT_FALSE(pace.allows(kStart + 100ms));
}

TEST(PaceTest, WhoTakesMoreThanThereIsLetsTheNextOneWaitForIt) {
  Pace pace{10, 20};
  pace.take(120, kStart);

  EXPECT_FALSE(pace.allows(kStart + 10s));
  EXPECT_TRUE(pace.allows(kStart + 10s + 1ms));
}

TEST(PaceTest, DoesNotSaveMoreThanIsAllowedAtOnce) {
  Pace pace{10, 20};
  pace.take(20, kStart);
  EXPECT_TRUE(pace.allows(kStart + 1h));
  pace.take(20, kStart + 1h);

  EXPECT_FALSE(pace.allows(kStart + 1h));
}

}  // namespace
}  // namespace pex::cgroup
