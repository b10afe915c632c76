#include "exposition/text_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pex::exposition {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

collect::GroupPlan group(std::string name, std::initializer_list<const char*> events) {
  collect::GroupPlan plan;
  plan.name = std::move(name);
  for (const char* event : events) plan.events.push_back(*perf::parse_event(event));
  return plan;
}

std::shared_ptr<const collect::TargetSet> targets(std::initializer_list<const char*> paths) {
  collect::TargetSet set;
  for (const char* path : paths) {
    set.cgroups.push_back({set.cgroups.size() + 1, path, nullptr});
  }
  return std::make_shared<const collect::TargetSet>(std::move(set));
}

/// Every group of every row counted all the time, for one second.
collect::ScopeTable table(const collect::ScopePlan& plan, std::size_t rows,
                          std::vector<std::uint64_t> totals) {
  return {rows, plan.size(), collect::events_in(plan),
          std::vector<collect::GroupRow>(rows * plan.size(), {true, true, 1s, 1s}),
          std::move(totals)};
}

collect::Snapshot cpu_snapshot(collect::ScopePlan plan, std::vector<int> cpus,
                               std::vector<std::uint64_t> totals) {
  collect::Snapshot snapshot;
  snapshot.cpu = table(plan, cpus.size(), std::move(totals));
  snapshot.cpus = std::move(cpus);
  snapshot.targets = targets({});
  snapshot.plan =
      std::make_shared<const collect::CountingPlan>(collect::CountingPlan{std::move(plan), {}});
  return snapshot;
}

collect::Snapshot cgroup_snapshot(collect::ScopePlan plan,
                                  std::shared_ptr<const collect::TargetSet> rows,
                                  std::vector<std::uint64_t> totals) {
  collect::Snapshot snapshot;
  snapshot.cgroup = table(plan, rows->cgroups.size(), std::move(totals));
  snapshot.targets = std::move(rows);
  snapshot.plan =
      std::make_shared<const collect::CountingPlan>(collect::CountingPlan{{}, std::move(plan)});
  return snapshot;
}

