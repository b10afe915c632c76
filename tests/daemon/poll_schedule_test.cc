#include "daemon/poll_schedule.h"

#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

const Time kDue{std::chrono::hours{1}};
constexpr std::chrono::seconds kPeriod{1};

TEST(PollScheduleTest, TheTimeAPollTakesDoesNotStretchThePeriod) {
  const NextPoll next = next_poll(kDue, kDue + milliseconds{300}, kPeriod);

  EXPECT_EQ(next.due, kDue + kPeriod);
  EXPECT_EQ(next.missed, 0U);
}

TEST(PollScheduleTest, PollsWhoseTimeHasPassedAreSkippedAndCounted) {
  const NextPoll next = next_poll(kDue, kDue + milliseconds{3'400}, kPeriod);

  EXPECT_EQ(next.due, kDue + 4 * kPeriod);
  EXPECT_EQ(next.missed, 3U);
}

TEST(PollScheduleTest, TheNextPollIsNeverNow) {
  const NextPoll next = next_poll(kDue, kDue + kPeriod, kPeriod);

  EXPECT_EQ(next.due, kDue + 2 * kPeriod);
  EXPECT_EQ(next.missed, 1U);
}

TEST(PollScheduleTest, AClockThatStandsBeforeTheDeadlineMissesNothing) {
  const NextPoll next = next_poll(kDue, kDue - milliseconds{5}, kPeriod);

  EXPECT_EQ(next.due, kDue + kPeriod);
  EXPECT_EQ(next.missed, 0U);
}

}  // namespace
}  // namespace pex::daemon
