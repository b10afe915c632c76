#include "daemon/commands/stat_counting.h"

#include <boost/json.hpp>
#include <cerrno>

#include "daemon/commands/stat_plan.h"
#include "daemon/commands/stat_report.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using test::ScriptedKernel;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::Optional;
using Answer = ScriptedKernel::Answer;
using Coverage = StatValue::Coverage;

/// `stat` for process 17, which has one thread, over a scripted kernel.
class StatCountingTest : public testing::Test {
 protected:
  StatCountingTest() {
    options_.stat = true;
    options_.stat_pid = 17;
    options_.roots.cgroupfs = test::machine("").cgroupfs;
  }

  /// Opened and enabled.
  StatCounting count(const std::vector<std::string>& events) {
    options_.stat_events = events;
    Result<StatPlan, StatFailure> planned = plan_stat(options_, kernel_);
    EXPECT_TRUE(planned);
    Result<perf::TaskCounters> counters =
        perf::TaskCounters::of_process(kernel_, options_.roots, 17, planned->groups.groups);
    EXPECT_TRUE(counters);
    EXPECT_TRUE(counters->enable(kernel_));
    return {std::move(planned->plan), std::move(planned->groups), *std::move(counters), kernel_};
  }

  void answer(const std::string& leader, nanoseconds enabled, nanoseconds running,
              std::vector<std::uint64_t> counts) {
    kernel_.answer("pid17 " + leader, {Answer::Kind::kCounts, enabled, running, std::move(counts)});
  }

  /// One reading of a group that always had the PMU, in a process that used so much CPU time.
  StatCounting page_faults(nanoseconds counted, std::optional<StatUse> use = {}) {
    StatCounting counting = count({"page-faults"});
    answer("page-faults", counted, counted, {12});
    counting.read();
    counting.finish(use);
    return counting;
  }

  /// The group had the PMU for half of each of `intervals` of 100 ms, and counted so many in each.
  StatValue half_counted(const std::vector<std::uint64_t>& intervals) {
    StatCounting counting = count({"cycles"});
    std::uint64_t total = 0;
    int interval = 0;
    for (const std::uint64_t count : intervals) {
      ++interval;
      total += count;
      answer("cycles", 100ms * interval, 50ms * interval, {total});
      counting.read();
    }
    counting.finish();
    return counting.values().front();
  }

  test::TempTree tree_{
      {"sys/devices/system/cpu/online", "0-1\n"}, {"proc/17/task/17/"}, {"config.yaml", ""}};
  Options options_ = options_in(tree_);
  ScriptedKernel kernel_;
};

TEST_F(StatCountingTest, IsExactForAGroupThatAlwaysHadThePmu) {
  StatCounting counting = count({"cycles,instructions"});
  answer("cycles", 10ms, 10ms, {1000, 300});
  counting.read();
  answer("cycles", 20ms, 20ms, {2500, 700});
  counting.read();
  counting.finish();

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].coverage, Coverage::kComplete);
  EXPECT_EQ(values[0].total.value, 2500U);
  EXPECT_EQ(values[0].total.observed, 2500U);
  EXPECT_EQ(values[0].standard_error, 0.0);
  EXPECT_EQ(values[1].total.value, 700U);
  EXPECT_EQ(values[1].times.enabled, 20ms);
}

TEST_F(StatCountingTest, EstimatesWhatAMultiplexedGroupMissed) {
  const StatValue value = half_counted({1000, 1010, 990, 1000});

  EXPECT_EQ(value.coverage, Coverage::kScaled);
  EXPECT_EQ(value.total.observed, 4000U);
  EXPECT_NEAR(static_cast<double>(value.total.value), 8000, 10);
  EXPECT_THAT(value.standard_error, Optional(AllOf(Gt(0), Lt(100))));
  EXPECT_EQ(value.times.running, 200ms);
  EXPECT_EQ(value.times.unmeasured, 0ms);
}

TEST_F(StatCountingTest, DoesNotKnowTheErrorAfterOneInterval) {
  const StatValue value = half_counted({1000});

  EXPECT_EQ(value.total.value, 2000U);
  EXPECT_FALSE(value.standard_error);
}

TEST_F(StatCountingTest, HasNoValueForAGroupThatNeverHadThePmu) {
  StatCounting counting = count({"cycles"});
  for (int interval = 1; interval < 4; ++interval) {
    answer("cycles", 100ms * interval, 0ms, {0});
    counting.read();
  }
  counting.finish();

  const StatValue value = counting.values().front();
  EXPECT_TRUE(value.event.available);
  EXPECT_EQ(value.coverage, Coverage::kNone);
  EXPECT_EQ(value.times.unmeasured, 300ms);
}

