#include "daemon/run/poll_schedule.h"

#include <limits>

#include "daemon/run/poll_log.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Time = PollSchedule::Clock::time_point;

const Time kDue{std::chrono::hours{1}};
constexpr std::chrono::seconds kPeriod{1};

PollSchedule due_at(Time due) {
  PollSchedule schedule;
  schedule.restart(due - kPeriod, kPeriod);
  return schedule;
}

TEST(PollScheduleTest, PollsWhoseTimeHasPassedAreSkippedAndCounted) {
  const struct {
    Time::duration after;
    std::size_t skipped;
    Time::duration next;
  } rows[] = {
      {300ms, 0, kPeriod},  // the time a poll takes does not stretch the period
      {3'400ms, 3, 4 * kPeriod},
      {kPeriod, 1, 2 * kPeriod},  // the next poll is never now
      {-5ms, 0, kPeriod},         // the clock stands before the deadline
  };
  for (const auto& [after, skipped, next] : rows) {
    PollSchedule schedule = due_at(kDue);

    EXPECT_EQ(schedule.advance(kDue + after), skipped) << after.count();
    EXPECT_EQ(schedule.due(), kDue + next) << after.count();
  }
}

TEST(PollScheduleTest, APollThatIsAskedForTakesThePlaceOfTheNextOne) {
  PollSchedule schedule = due_at(kDue);

  schedule.begin_early(kDue - 400ms);

  EXPECT_EQ(schedule.due(), kDue - 400ms + kPeriod);
}

TEST(PollScheduleTest, PollsThatAreSkippedBeforeOneThatIsAskedForAreCounted) {
  PollSchedule schedule = due_at(kDue);

  EXPECT_EQ(schedule.begin_early(kDue + 3'400ms), 3U);
  EXPECT_EQ(schedule.due(), kDue + 3'400ms + kPeriod);
}

TEST(PollScheduleTest, PollsThatAreSkippedBeforeAChangeOfThePeriodAreCountedByTheOldOne) {
  PollSchedule schedule = due_at(kDue);

  EXPECT_EQ(schedule.restart(kDue + 3'400ms, 10 * kPeriod), 3U);
  EXPECT_EQ(schedule.due(), kDue + 3'400ms + 10 * kPeriod);
}

TEST(PollScheduleTest, NothingIsSkippedBeforeTheFirstUse) {
  PollSchedule schedule;

  EXPECT_EQ(schedule.restart(kDue, kPeriod), 0U);
}

/// The polls of an hour, in milliseconds, when scrapes come at `scrapes` (rising) and each has the
/// counts read that are older than `max_age`. Polls take no time, and timers fire when they should.
std::vector<int> polls_of(const std::vector<int>& scrapes, milliseconds max_age) {
  const Time start{};
  PollSchedule schedule;
  schedule.restart(start, kPeriod);
  schedule.start(start);
  std::vector<int> polls;
  const auto poll = [&](Time now) {
    polls.push_back(
        static_cast<int>(std::chrono::duration_cast<milliseconds>(now - start).count()));
  };
  for (const int at : scrapes) {
    const Time now = start + milliseconds{at};
    for (; schedule.due() <= now; schedule.advance(schedule.due())) poll(schedule.due());
    if (milliseconds{at - polls.back()} <= max_age) continue;
    schedule.begin_early(now);
    poll(now);
  }
  return polls;
}

/// The shortest and the longest time between two of them.
std::pair<int, int> distances(const std::vector<int>& polls) {
  int shortest = std::numeric_limits<int>::max();
  int longest = 0;
  for (std::size_t i = 1; i < polls.size(); ++i) {
    shortest = std::min(shortest, polls[i] - polls[i - 1]);
    longest = std::max(longest, polls[i] - polls[i - 1]);
  }
  return {shortest, longest};
}

RC_GTEST_PROP(PollScheduleTest, CostsOnePollForEachScrapeWhereScrapesComeAsOftenAsPolls, ()) {
  constexpr int kScrapes = 100;
  const int phase = *rc::gen::inRange(0, 1'000);
  std::vector<int> scrapes;
  for (int i = 0; i < kScrapes; ++i) {
    scrapes.push_back(200 + phase + i * 1'000 +
                      *rc::gen::inRange(-100, 100));  // they come unevenly
  }

  const std::vector<int> polls = polls_of(scrapes, 500ms);

  RC_ASSERT(polls.size() <= kScrapes + 3);  // until the first scrape, and at the end
  RC_ASSERT(polls.size() >= kScrapes - 1);
}

RC_GTEST_PROP(PollScheduleTest, KeepsItsPromisesWhoeverScrapes, ()) {
  const milliseconds max_age{*rc::gen::inRange(100, 2'000)};
  auto scrapes = *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(0, 20'000));
  std::sort(scrapes.begin(), scrapes.end());
  scrapes.push_back(20'000);

  const std::vector<int> polls = polls_of(scrapes, max_age);

  const auto [shortest, longest] = distances(polls);
  RC_ASSERT(milliseconds{longest} <= kPeriod);  // what comes and goes is seen
  RC_ASSERT(milliseconds{shortest} >= std::min<milliseconds>(max_age, kPeriod));  // and no flood
  for (const int scrape : scrapes) {
    const auto after = std::upper_bound(polls.begin(), polls.end(), scrape);
    RC_ASSERT(milliseconds{scrape - *std::prev(after)} <= max_age);
  }
}

TEST(PollScheduleTest, PollsOnceASecondForTwoServersThatScrapeEverySecond) {
  std::vector<int> scrapes;
  for (int i = 0; i < 100; ++i) {
    scrapes.push_back(i * 1'000 + 100);
    scrapes.push_back(i * 1'000 + 700);
  }

  const std::vector<int> polls = polls_of(scrapes, 500ms);

  EXPECT_LE(polls.size(), 102U);
}

TEST(LateAfterTest, LeavesHalfOfTheIntervalWithinBounds) {
  using std::chrono::hours;
  struct Case {
    std::chrono::nanoseconds interval, late_after;
  };
  const Case cases[] = {
      {100ms, 100ms}, {250ms, 125ms}, {1000ms, 500ms}, {15'000ms, 2000ms}, {hours{1}, 2000ms}};
  for (const Case& each : cases) EXPECT_EQ(late_after(each.interval), each.late_after);
}

collect::PollReport report_of(std::size_t by_records, std::vector<int> without) {
  collect::PollReport report;
  report.now.cpus_by_records = by_records;
  report.now.cpus_without_records = std::move(without);
  return report;
}

/// What is logged of these polls.
std::string log_of(const std::vector<collect::PollReport>& reports) {
  testing::internal::CaptureStderr();
  {
    Log log{LogLevel::kInfo, LogFormat::kLogfmt};
    PollLog polls{log};
    for (const collect::PollReport& report : reports) polls.add(report, PollLog::Clock::now());
  }
  return testing::internal::GetCapturedStderr();
}

TEST(PollLogTest, SaysOnceWhichCpusCountByRecordsAgain) {
  const std::string logged =
      log_of({report_of(4, {}), report_of(1, {1, 2, 3}), report_of(3, {2}), report_of(3, {2})});

  const std::string line = "cgroups are counted by records of switches again on CPUs 1,3";
  const std::size_t at = logged.find(line);
  ASSERT_NE(at, logged.npos) << logged;
  EXPECT_EQ(logged.find("again", at + line.size()), logged.npos) << logged;
}

TEST(PollLogTest, SaysNothingOfACpuThatIsOffline) {
  EXPECT_EQ(log_of({report_of(1, {1}), report_of(1, {})}), "");
}

}  // namespace
}  // namespace pex::daemon
