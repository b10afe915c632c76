#include "daemon/run/poll_schedule.h"

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

TEST(LateAfterTest, LeavesHalfOfTheIntervalWithinBounds) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  struct Row {
    std::chrono::nanoseconds interval, late_after;
  };
  const Row rows[] = {{milliseconds{100}, milliseconds{100}},
                      {milliseconds{250}, milliseconds{125}},
                      {milliseconds{1000}, milliseconds{500}},
                      {milliseconds{15'000}, milliseconds{2000}},
                      {hours{1}, milliseconds{2000}}};
  for (const Row& row : rows) EXPECT_EQ(late_after(row.interval), row.late_after);
}

}  // namespace
}  // namespace pex::daemon
