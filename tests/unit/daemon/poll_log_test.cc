#include "daemon/run/poll_log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pex::daemon {
namespace {

collect::PollReport report_of(std::size_t by_records, std::vector<int> without) {
  collect::PollReport report;
  report.now.cpus_by_records = by_records;
  report.now.cpus_without_records = std::move(without);
  return report;
}

TEST(PollLogTest, SaysOnceWhichCpusCountByRecordsAgain) {
  testing::internal::CaptureStderr();
  {
    Log log{LogLevel::kInfo, LogFormat::kLogfmt};
    PollLog polls{log};
    const PollLog::Clock::time_point now = PollLog::Clock::now();
    polls.add(report_of(4, {}), now);
    polls.add(report_of(1, {1, 2, 3}), now);
    polls.add(report_of(3, {2}), now);
    polls.add(report_of(3, {2}), now);
  }
  const std::string logged = testing::internal::GetCapturedStderr();

  const std::string line = "cgroups are counted by records of switches again on CPUs 1,3";
  const std::size_t at = logged.find(line);
  ASSERT_NE(at, logged.npos) << logged;
  EXPECT_EQ(logged.find("again", at + line.size()), logged.npos) << logged;
}

TEST(PollLogTest, SaysNothingOfACpuThatIsOffline) {
  testing::internal::CaptureStderr();
  {
    Log log{LogLevel::kInfo, LogFormat::kLogfmt};
    PollLog polls{log};
    polls.add(report_of(1, {1}), PollLog::Clock::now());
    polls.add(report_of(1, {}), PollLog::Clock::now());
  }

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace pex::daemon
