#include "base/boot_clock.h"

#include <gtest/gtest.h>

namespace pex {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

TEST(BootClockTest, ADateIsTheSameWheneverItIsAskedFor) {
  const BootClock::time_point time = BootClock::now();

  EXPECT_EQ(date_of(time), date_of(time));
  EXPECT_EQ(boot_time_of(date_of(time)), time);
}

TEST(BootClockTest, NowIsTheDateOfTheMachine) {
  const auto difference = date_of(BootClock::now()) - system_clock::now();

  EXPECT_LT(std::chrono::abs(difference), milliseconds{600});
}

}  // namespace
}  // namespace pex
