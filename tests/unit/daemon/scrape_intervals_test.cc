#include "daemon/web/scrape_intervals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = ScrapeIntervals::Clock;

class ScrapeIntervalsTest : public ::testing::Test {
 protected:
  void scrape(const std::string& client, Clock::duration at) {
    intervals_.add(client, start_ + at);
  }
  std::optional<Clock::duration> longest(Clock::duration at) {
    return intervals_.longest(start_ + at);
  }

  const Clock::time_point start_ = Clock::now();
  ScrapeIntervals intervals_;
};

TEST_F(ScrapeIntervalsTest, SayNothingBeforeTheFourthScrape) {
  for (const auto at : {0s, 15s, 30s}) {
    scrape("a", at);
    EXPECT_EQ(longest(at), std::nullopt);
  }
  scrape("a", 45s);
  EXPECT_EQ(longest(45s), 15s);
}

TEST_F(ScrapeIntervalsTest, AreThoseOfTheClientWithTheLongest) {
  for (int i = 0; i < 10; ++i) scrape("a", i * 15s);
  for (int i = 0; i < 4; ++i) scrape("b", i * 60s);
  EXPECT_EQ(longest(180s), 60s);
}

TEST_F(ScrapeIntervalsTest, LeaveOutAClientThatComesNowAndThen) {
  for (const auto at : {0s, 1s, 90s, 100s, 500s}) scrape("curl", at);
  EXPECT_EQ(longest(500s), std::nullopt);
  for (const auto at : {460s, 475s, 490s, 505s}) scrape("a", at);
  EXPECT_EQ(longest(505s), 15s);
}

TEST_F(ScrapeIntervalsTest, FollowAClientThatChangesItsInterval) {
  for (const auto at : {0s, 60s, 120s, 180s, 190s, 200s}) scrape("a", at);
  EXPECT_EQ(longest(200s), std::nullopt);
  scrape("a", 210s);
  EXPECT_EQ(longest(210s), 10s);
}

TEST_F(ScrapeIntervalsTest, ForgetAClientThatIsOverdue) {
  for (int i = 0; i < 4; ++i) scrape("a", i * 10s);
  EXPECT_EQ(longest(50s), 10s);
  EXPECT_EQ(longest(51s), std::nullopt);
}

TEST_F(ScrapeIntervalsTest, RememberThoseWhoCameLastOfManyClients) {
  for (int i = 0; i < 3; ++i) scrape("a", i * 10s);
  for (int i = 0; i < 63; ++i) scrape("guest " + std::to_string(i), 25s);
  scrape("a", 30s);
  for (int i = 63; i < 126; ++i) scrape("guest " + std::to_string(i), 31s);
  EXPECT_EQ(longest(31s), 10s);
}

}  // namespace
}  // namespace pex::daemon
