#include "daemon/commands/stat_counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cerrno>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon/commands/stat_plan.h"
#include "daemon/commands/stat_report.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::ScriptedKernel;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Answer = ScriptedKernel::Answer;
using Coverage = StatValue::Coverage;

/// `stat` for process 17, which has one thread, over a scripted kernel.
class StatCountingTest : public testing::Test {
 protected:
  StatCountingTest() {
    options_.stat = true;
    options_.stat_pid = 17;
    options_.roots = test::machine("");
    options_.roots.sysfs = tree_.path("sys");
    options_.roots.procfs = tree_.path("proc");
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

  void answer(const std::string& leader, milliseconds enabled, milliseconds running,
              std::vector<std::uint64_t> counts) {
    kernel_.answer("pid17 " + leader, {Answer::Kind::kCounts, enabled, running, std::move(counts)});
  }

  /// The group had the PMU for half of each of `intervals` of 100 ms, and counted so many in each.
  void count_half(StatCounting& counting, const std::vector<std::uint64_t>& intervals) {
    std::uint64_t total = 0;
    int interval = 0;
    for (const std::uint64_t count : intervals) {
      ++interval;
      total += count;
      answer("cycles", milliseconds{100 * interval}, milliseconds{50 * interval}, {total});
      counting.read();
    }
    counting.finish();
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0-1\n"}, {"proc/17/task/17/"}};
  Options options_;
  ScriptedKernel kernel_;
};

std::vector<std::string> errors_of(const Result<StatPlan, StatFailure>& planned) {
  std::vector<std::string> lines;
  for (const Error& error : planned.error().errors) lines.push_back(describe(error));
  return lines;
}

TEST_F(StatCountingTest, IsExactForAGroupThatAlwaysHadThePmu) {
  StatCounting counting = count({"cycles,instructions"});
  answer("cycles", milliseconds{10}, milliseconds{10}, {1000, 300});
  counting.read();
  answer("cycles", milliseconds{20}, milliseconds{20}, {2500, 700});
  counting.read();
  counting.finish();

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].coverage, Coverage::kComplete);
  EXPECT_EQ(values[0].total.value, 2500U);
  EXPECT_EQ(values[0].total.observed, 2500U);
  EXPECT_EQ(values[0].standard_error, 0.0);
  EXPECT_EQ(values[1].total.value, 700U);
  EXPECT_EQ(values[1].times.enabled, milliseconds{20});
}

TEST_F(StatCountingTest, EstimatesWhatAMultiplexedGroupMissed) {
  StatCounting counting = count({"cycles"});
  count_half(counting, {1000, 1010, 990, 1000});

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kScaled);
  EXPECT_EQ(value.total.observed, 4000U);
  EXPECT_NEAR(static_cast<double>(value.total.value), 8000, 10);
  ASSERT_TRUE(value.standard_error);
  EXPECT_GT(*value.standard_error, 0);
  EXPECT_LT(*value.standard_error, 100);
  EXPECT_EQ(value.times.running, milliseconds{200});
  EXPECT_EQ(value.times.unmeasured.count(), 0);
}

TEST_F(StatCountingTest, DoesNotKnowTheErrorAfterOneInterval) {
  StatCounting counting = count({"cycles"});
  count_half(counting, {1000});

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.total.value, 2000U);
  EXPECT_FALSE(value.standard_error);
}

TEST_F(StatCountingTest, HasNoValueForAGroupThatNeverHadThePmu) {
  StatCounting counting = count({"cycles"});
  for (int interval = 1; interval < 4; ++interval) {
    answer("cycles", milliseconds{100 * interval}, milliseconds{0}, {0});
    counting.read();
  }
  counting.finish();

  const StatValue value = counting.values().front();
  EXPECT_TRUE(value.event.available);
  EXPECT_EQ(value.coverage, Coverage::kNone);
  EXPECT_EQ(value.times.unmeasured, milliseconds{300});
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
  StatCounting counting = count({"page-faults"});
  kernel_.answer("pid17 page-faults",
                 {Answer::Kind::kCounts, nanoseconds{10'000}, nanoseconds{10'000}, {0}});
  counting.read();
  counting.finish(StatUse{milliseconds{2}});

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kNone);
  EXPECT_FALSE(value.event.available);
  EXPECT_THAT(describe(value.event.reason), HasSubstr("set-user-ID"));
}