std::string written(const collect::Snapshot& snapshot) {
  TextWriter writer;
  std::string text;
  writer.write(snapshot, text);
  return text;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(EscapeLabelTest, EscapesWhatTheFormatAsksForAndReplacesWhatIsNotUtf8) {
  struct Row {
    std::string value;
    std::string escaped;
  };
  const Row rows[] = {
      {"", ""},
      {"/system.slice/a.service", "/system.slice/a.service"},
      {"a\\x2db", "a\\\\x2db"},
      {"say \"x\"", "say \\\"x\\\""},
      {"a\nb", "a\\nb"},
      {"\t\r{}=,", "\t\r{}=,"},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
      {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"},
      {"\xE2\x82\xAC", "\xE2\x82\xAC"},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"a\xFFz", "a\uFFFDffz"},
      {"\x80", "\uFFFD80"},
      {"\xC3", "\uFFFDc3"},                                      // cut short
      {"\xC3(", "\uFFFDc3("},                                    // not continued
      {"\xE2\x82", "\uFFFDe2\uFFFD82"},                          // cut short
      {"\xE2\x82\"", "\uFFFDe2\uFFFD82\\\""},                    // what follows is still escaped
      {"\xC0\xAF", "\uFFFDc0\uFFFDaf"},                          // overlong '/'
      {"\xE0\x80\xAF", "\uFFFDe0\uFFFD80\uFFFDaf"},              // overlong '/'
      {"\xED\xA0\x80", "\uFFFDed\uFFFDa0\uFFFD80"},              // a surrogate
      {"\xF4\x90\x80\x80", "\uFFFDf4\uFFFD90\uFFFD80\uFFFD80"},  // beyond U+10FFFF
      {"\xF5\x80\x80\x80", "\uFFFDf5\uFFFD80\uFFFD80\uFFFD80"},
      {"\uFFFD", "\uFFFDef\uFFFDbf\uFFFDbd"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(escape_label(row.value), row.escaped);
  }
}

RC_GTEST_PROP(EscapeLabelTest, KeepsDifferentValuesDifferent, ()) {
  // Few bytes, of which many are not UTF-8, so that near misses are common.
  const auto value = rc::gen::container<std::string>(
      rc::gen::element('f', 'e', '\xEF', '\xBF', '\xBD', '\xFF', '\xFE', '\\', '"', 'n', '\n'));
  const std::string one = *value;
  const std::string other = *value;

  RC_ASSERT((one == other) == (escape_label(one) == escape_label(other)));
}

RC_GTEST_PROP(EscapeLabelTest, LeavesNothingThatWouldEndTheLabel, (std::string value)) {
  const std::string escaped = escape_label(value);

  for (std::size_t i = 0; i < escaped.size(); ++i) {
    RC_ASSERT(escaped[i] != '\n');
    RC_ASSERT(escaped[i] != '"');
    if (escaped[i] != '\\') continue;
    ++i;
    RC_ASSERT(i < escaped.size());
    RC_ASSERT(escaped[i] == '\\' || escaped[i] == '"' || escaped[i] == 'n');
  }
}

TEST(TextWriterTest, WritesEveryFamilyOnceWithAllItsRows) {
  const collect::Snapshot snapshot =
      cpu_snapshot({group("core", {"cycles", "instructions:u"}), group("soft", {"task-clock"})},
                   {0, 3}, {10, 11, 1'500'000'000, 20, 21, 2'000'000'000});

  EXPECT_EQ(
      written(snapshot),
      "# HELP perf_cpu_cycles_total Core clock cycles while not halted. Event cycles, by CPU.\n"
      "# TYPE perf_cpu_cycles_total counter\n"
      "perf_cpu_cycles_total{cpu=\"0\"} 10\n"
      "perf_cpu_cycles_total{cpu=\"3\"} 20\n"
      "# HELP perf_cpu_instructions_user_total Instructions retired, in user mode. Event "
      "instructions:u, by CPU.\n"
      "# TYPE perf_cpu_instructions_user_total counter\n"
      "perf_cpu_instructions_user_total{cpu=\"0\"} 11\n"
      "perf_cpu_instructions_user_total{cpu=\"3\"} 21\n"
      "# HELP perf_cpu_task_clock_seconds_total CPU time of the tasks of a cgroup; for a whole "
      "CPU elapsed time, idle or not. Event task-clock, by CPU.\n"
      "# TYPE perf_cpu_task_clock_seconds_total counter\n"
      "perf_cpu_task_clock_seconds_total{cpu=\"0\"} 1.5\n"
      "perf_cpu_task_clock_seconds_total{cpu=\"3\"} 2\n"
      "# HELP perf_group_enabled_seconds_total Time for which a group of events wanted the "
      "PMU; for a cgroup only while its tasks ran.\n"
      "# TYPE perf_group_enabled_seconds_total counter\n"
      "perf_group_enabled_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
      "perf_group_enabled_seconds_total{group=\"core\",cpu=\"3\"} 1\n"
      "perf_group_enabled_seconds_total{group=\"soft\",cpu=\"0\"} 1\n"
      "perf_group_enabled_seconds_total{group=\"soft\",cpu=\"3\"} 1\n"
      "# HELP perf_group_running_seconds_total Time for which a group of events had the PMU; "
      "counts for the rest of the time enabled are estimates.\n"
      "# TYPE perf_group_running_seconds_total counter\n"
      "perf_group_running_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
      "perf_group_running_seconds_total{group=\"core\",cpu=\"3\"} 1\n"
      "perf_group_running_seconds_total{group=\"soft\",cpu=\"0\"} 1\n"
      "perf_group_running_seconds_total{group=\"soft\",cpu=\"3\"} 1\n");
}

TEST(TextWriterTest, KeepsHostAndCgroupsInFamiliesOfTheirOwn) {
  collect::Snapshot snapshot =
      cgroup_snapshot({group("core", {"cycles"})}, targets({"/a", "/b \"quoted\""}), {7, 8});

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("\nperf_cgroup_cycles_total{cgroup=\"/a\"} 7\n"
                              "perf_cgroup_cycles_total{cgroup=\"/b \\\"quoted\\\"\"} 8\n"));
  EXPECT_THAT(text,
              HasSubstr("\nperf_group_enabled_seconds_total{group=\"core\",cgroup=\"/a\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("perf_cpu_")));
}

TEST(TextWriterTest, WritesTheTimesOfBothScopesUnderOneHeader) {
  const collect::ScopePlan plan{group("core", {"cycles"})};
  collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1});
  snapshot.targets = targets({"/a"});
  snapshot.cgroup = table(plan, 1, {2});
  snapshot.plan = std::make_shared<const collect::CountingPlan>(collect::CountingPlan{plan, plan});

  const std::string text = written(snapshot);

  EXPECT_EQ(occurrences(text, "# TYPE perf_group_enabled_seconds_total "), 1u);
  EXPECT_EQ(occurrences(text, "# TYPE perf_group_running_seconds_total "), 1u);
  EXPECT_THAT(text,
              HasSubstr("perf_group_running_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
                        "perf_group_running_seconds_total{group=\"core\",cgroup=\"/a\"} 1\n"));
}

TEST(TextWriterTest, WritesCountsExactly) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{9'007'199'254'740'993}, kMax}) {
    const std::string text = written(cpu_snapshot({group("core", {"cycles"})}, {0}, {count}));

    EXPECT_THAT(text,
                HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} " + std::to_string(count) + "\n"));
  }
}