TEST_F(StatCountingTest, CountsNothingInAProcessThatDidNotRun) {
  StatCounting counting = count({"cycles"});
  answer("cycles", {}, {}, {0});
  counting.read();
  counting.finish();

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kComplete);
  EXPECT_EQ(value.total.value, 0U);
}

TEST_F(StatCountingTest, TakesACommandWithHardlyAnyTimeForOneThatWasNotCounted) {
  const StatValue value = page_faults(10us, StatUse{2ms}).values().front();

  EXPECT_EQ(value.coverage, Coverage::kNone);
  EXPECT_FALSE(value.event.available);
  EXPECT_THAT(describe(value.event.reason), HasSubstr("set-user-ID"));
}

TEST_F(StatCountingTest, AccountsCpuTimeOfACommandThatWasNotCounted) {
  const StatCounting counting = page_faults(300ms, StatUse{400ms});

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kIncomplete);
  EXPECT_EQ(value.times.unmeasured, 100ms);
  EXPECT_THAT(described(counting.warnings()),
              ElementsAre(HasSubstr("of CPU time were not counted")));
}

TEST_F(StatCountingTest, IsCompleteIfOnlyTheBeginningOfTheProcessWasNotCounted) {
  const StatCounting counting = page_faults(1ms, StatUse{2ms});

  EXPECT_EQ(counting.values().front().coverage, Coverage::kComplete);
  EXPECT_TRUE(counting.warnings().empty());
}

TEST_F(StatCountingTest, IsIncompleteIfMoreThanATwentiethOfTheTimeWasNotCounted) {
  const auto coverage = [this](nanoseconds used) {
    return page_faults(150ms, StatUse{used}).values().front().coverage;
  };

  EXPECT_EQ(coverage(157ms), Coverage::kComplete);
  EXPECT_EQ(coverage(159ms), Coverage::kIncomplete);
}

TEST_F(StatCountingTest, CountsDuplicatesAsNoSeriesIsPublished) {
  StatCounting counting = count({"page-faults", "page-faults", "page-faults,page-faults"});
  answer("page-faults", 1ms, 1ms, {12});
  const std::vector<StatValue> values = counting.values();

  ASSERT_EQ(values.size(), 4U);
  for (const StatValue& value : values) EXPECT_TRUE(value.event.available) << value.event.group;
  EXPECT_TRUE(counting.warnings().empty());
}

TEST_F(StatCountingTest, HasTheReasonOfARefusedEventAndNoZero) {
  kernel_.refuse("cycles", ENOENT);
  StatCounting counting = count({"cycles,page-faults"});
  answer("page-faults", 5ms, 5ms, {12});
  counting.read();
  counting.finish();

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_FALSE(values[0].event.available);
  EXPECT_EQ(values[0].coverage, Coverage::kNone);
  EXPECT_EQ(values[0].event.reason.code, ENOENT);
  EXPECT_EQ(values[1].total.value, 12U);
  EXPECT_TRUE(counting.counts_any());
}

TEST_F(StatCountingTest, HasTheReasonOfAnEventThatIsRefusedInTheProcessOnly) {
  kernel_.refuse("pid17 cycles", EACCES);
  StatCounting counting = count({"cycles"});

  EXPECT_FALSE(counting.counts_any());
  EXPECT_EQ(counting.values().front().event.reason.code, EACCES);
  EXPECT_THAT(counting.values().front().event.reason.cause, HasSubstr("process"));
}

TEST_F(StatCountingTest, ReportsTimeThatAPinnedGroupWasWithoutThePmu) {
  StatCounting counting = count({"cycles:D"});
  answer("cycles", 100ms, 100ms, {1000});
  answer("cpu-clock", 100ms, 100ms, {});
  counting.read();
  kernel_.answer("pid17 cycles", {Answer::Kind::kEof, {}, {}, {}});
  answer("cpu-clock", 250ms, 250ms, {});
  counting.read();
  answer("cycles", 150ms, 150ms, {1600});
  answer("cpu-clock", 300ms, 300ms, {});
  counting.read();
  counting.finish();

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kIncomplete);
  EXPECT_EQ(value.total.value, 1600U);
  EXPECT_EQ(value.times.unmeasured, 150ms);
  EXPECT_THAT(described(counting.warnings()), Contains(HasSubstr("lost its place on the PMU")));
}

TEST_F(StatCountingTest, SaysWhenTheLastReadingFailed) {
  StatCounting counting = page_faults(5ms);
  kernel_.answer("pid17 page-faults", {Answer::Kind::kError, {}, {}, {}, ECHILD});
  counting.read();
  counting.finish();

  EXPECT_EQ(counting.values().front().total.value, 12U);
  EXPECT_THAT(described(counting.warnings()), ElementsAre(HasSubstr("an earlier reading")));
}