TEST_F(StatCountingTest, AccountsCpuTimeOfACommandThatWasNotCounted) {
  StatCounting counting = count({"page-faults"});
  answer("page-faults", milliseconds{300}, milliseconds{300}, {12});
  counting.read();
  counting.finish(StatUse{milliseconds{400}});

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kIncomplete);
  EXPECT_EQ(value.times.unmeasured, milliseconds{100});
  ASSERT_EQ(counting.warnings().size(), 1U);
  EXPECT_THAT(describe(counting.warnings().front()), HasSubstr("of CPU time were not counted"));
}

TEST_F(StatCountingTest, IsCompleteIfOnlyTheBeginningOfTheProcessWasNotCounted) {
  StatCounting counting = count({"page-faults"});
  answer("page-faults", milliseconds{1}, milliseconds{1}, {12});
  counting.read();
  counting.finish(StatUse{milliseconds{2}});

  EXPECT_EQ(counting.values().front().coverage, Coverage::kComplete);
  EXPECT_TRUE(counting.warnings().empty());
}

TEST_F(StatCountingTest, IsIncompleteIfMoreThanATwentiethOfTheTimeWasNotCounted) {
  for (const auto& [used, coverage] : {std::pair{milliseconds{157}, Coverage::kComplete},
                                       {milliseconds{159}, Coverage::kIncomplete}}) {
    StatCounting counting = count({"page-faults"});
    answer("page-faults", milliseconds{150}, milliseconds{150}, {12});
    counting.read();
    counting.finish(StatUse{used});

    EXPECT_EQ(counting.values().front().coverage, coverage) << used.count();
  }
}

TEST_F(StatCountingTest, CountsDuplicatesAsNoSeriesIsPublished) {
  StatCounting counting = count({"page-faults", "page-faults", "page-faults,page-faults"});
  answer("page-faults", milliseconds{1}, milliseconds{1}, {12});
  const std::vector<StatValue> values = counting.values();

  ASSERT_EQ(values.size(), 4U);
  for (const StatValue& value : values) EXPECT_TRUE(value.event.available) << value.event.group;
  EXPECT_TRUE(counting.warnings().empty());
}

TEST_F(StatCountingTest, HasTheReasonOfARefusedEventAndNoZero) {
  kernel_.refuse("cycles", ENOENT);
  StatCounting counting = count({"cycles,page-faults"});
  answer("page-faults", milliseconds{5}, milliseconds{5}, {12});
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

TEST_F(StatCountingTest, KnowsWhenNothingCanBeCounted) {
  kernel_.refuse("cycles", ENOENT);
  EXPECT_FALSE(count({"cycles"}).counts_any());
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
  answer("cycles", milliseconds{100}, milliseconds{100}, {1000});
  answer("cpu-clock", milliseconds{100}, milliseconds{100}, {});
  counting.read();
  kernel_.answer("pid17 cycles", {Answer::Kind::kEof, {}, {}, {}});
  answer("cpu-clock", milliseconds{250}, milliseconds{250}, {});
  counting.read();
  answer("cycles", milliseconds{150}, milliseconds{150}, {1600});
  answer("cpu-clock", milliseconds{300}, milliseconds{300}, {});
  counting.read();
  counting.finish();

  const StatValue value = counting.values().front();
  EXPECT_EQ(value.coverage, Coverage::kIncomplete);
  EXPECT_EQ(value.total.value, 1600U);
  EXPECT_EQ(value.times.unmeasured, milliseconds{150});
  const std::vector<Error> warnings = counting.warnings();
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(describe(warnings.back()), HasSubstr("lost its place on the PMU"));
}

TEST_F(StatCountingTest, SaysWhenTheLastReadingFailed) {
  StatCounting counting = count({"page-faults"});
  answer("page-faults", milliseconds{5}, milliseconds{5}, {12});
  counting.read();
  kernel_.answer("pid17 page-faults", {Answer::Kind::kError, {}, {}, {}, ECHILD});
  counting.read();
  counting.finish();

  EXPECT_EQ(counting.values().front().total.value, 12U);
  ASSERT_EQ(counting.warnings().size(), 1U);
  EXPECT_THAT(describe(counting.warnings().front()), HasSubstr("an earlier reading"));
}

TEST_F(StatCountingTest, OnAHybridMachineScalesByTheTimeOnTheCpusOfEachPmu) {
  options_.roots.sysfs = test::machine("intel_hybrid").sysfs;  // 8 CPUs cpu_atom, 16 cpu_core
  StatCounting counting = count({"cycles"});
  ASSERT_EQ(counting.counters().size(), 4U);  // two groups, two clocks
  for (const std::string& group : kernel_.open_groups()) {
    Answer answer{Answer::Kind::kCounts, milliseconds{400}, milliseconds{100}, {5000}};
    if (group == "pid17 task-clock") answer.counts = {12'500'000};  // on each CPU, in ns
    kernel_.answer(group, answer);
  }
  counting.read();
  counting.finish();

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].event.event, "cycles on cpu_atom");
  EXPECT_EQ(values[0].times.enabled, milliseconds{100});
  EXPECT_EQ(values[0].coverage, Coverage::kComplete);
  EXPECT_EQ(values[0].total.value, 5000U);
  EXPECT_EQ(values[1].event.event, "cycles on cpu_core");
  EXPECT_EQ(values[1].times.enabled, milliseconds{200});
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
  EXPECT_THAT(errors_of(planned).front(), HasSubstr("cycles:z"));
}