TEST(TextWriterTest, WritesClocksExactlyInSeconds) {
  struct Row {
    std::uint64_t nanoseconds;
    const char* seconds;
  };
  const Row rows[] = {
      {0, "0"},
      {1, "0.000000001"},
      {10, "0.00000001"},
      {100'000'000, "0.1"},
      {999'999'999, "0.999999999"},
      {1'000'000'000, "1"},
      {1'500'000'000, "1.5"},
      {1'000'000'001, "1.000000001"},
      {1'050'000'000, "1.05"},
      {10'000'000'000, "10"},
      {kMax, "18446744073.709551615"},
  };

  for (const Row& row : rows) {
    const std::string text =
        written(cpu_snapshot({group("soft", {"task-clock"})}, {0}, {row.nanoseconds}));

    EXPECT_THAT(text, HasSubstr(std::string("perf_cpu_task_clock_seconds_total{cpu=\"0\"} ") +
                                row.seconds + "\n"));
  }
}

TEST(TextWriterTest, LeavesOutARowWithoutAValueButTellsItsTimes) {
  collect::Snapshot snapshot =
      cpu_snapshot({group("core", {"cycles", "instructions"}), group("soft", {"task-clock"})},
                   {0, 1}, {10, 11, 12, 0, 0, 22});
  snapshot.cpu.group_rows[2] = {false, true, 2s, 0s};  // core on CPU 1

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 10\n#"));
  EXPECT_THAT(text, HasSubstr("perf_cpu_instructions_total{cpu=\"0\"} 11\n#"));
  EXPECT_THAT(text, HasSubstr("perf_cpu_task_clock_seconds_total{cpu=\"1\"} 0.000000022\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_enabled_seconds_total{group=\"core\",cpu=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_running_seconds_total{group=\"core\",cpu=\"1\"} 0\n"));
}

TEST(TextWriterTest, LeavesOutTheTimesOfWhatWasNeverRead) {
  collect::Snapshot snapshot = cpu_snapshot({group("core", {"cycles"})}, {0, 1}, {10, 0});
  snapshot.cpu.group_rows[1] = {};  // could not be opened on CPU 1

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_group_enabled_seconds_total{group=\"core\",cpu=\"0\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("cpu=\"1\"")));
}

TEST(TextWriterTest, LeavesOutAFamilyThatHasNoRowLeft) {
  collect::Snapshot snapshot =
      cpu_snapshot({group("core", {"cycles"}), group("soft", {"task-clock"})}, {0}, {0, 12});
  snapshot.cpu.group_rows[0].has_value = false;

  const std::string text = written(snapshot);

  EXPECT_THAT(text, Not(HasSubstr("perf_cpu_cycles_total")));
  EXPECT_THAT(text, HasSubstr("perf_cpu_task_clock_seconds_total{cpu=\"0\"} 0.000000012\n"));
}

TEST(TextWriterTest, WritesNothingWhereNothingIsCounted) {
  EXPECT_EQ(written(cpu_snapshot({group("core", {"cycles"})}, {}, {})), "");
  EXPECT_EQ(written(cpu_snapshot({}, {0, 1}, {})), "");
}

TEST(TextWriterTest, AppendsToWhatIsThere) {
  TextWriter writer;
  std::string text = "# before\n";

  writer.write(cpu_snapshot({group("core", {"cycles"})}, {0}, {1}), text);

  EXPECT_THAT(text, StartsWith("# before\n# HELP perf_cpu_cycles_total "));
}

TEST(TextWriterTest, WritesTheSameForTheSameSnapshotEveryTime) {
  const collect::Snapshot snapshot =
      cgroup_snapshot({group("core", {"cycles"})}, targets({"/a", "/b"}), {7, 8});
  TextWriter writer;
  std::string first;
  std::string second;

  writer.write(snapshot, first);
  writer.write(snapshot, second);

  EXPECT_EQ(first, second);
}

TEST(TextWriterTest, KeepsLabelsWhileTheTargetsAreTheSameAndFollowsNewOnes) {
  const collect::ScopePlan plan{group("core", {"cycles"})};
  const auto before = targets({"/a", "/b"});
  TextWriter writer;
  std::string first;
  std::string second;
  std::string third;

  writer.write(cgroup_snapshot(plan, before, {1, 2}), first);
  writer.write(cgroup_snapshot(plan, before, {3, 4}), second);
  writer.write(cgroup_snapshot(plan, targets({"/c"}), {5}), third);

  EXPECT_THAT(second, HasSubstr("{cgroup=\"/a\"} 3\nperf_cgroup_cycles_total{cgroup=\"/b\"} 4\n"));
  EXPECT_THAT(third, HasSubstr("perf_cgroup_cycles_total{cgroup=\"/c\"} 5\n"));
  EXPECT_THAT(third, Not(HasSubstr("/a")));
}

TEST(TextWriterTest, FollowsCpusThatComeAndGo) {
  const collect::ScopePlan plan{group("core", {"cycles"})};
  TextWriter writer;
  std::string first;
  std::string second;

  writer.write(cpu_snapshot(plan, {0, 1}, {1, 2}), first);
  writer.write(cpu_snapshot(plan, {0, 2}, {3, 4}), second);

  EXPECT_THAT(first, HasSubstr("perf_cpu_cycles_total{cpu=\"1\"} 2\n"));
  EXPECT_THAT(second, HasSubstr("perf_cpu_cycles_total{cpu=\"2\"} 4\n"));
  EXPECT_THAT(second, Not(HasSubstr("cpu=\"1\"")));
}

}  // namespace
}  // namespace pex::exposition