TEST_F(StatCountingTest, OnAHybridMachineScalesByTheTimeOnTheCpusOfEachPmu) {
  options_.roots.sysfs = test::machine("intel_hybrid").sysfs;  // 8 CPUs cpu_atom, 16 cpu_core
  StatCounting counting = count({"cycles"});
  ASSERT_EQ(counting.counters().size(), 4U);  // two groups, two clocks
  for (const std::string& group : kernel_.open_groups()) {
    Answer answer{Answer::Kind::kCounts, 400ms, 100ms, {5000}};
    if (group == "pid17 task-clock") answer.counts = {12'500'000};  // on each CPU, in ns
    kernel_.answer(group, answer);
  }
  counting.read();
  counting.finish();

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].event.event, "cycles on cpu_atom");
  EXPECT_EQ(values[0].times.enabled, 100ms);
  EXPECT_EQ(values[0].coverage, Coverage::kComplete);
  EXPECT_EQ(values[0].total.value, 5000U);
  EXPECT_EQ(values[1].event.event, "cycles on cpu_core");
  EXPECT_EQ(values[1].times.enabled, 200ms);
  EXPECT_EQ(values[1].coverage, Coverage::kScaled);
  EXPECT_EQ(values[1].total.value, 10'000U);
}

TEST_F(StatCountingTest, OpensEventsThatDoNotNameTheirPmuOnTheCpusOfThat) {
  const auto cpus_of = [&](const std::string& machine, const std::string& event) {
    options_.roots.sysfs = test::machine(machine).sysfs;
    options_.stat_events = {event};
    const Result<StatPlan, StatFailure> planned = plan_stat(options_, kernel_);
    std::vector<std::vector<int>> cpus;
    for (std::size_t group = 0; group < planned->plan.counting.groups.size(); ++group) {
      cpus.push_back(planned->groups.groups[group].cpus);
    }
    return cpus;
  };
  const std::vector<int> little = {0, 1, 2, 3};
  const std::vector<int> big = {4, 5};

  EXPECT_THAT(cpus_of("arm_biglittle", "cycles"), ElementsAre(little, big));
  EXPECT_THAT(cpus_of("arm_biglittle", "L1-dcache-loads"), ElementsAre(little, big));
  EXPECT_THAT(cpus_of("arm_biglittle", "page-faults"), ElementsAre(IsEmpty()));
  EXPECT_THAT(cpus_of("intel_hybrid", "cycles"), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST_F(StatCountingTest, RefusesASpellingAsAWrongCommandLine) {
  options_.stat_events = {"cycles:z"};
  const Result<StatPlan, StatFailure> planned = plan_stat(options_, kernel_);

  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().status, kUsage);
  EXPECT_THAT(described(planned.error().errors), Contains(HasSubstr("cycles:z")));
}

TEST_F(StatCountingTest, WithoutEventsTakesTheGroupsThatAreCountedByCgroup) {
  tree_.write("config.yaml",
              "groups:\n"
              "  - {name: a, events: [page-faults], scope: cgroup}\n"
              "  - {name: b, events: [context-switches], scope: cpu}\n"
              "  - {name: c, events: [task-clock], scope: [cpu, cgroup]}\n");
  const StatCounting counting = count({});

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].event.group, "a");
  EXPECT_EQ(values[1].event.event, "task-clock");
}

TEST_F(StatCountingTest, WithoutEventsOfCgroupsAsksForTheirNames) {
  tree_.write("config.yaml", "groups: [{name: a, events: [page-faults], scope: cpu}]\n");
  const Result<StatPlan, StatFailure> planned = plan_stat(options_, kernel_);

  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().status, kFailed);
  EXPECT_THAT(described(planned.error().errors), Contains(HasSubstr("name the events with -e")));
}

// --------------------------------------------------------------------------------------------------
// What is printed

class StatReportTest : public StatCountingTest {
 protected:
  /// One of each: multiplexed, exact, in seconds, never scheduled, refused.
  StatReport report() {
    kernel_.refuse("branches", ENOENT);
    StatCounting counting = count({"cycles,branches", "page-faults", "task-clock", "cache-misses"});
    for (int interval = 1; interval <= 4; ++interval) {
      const milliseconds enabled{100 * interval};
      const auto times = static_cast<std::uint64_t>(interval);
      answer("cycles", enabled, enabled / 2, {1'000'000 * times + 1000 * (times % 2)});
      answer("page-faults", enabled, enabled, {123 * times});
      answer("task-clock", enabled, enabled, {99'999'999 * times});
      answer("cache-misses", enabled, 0ms, {0});
      counting.read();
    }
    counting.finish();
    StatReport report;
    report.command = {"make", "-j2"};
    report.pid = 17;
    report.end = perf::CommandEnd{2, 0};
    report.elapsed = 420ms;
    report.values = counting.values();
    report.warnings = counting.warnings();
    return report;
  }
};

