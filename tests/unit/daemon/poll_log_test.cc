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
