#include "base/duty_cycle.h"

#include <gtest/gtest.h>

#include <vector>

namespace pex {
namespace {

using namespace std::chrono_literals;

/// For how many of the seconds in an hour it counts.
int seconds_on(const DutyCycle& cycle, int cpu) {
  int on = 0;
  for (int second = 0; second < 3600; ++second) {
    on += is_on(cycle, cpu, std::chrono::seconds{second}) ? 1 : 0;
  }
  return on;
}

TEST(DutyCycleTest, CountsForItsPartOfTheTimeOnEachCpu) {
  for (int cpu = 0; cpu < 256; ++cpu) {
    EXPECT_NEAR(seconds_on({10s, 60s, 0.3}, cpu), 600, 60) << cpu;
  }
}

TEST(DutyCycleTest, BeginsWithEachCycle) {
  const DutyCycle cycle{10s, 60s};

  EXPECT_TRUE(is_on(cycle, 0, 0s));
  EXPECT_TRUE(is_on(cycle, 0, 9'999ms));
  EXPECT_FALSE(is_on(cycle, 0, 10s));
  EXPECT_FALSE(is_on(cycle, 0, 59'999ms));
  EXPECT_TRUE(is_on(cycle, 0, 60s));
}

TEST(DutyCycleTest, AtAnyInstantAboutAsManyCpusCount) {
  const DutyCycle cycle{10s, 60s, 0.7};
  for (int second = 0; second < 60; ++second) {
    int on = 0;
    for (int cpu = 0; cpu < 60; ++cpu)
      on += is_on(cycle, cpu, std::chrono::seconds{second}) ? 1 : 0;
    EXPECT_NEAR(on, 10, 3) << second;
  }
}

TEST(DutyCycleTest, IsShiftedByTheMachine) {
  EXPECT_TRUE(is_on({10s, 60s, 0}, 0, 5s));
  EXPECT_FALSE(is_on({10s, 60s, 0.5}, 0, 5s));
}

TEST(DutyCycleTest, IsExactAfterYears) {
  const DutyCycle cycle{1s, 2s};
  const std::chrono::hours years{10 * 365 * 24};

  EXPECT_TRUE(is_on(cycle, 0, years + 990ms));
  EXPECT_FALSE(is_on(cycle, 0, years + 1'010ms));
}

}  // namespace
}  // namespace pex