TEST_F(StatReportTest, IsATableWithALineForEachEvent) {
  std::ostringstream text;
  print_stat_table(text, report());

  EXPECT_EQ(
      text.str(),
      "GROUP  EVENT         OBSERVED     ESTIMATE  STD ERROR  ON PMU  UNIT     METRIC\n"
      "1      cycles         4000000      8000000      0.05%   50.0%  events   "
      "perf_cgroup_cycles_total\n"
      "1      branches             -  not counted          -       -  events   "
      "perf_cgroup_branches_total\n"
      "2      page-faults        492          492      exact  100.0%  events   "
      "perf_cgroup_page_faults_total\n"
      "3      task-clock    0.400000     0.400000      exact  100.0%  seconds  "
      "perf_cgroup_task_clock_seconds_total\n"
      "4      cache-misses         0      unknown          -    0.0%  events   "
      "perf_cgroup_cache_misses_total\n"
      "\n"
      "420\u00a0ms elapsed; exit status 2\n"
      "\n"
      "events with an unknown estimate never had the PMU\n"
      "\n"
      "not counted here: branches: this machine has no such hardware counter (ENOENT). Remedy: "
      "remove the event, or enable a virtual PMU if this is a virtual machine\n");
}

TEST_F(StatReportTest, AsJsonIsOneLineWithAllEvidence) {
  std::ostringstream text;
  print_stat_json(text, report());
  ASSERT_EQ(text.str().find('\n'), text.str().size() - 1);
  const boost::json::object json = boost::json::parse(text.str()).as_object();

  EXPECT_EQ(json.at("run"), true);
  EXPECT_EQ(json.at("exit_status"), 2);
  EXPECT_TRUE(json.at("signal").is_null());
  EXPECT_EQ(json.at("command").as_array().size(), 2U);
  EXPECT_DOUBLE_EQ(json.at("elapsed_seconds").as_double(), 0.42);
  const boost::json::array& events = json.at("events").as_array();
  ASSERT_EQ(events.size(), 5U);
  const boost::json::object& cycles = events[0].as_object();
  EXPECT_EQ(cycles.at("coverage"), "scaled");
  EXPECT_EQ(cycles.at("observed").to_number<std::uint64_t>(), 4'000'000U);
  EXPECT_GT(cycles.at("standard_error").as_double(), 0);
  EXPECT_DOUBLE_EQ(cycles.at("running_seconds").as_double(), 0.2);
  const boost::json::object& branches = events[1].as_object();
  EXPECT_TRUE(branches.at("estimate").is_null());
  EXPECT_FALSE(branches.contains("observed"));
  EXPECT_THAT(std::string(branches.at("reason").as_string()), HasSubstr("Remedy"));
  const boost::json::object& clock = events[3].as_object();
  EXPECT_EQ(clock.at("unit"), "seconds");
  EXPECT_NEAR(clock.at("estimate").as_double(), 0.4, 1e-6);
  const boost::json::object& misses = events[4].as_object();
  EXPECT_EQ(misses.at("coverage"), "none");
  EXPECT_TRUE(misses.at("estimate").is_null());
  EXPECT_TRUE(misses.at("standard_error").is_null());
  EXPECT_DOUBLE_EQ(misses.at("unmeasured_seconds").as_double(), 0.4);
}

/// The table and the JSON.
std::pair<std::string, std::string> texts_of(const StatReport& report) {
  std::ostringstream table;
  std::ostringstream json;
  print_stat_table(table, report);
  print_stat_json(json, report);
  return {table.str(), json.str()};
}

TEST_F(StatReportTest, NamesTheSignalThatEndedTheCommand) {
  StatReport result = report();
  result.end = perf::CommandEnd{0, 9};

  const auto [table, json] = texts_of(result);

  EXPECT_THAT(table, HasSubstr("; signal 9 ended the command\n"));
  EXPECT_THAT(json, AllOf(HasSubstr("\"signal\":9"), HasSubstr("\"exit_status\":null")));
}

TEST_F(StatReportTest, OfAProcessHasNoCommand) {
  StatReport result = report();
  result.command.clear();
  result.end.reset();

  const auto [table, json] = texts_of(result);

  EXPECT_THAT(table, HasSubstr("420\u00a0ms elapsed\n"));
  EXPECT_THAT(json, AllOf(HasSubstr("\"pid\":17"), Not(HasSubstr("command"))));
}

TEST_F(StatReportTest, OfACommandThatWasNotRunHasNoTime) {
  StatReport result = report();
  result.end.reset();
  result.elapsed.reset();

  const auto [table, json] = texts_of(result);

  EXPECT_THAT(table, HasSubstr("\n\nthe command was not run\n"));
  EXPECT_THAT(json, AllOf(HasSubstr("\"run\":false"), Not(HasSubstr("elapsed"))));
}

}  // namespace
}  // namespace pex::daemon
