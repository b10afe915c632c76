#include "daemon/web/scrape_intervals.h"

#include "config/config.h"
#include "daemon/web/served_times.h"
#include "support/test_headers.h"

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

config::Config config_of(std::chrono::seconds linger, std::chrono::seconds zero_for) {
  config::Config config;
  config.groups.resize(1);
  config.groups[0].cgroup_scope = true;
  config.cgroups.linger = linger;
  config.cgroups.sums.resize(1);
  config.cgroups.sums[0].name = "workload";
  config.cgroups.sums[0].zero_for = zero_for;
  return config;
}

class ServedTimesTest : public ::testing::Test {
 protected:
  std::vector<std::string> warnings(const config::Config& config, std::chrono::nanoseconds every) {
    times_.configure(config);
    std::vector<std::string> lines;
    for (const Error& warning : times_.too_short(every)) lines.push_back(warning.attempted);
    return lines;
  }

  ServedTimes times_;
};

TEST_F(ServedTimesTest, AreTooShortIfAClientScrapesLessOften) {
  EXPECT_EQ(warnings(config_of(10s, 60s), 30s),
            std::vector<std::string>{
                "cgroups.linger is 10 s, and a client scrapes every 30 s: what a cgroup counted "
                "between its last scrape and its end is lost"});
  EXPECT_EQ(warnings(config_of(60s, 10s), 30s),
            std::vector<std::string>{
                "zero_for of sum 'workload' is 10 s, and a client scrapes every 30 s: rate() and "
                "increase() lack what a new sum has counted before its first scrape"});
  EXPECT_EQ(warnings(config_of(30s, 30s), 30s), std::vector<std::string>{});
}

TEST_F(ServedTimesTest, MayBeSomeMillisecondsShorterThanTheMeanOfAFewIntervals) {
  EXPECT_EQ(warnings(config_of(60s, 60s), 60s + 10ms).size(), 0u);
  EXPECT_EQ(warnings(config_of(60s, 60s), 62s).size(), 2u);
}

TEST_F(ServedTimesTest, MayBeZeroWhereClientsKnowTheStartTimesOfCounters) {
  config::Config config = config_of(0s, 0s);
  EXPECT_EQ(warnings(config, 15s).size(), 2u);
  config.openmetrics.created = true;
  EXPECT_EQ(warnings(config, 15s).size(), 0u);
}

TEST_F(ServedTimesTest, DoNotMatterForWhatIsNotServed) {
  config::Config config = config_of(0s, 60s);
  config.cgroups.series = config::CgroupSeries::kNone;
  EXPECT_EQ(warnings(config, 15s).size(), 0u);
  config = config_of(0s, 0s);
  config.groups[0].cgroup_scope = false;
  EXPECT_EQ(warnings(config, 15s).size(), 0u);
}

TEST_F(ServedTimesTest, AreReportedOnceForTheLongestInterval) {
  times_.configure(config_of(10s, 20s));
  EXPECT_EQ(times_.take_too_short({}).size(), 0u);
  EXPECT_EQ(times_.take_too_short(15s).size(), 1u);
  EXPECT_EQ(times_.take_too_short(15s).size(), 0u);
  EXPECT_EQ(times_.take_too_short(30s).size(), 2u);
  EXPECT_EQ(times_.take_too_short(15s).size(), 0u);
  EXPECT_EQ(times_.too_short(15s).size(), 1u);
  times_.configure(config_of(10s, 20s));
  EXPECT_EQ(times_.take_too_short(15s).size(), 1u);
}

}  // namespace
}  // namespace pex::daemon
