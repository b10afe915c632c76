#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "daemon/commands/commands.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Options asked_for(const std::string& glob) {
  Options options;
  options.roots = test::machine("intel_server");
  options.list_glob = glob;
  return options;
}

std::string listed(const std::string& glob, OutputFormat output) {
  test::ScriptedKernel kernel;
  Options options = asked_for(glob);
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

TEST(EventListTest, HidesWhatTheMachineLacksUnlessAskedForAllOrByName) {
  const auto table = [](const std::string& glob, bool is_all, int code) {
    test::ScriptedKernel kernel;
    kernel.refuse("bus-cycles", code);
    Options options = asked_for(glob);
    options.list_all = is_all;
    Log log{LogLevel::kError, LogFormat::kLogfmt};
    testing::internal::CaptureStdout();
    EXPECT_EQ(list_events(options, kernel, log), kOk);
    return testing::internal::GetCapturedStdout();
  };

  EXPECT_THAT(
      table("*", false, ENOENT),
      AllOf(HasSubstr("\ncycles "), Not(HasSubstr("\nbus-cycles ")),
            ContainsRegex("\n\n[0-9]+ events? that this machine lacks (is|are) not listed")));
  EXPECT_THAT(table("*", true, ENOENT),
              AllOf(HasSubstr("\nbus-cycles "), Not(HasSubstr("not listed"))));
  EXPECT_THAT(table("bus-*", false, ENOENT), HasSubstr("\nbus-cycles "));
  EXPECT_THAT(table("*", false, EACCES), HasSubstr("\nbus-cycles "));
}

/// The table for the events of an uncore PMU.
std::string listed_with(const char* cpumask, int refused_with_guests) {
  const test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"},
                            {"sys/bus/event_source/devices/cpu/type", "4\n"},
                            {"sys/bus/event_source/devices/imc/type", "20\n"},
                            {"sys/bus/event_source/devices/imc/cpumask", cpumask},
                            {"sys/bus/event_source/devices/imc/format/event", "config:0-7\n"},
                            {"sys/bus/event_source/devices/imc/events/reads", "event=0x1\n"}};
  test::ScriptedKernel kernel;
  if (refused_with_guests != 0) kernel.refuse_with_guests(refused_with_guests);
  Options options = asked_for("[ic][my]c*s*");
  options.roots.sysfs = tree.path("sys");
  Log log{LogLevel::kError, LogFormat::kLogfmt};
  testing::internal::CaptureStdout();
  EXPECT_EQ(list_events(options, kernel, log), kOk);
  return testing::internal::GetCapturedStdout();
}

TEST(EventListTest, AnEventWhosePmuHasNoCpuOnlineWaits) {
  EXPECT_THAT(listed_with("\n", 0), ContainsRegex("imc/reads/ .* waits "));
  EXPECT_THAT(listed_with("0\n", 0), ContainsRegex("imc/reads/ .* yes "));
}

TEST(EventListTest, AnEventThatTheKernelCountsWithoutGuestsIsThere) {
  EXPECT_THAT(listed_with("0\n", EOPNOTSUPP), ContainsRegex("cycles .* yes "));
}

/// What is said on stderr.
std::string said_about(const Options& options, ExitStatus expected) {
  test::ScriptedKernel kernel;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Log log{LogLevel::kInfo, LogFormat::kLogfmt};
    EXPECT_EQ(list_events(options, kernel, log), expected) << options.list_glob;
  }
  testing::internal::GetCapturedStdout();
  return testing::internal::GetCapturedStderr();
}

TEST(EventListTest, SaysThatTracepointsAreMissingIfTracefsIsNotMounted) {
  for (const char* glob : {"*", "*switch*"}) {
    EXPECT_THAT(
        said_about(asked_for(glob), kOk),
        AllOf(HasSubstr("level=warn msg=\"tracepoints are not listed: could not find tracefs"),
              HasSubstr("Remedy: mount -t tracefs tracefs /sys/kernel/tracing")));
  }
  for (const char* glob : {"sched:*", "tracepoint"}) {
    EXPECT_THAT(said_about(asked_for(glob), kFailed),
                AllOf(HasSubstr("no event matches '" + std::string(glob) +
                                "', and tracepoints are not known: could not find tracefs"),
                      HasSubstr("Remedy: mount -t tracefs tracefs /sys/kernel/tracing")));
  }
  EXPECT_THAT(said_about(asked_for("instuctions*"), kFailed),
              AllOf(HasSubstr("tracepoints are not listed"), HasSubstr("did you mean")));
}

TEST(EventListTest, SaysNothingOfTracefsWherePatternsMatchNoTracepoint) {
  EXPECT_EQ(said_about(asked_for("software"), kOk), "");
  EXPECT_EQ(said_about(asked_for("L1-*"), kOk), "");
  EXPECT_THAT(said_about(asked_for("L1-x"), kFailed), Not(HasSubstr("tracefs")));
}

TEST(EventListTest, SaysNothingOfTracefsWhereItIsMounted) {
  const test::TempTree tree{{"sys/kernel/tracing/events/sched/sched_switch/id", "310\n"},
                            {"sys/devices/system/cpu/online", "0\n"}};
  Options options = asked_for("*");
  options.roots.sysfs = tree.path("sys");

  EXPECT_EQ(said_about(options, kOk), "");
  options.list_glob = "sched:sched_swich*";
  EXPECT_THAT(said_about(options, kFailed), HasSubstr("did you mean 'sched:sched_switch'?"));
}

}  // namespace
}  // namespace pex::daemon