TEST_F(StatCountingTest, WithoutEventsTakesTheGroupsThatAreCountedByCgroup) {
  tree_.write("c.yaml",
              "groups:\n"
              "  - {name: a, events: [page-faults], scope: cgroup}\n"
              "  - {name: b, events: [context-switches], scope: cpu}\n"
              "  - {name: c, events: [task-clock], scope: [cpu, cgroup]}\n");
  options_.config_file = tree_.path("c.yaml");
  const StatCounting counting = count({});

  const std::vector<StatValue> values = counting.values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].event.group, "a");
  EXPECT_EQ(values[1].event.event, "task-clock");
}

TEST_F(StatCountingTest, WithoutEventsOfCgroupsAsksForTheirNames) {
  tree_.write("c.yaml", "groups: [{name: a, events: [page-faults], scope: cpu}]\n");
  options_.config_file = tree_.path("c.yaml");
  const Result<StatPlan, StatFailure> planned = plan_stat(options_, kernel_);

  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().status, kFailed);
  EXPECT_THAT(errors_of(planned).front(), HasSubstr("name the events with -e"));
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
      answer("cache-misses", enabled, milliseconds{0}, {0});
      counting.read();
    }
    counting.finish();
    StatReport report;
    report.command = {"make", "-j2"};
    report.pid = 17;
    report.end = perf::CommandEnd{2, 0};
    report.elapsed = milliseconds{420};
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

TEST_F(StatReportTest, NamesTheSignalThatEndedTheCommand) {
  StatReport result = report();
  result.end = perf::CommandEnd{0, 9};
  std::ostringstream text;
  std::ostringstream json;
  print_stat_table(text, result);
  print_stat_json(json, result);

  EXPECT_THAT(text.str(), HasSubstr("; signal 9 ended the command\n"));
  EXPECT_THAT(json.str(), AllOf(HasSubstr("\"signal\":9"), HasSubstr("\"exit_status\":null")));
}

TEST_F(StatReportTest, OfAProcessHasNoCommand) {
  StatReport result = report();
  result.command.clear();
  result.end.reset();
  std::ostringstream text;
  std::ostringstream json;
  print_stat_table(text, result);
  print_stat_json(json, result);

  EXPECT_THAT(text.str(), HasSubstr("420\u00a0ms elapsed\n"));
  EXPECT_THAT(json.str(), AllOf(HasSubstr("\"pid\":17"), Not(HasSubstr("command"))));
}

TEST_F(StatReportTest, OfACommandThatWasNotRunHasNoTime) {
  StatReport result = report();
  result.end.reset();
  result.elapsed.reset();
  std::ostringstream text;
  std::ostringstream json;
  print_stat_table(text, result);
  print_stat_json(json, result);

  EXPECT_THAT(text.str(), HasSubstr("\n\nthe command was not run\n"));
  EXPECT_THAT(json.str(), AllOf(HasSubstr("\"run\":false"), Not(HasSubstr("elapsed"))));
}

}  // namespace
}  // namespace pex::daemon
