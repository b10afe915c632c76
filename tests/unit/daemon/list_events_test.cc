#include "daemon/commands/list_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/planning.h"
#include "support/scripted_kernel.h"

namespace pex::daemon {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string listed(const std::string& glob, OutputFormat output) {
  test::ScriptedKernel kernel;
  Options options;
  options.roots = test::machine("intel_server");
  options.list_glob = glob;
  options.output = output;
  Log log{LogLevel::kError, LogFormat::kLogfmt};
  testing::internal::CaptureStdout();
  EXPECT_EQ(list_events(options, kernel, log), kOk);
  EXPECT_EQ(kernel.still_open(), 0U);
  return testing::internal::GetCapturedStdout();
}

TEST(EventListTest, TriesAnEventBehindTheLeaderThatTheKernelWants) {
  const std::string table = listed("cpu/topdown-retiring/", OutputFormat::kText);
  const std::string json = listed("cpu/topdown-retiring/", OutputFormat::kJson);

  EXPECT_THAT(table,
              ContainsRegex("cpu/topdown-retiring/ .* yes  *.*Only in a group with cpu/slots/"));
  EXPECT_THAT(json, HasSubstr(R"("available":true)"));
  EXPECT_THAT(json, HasSubstr(R"("leader":"cpu/slots/")"));
}

TEST(EventListTest, NamesNoLeaderOfAnEventThatNeedsNone) {
  EXPECT_THAT(listed("cpu/slots/", OutputFormat::kText), Not(HasSubstr("Only in a group")));
  EXPECT_THAT(listed("cpu/slots/", OutputFormat::kJson), Not(HasSubstr("leader")));
}

TEST(EventListTest, FindsAnEventInAnyCaseAndAllOfAKindOrAPmu) {
  EXPECT_THAT(listed("llc-load-misses", OutputFormat::kText), HasSubstr("LLC-load-misses "));
  const std::string software = listed("software", OutputFormat::kText);
  EXPECT_THAT(software, HasSubstr("context-switches "));
  EXPECT_THAT(software, Not(HasSubstr("instructions ")));
  EXPECT_THAT(listed("msr", OutputFormat::kText), HasSubstr("msr/tsc/ "));
}

}  // namespace
}  // namespace pex::daemon
