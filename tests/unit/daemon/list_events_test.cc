
#include <cerrno>

#include "daemon/commands/commands.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class EventListTest : public testing::Test {
 protected:
  EventListTest() { options_.roots = test::machine("intel_server"); }

  Printed print(const std::string& glob) {
    options_.list_glob = glob;
    return printed_by([this] {
      Log log{LogLevel::kInfo, LogFormat::kLogfmt};
      return list_events(options_, kernel_, log);
    });
  }
  std::string listed(const std::string& glob) {
    const Printed printed = print(glob);
    EXPECT_EQ(printed.status, kOk);
    EXPECT_EQ(kernel_.still_open(), 0U);
    return printed.out;
  }
  std::string listed_as_json(const std::string& glob) {
    options_.output = OutputFormat::kJson;
    const std::string json = listed(glob);
    options_.output = OutputFormat::kText;
    return json;
  }
  /// What is said on stderr of a list that ends with `status`.
  std::string said_about(const std::string& glob, ExitStatus status) {
    const Printed printed = print(glob);
    EXPECT_EQ(printed.status, status) << glob;
    return printed.err;
  }

  test::ScriptedKernel kernel_;
  Options options_;
};

TEST_F(EventListTest, TriesAnEventBehindTheLeaderThatTheKernelWants) {
  EXPECT_THAT(listed("cpu/topdown-retiring/"),
              ContainsRegex("cpu/topdown-retiring/ .* yes  *.*Only in a group with cpu/slots/"));
  EXPECT_THAT(listed_as_json("cpu/topdown-retiring/"),
              AllOf(HasSubstr(R"("available":true)"), HasSubstr(R"("leader":"cpu/slots/")")));
}

TEST_F(EventListTest, NamesNoLeaderOfAnEventThatNeedsNone) {
  EXPECT_THAT(listed("cpu/slots/"), Not(HasSubstr("Only in a group")));
  EXPECT_THAT(listed_as_json("cpu/slots/"), Not(HasSubstr("leader")));
}

TEST_F(EventListTest, FindsAnEventInAnyCaseAndAllOfAKindOrAPmu) {
  EXPECT_THAT(listed("llc-load-misses"), HasSubstr("LLC-load-misses "));
  EXPECT_THAT(listed("software"),
              AllOf(HasSubstr("context-switches "), Not(HasSubstr("instructions "))));
  EXPECT_THAT(listed("msr"), HasSubstr("msr/tsc/ "));
}

TEST_F(EventListTest, HidesWhatTheMachineLacksUnlessAskedForAllOrByName) {
  kernel_.refuse("bus-cycles", ENOENT);

  EXPECT_THAT(
      listed("*"),
      AllOf(HasSubstr("\ncycles "), Not(HasSubstr("\nbus-cycles ")),
            ContainsRegex("\n\n[0-9]+ events? that this machine lacks (is|are) not listed")));
  EXPECT_THAT(listed("bus-*"), HasSubstr("\nbus-cycles "));
  options_.list_all = true;
  EXPECT_THAT(listed("*"), AllOf(HasSubstr("\nbus-cycles "), Not(HasSubstr("not listed"))));
}

TEST_F(EventListTest, ShowsWhatIsRefusedForAnotherReason) {
  kernel_.refuse("bus-cycles", EACCES);

  EXPECT_THAT(listed("*"), HasSubstr("\nbus-cycles "));
}

TEST_F(EventListTest, AnEventWhosePmuHasNoCpuOnlineWaits) {
  test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"},
                      {"sys/bus/event_source/devices/imc/type", "20\n"},
                      {"sys/bus/event_source/devices/imc/cpumask", "\n"},
                      {"sys/bus/event_source/devices/imc/format/event", "config:0-7\n"},
                      {"sys/bus/event_source/devices/imc/events/reads", "event=0x1\n"}};
  options_.roots.sysfs = tree.path("sys");

  EXPECT_THAT(listed("imc*"), ContainsRegex("imc/reads/ .* waits "));
  tree.write("sys/bus/event_source/devices/imc/cpumask", "0\n");
  EXPECT_THAT(listed("imc*"), ContainsRegex("imc/reads/ .* yes "));
}

TEST_F(EventListTest, AnEventThatTheKernelCountsWithoutGuestsIsThere) {
  kernel_.refuse_with_guests(EOPNOTSUPP);

  EXPECT_THAT(listed("cycles"), ContainsRegex("cycles .* yes "));
}

TEST_F(EventListTest, SaysThatTracepointsAreMissingIfTracefsIsNotMounted) {
  const auto remedy = HasSubstr("Remedy: mount -t tracefs tracefs /sys/kernel/tracing");
  for (const char* glob : {"*", "*switch*"}) {
    EXPECT_THAT(
        said_about(glob, kOk),
        AllOf(HasSubstr("level=warn msg=\"tracepoints are not listed: could not find tracefs"),
              remedy));
  }
  for (const std::string glob : {"sched:*", "tracepoint"}) {
    EXPECT_THAT(said_about(glob, kFailed),
                AllOf(HasSubstr("no event matches '" + glob +
                                "', and tracepoints are not known: could not find tracefs"),
                      remedy));
  }
  EXPECT_THAT(said_about("instuctions*", kFailed),
              AllOf(HasSubstr("tracepoints are not listed"), HasSubstr("did you mean")));
}

TEST_F(EventListTest, SaysNothingOfTracefsWherePatternsMatchNoTracepoint) {
  EXPECT_EQ(said_about("software", kOk), "");
  EXPECT_EQ(said_about("L1-*", kOk), "");
  EXPECT_THAT(said_about("L1-x", kFailed), Not(HasSubstr("tracefs")));
}

TEST_F(EventListTest, SaysNothingOfTracefsWhereItIsMounted) {
  const test::TempTree tree{{"sys/kernel/tracing/events/sched/sched_switch/id", "310\n"},
                            {"sys/devices/system/cpu/online", "0\n"}};
  options_.roots.sysfs = tree.path("sys");

  EXPECT_EQ(said_about("*", kOk), "");
  EXPECT_THAT(said_about("sched:sched_swich*", kFailed),
              HasSubstr("did you mean 'sched:sched_switch'?"));
}

}  // namespace
}  // namespace pex::daemon
