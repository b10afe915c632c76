#include "exposition/renderer.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <limits>

#include "any_snapshot.h"
#include "base/boot_clock.h"
#include "exposition/poll_metrics.h"
#include "snapshots.h"
#include "support/events.h"
#include "support/test_headers.h"

namespace {

time_t date_is_ahead = 0;  ///< in seconds

}  // namespace

/// The clocks of the kernel, with another date.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += date_is_ahead;
  return result;
}

namespace pex::exposition::renderer_test {
namespace {

using namespace std::chrono_literals;
using test::scope_plan;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Value = collect::GroupRow::Value;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::string written(const collect::Snapshot& snapshot, const RenderOptions& wanted = {}) {
  Renderer renderer;
  const auto text = std::make_shared<std::string>();
  renderer.render(&snapshot, NoMetrics{}, wanted, text);
  return *text;
}

void render(Renderer& renderer, const collect::Snapshot& snapshot, std::string& text) {
  const auto rendered = std::make_shared<std::string>(text);
  renderer.render(&snapshot, NoMetrics{}, {}, rendered);
  text = *rendered;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all{text};
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> samples_in(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with('#'); });
  return lines;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RendererTest, WritesEveryFamilyOnceWithAllItsRows) {
  const collect::Snapshot snapshot =
      cpu_snapshot(scope_plan({{"core", {"cycles", "instructions:u"}}, {"soft", {"task-clock"}}}),
                   {0, 3}, {10, 11, 1'500'000'000, 20, 21, 2'000'000'000});

  EXPECT_EQ(written(snapshot),
            "# HELP perf_cpu_cycles_total Core clock cycles while not halted (event cycles, by "
            "CPU).\n"
            "# TYPE perf_cpu_cycles_total counter\n"
            "perf_cpu_cycles_total{cpu=\"0\"} 10\n"
            "perf_cpu_cycles_total{cpu=\"3\"} 20\n"
            "# HELP perf_cpu_instructions_user_total Instructions retired, in user mode (event "
            "instructions:u, by CPU).\n"
            "# TYPE perf_cpu_instructions_user_total counter\n"
            "perf_cpu_instructions_user_total{cpu=\"0\"} 11\n"
            "perf_cpu_instructions_user_total{cpu=\"3\"} 21\n"
            "# HELP perf_cpu_task_clock_seconds_total Elapsed time, including the time that the "
            "CPU is idle (event task-clock, by CPU).\n"
            "# TYPE perf_cpu_task_clock_seconds_total counter\n"
            "perf_cpu_task_clock_seconds_total{cpu=\"0\"} 1.5\n"
            "perf_cpu_task_clock_seconds_total{cpu=\"3\"} 2\n"
            "# HELP perf_group_enabled_seconds_total Time for which a group of events was "
            "enabled.\n"
            "# TYPE perf_group_enabled_seconds_total counter\n"
            "perf_group_enabled_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
            "perf_group_enabled_seconds_total{group=\"core\",cpu=\"3\"} 1\n"
            "perf_group_enabled_seconds_total{group=\"soft\",cpu=\"0\"} 1\n"
            "perf_group_enabled_seconds_total{group=\"soft\",cpu=\"3\"} 1\n"
            "# HELP perf_group_running_seconds_total Time for which a group of events was on the "
            "PMU.\n"
            "# TYPE perf_group_running_seconds_total counter\n"
            "perf_group_running_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
            "perf_group_running_seconds_total{group=\"core\",cpu=\"3\"} 1\n"
            "perf_group_running_seconds_total{group=\"soft\",cpu=\"0\"} 1\n"
            "perf_group_running_seconds_total{group=\"soft\",cpu=\"3\"} 1\n");
}

TEST(RendererTest, WritesTheEvidenceOfAGroupFromTheSnapshotOnThatHasIt) {
  Renderer renderer;
  std::string text;
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"soft", {"page-faults"}}}), targets({"/a"}), {5});
  snapshot.number = 1;
  snapshot.same_since = {1};
  render(renderer, snapshot, text);
  EXPECT_THAT(text, Not(HasSubstr("observed")));
  snapshot.number = 2;
  snapshot.cgroup[0].is_estimated = true;

  render(renderer, snapshot, text);

  EXPECT_THAT(text, HasSubstr("perf_cgroup_page_faults_observed_total{cgroup=\"/a\"}"));
}

TEST(RendererTest, KeepsHostAndCgroupsInFamiliesOfTheirOwn) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a", "/b \"quoted\""}), {7, 8});

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("\nperf_cgroup_cycles_total{cgroup=\"/a\"} 7\n"
                              "perf_cgroup_cycles_total{cgroup=\"/b \\\"quoted\\\"\"} 8\n"));
  EXPECT_THAT(text,
              HasSubstr("\nperf_group_enabled_seconds_total{group=\"core\",cgroup=\"/a\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("perf_cpu_")));
}

TEST(RendererTest, WritesWhoACgroupIsOnAllItsSeriesAndAllElseOnItsInfo) {
  const collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}});
  collect::TargetSet set = *targets({"/a"});
  set.cgroups[0].description = std::make_shared<const cgroup::Description>(cgroup::Description{
      {{"container_id", "c0"}, {"team", "\"x\""}}, {{"runtime", "docker"}}, "c0"});
  const collect::Snapshot snapshot =
      cgroup_snapshot(plan, std::make_shared<const collect::TargetSet>(std::move(set)), {2});

  const std::string text = written(snapshot);

  const std::string identity = R"(cgroup="/a",container_id="c0",team="\"x\"")";
  EXPECT_THAT(text, HasSubstr("\nperf_cgroup_cycles_total{" + identity + "} 2\n"));
  EXPECT_THAT(text, HasSubstr("{group=\"core\"," + identity + "} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE perf_cgroup_info gauge\nperf_cgroup_info{" + identity +
                              ",runtime=\"docker\"} 1\n"));
}

TEST(RendererTest, WritesARowOfACgroupForEachCpuThatItHasOneOf) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a", "/b"}), {1, 2});
  snapshot.cgroup_rows = {{1, 0}, {1, 3}};

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_cgroup_cycles_total{cgroup=\"/b\",cpu=\"0\"} 1\n"
                              "perf_cgroup_cycles_total{cgroup=\"/b\",cpu=\"3\"} 2\n"));
}

TEST(RendererTest, WritesTheCoverageOfARowThatLacksSome) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a", "/b"}), {1, 2});
  collect::GroupRow& lacking = snapshot.cgroup[0].rows[1];
  lacking.value = collect::GroupRow::Value::kNone;
  lacking.wanted_on = 4;
  lacking.counted_on = 3;

  const std::string text = written(snapshot);

  EXPECT_EQ(occurrences(text, "\nperf_group_coverage_ratio{"), 1U);
  EXPECT_THAT(text, HasSubstr("# TYPE perf_group_coverage_ratio gauge\n"
                              "perf_group_coverage_ratio{group=\"core\",cgroup=\"/b\"} 0.75\n"));
  EXPECT_EQ(occurrences(text, "\nperf_cgroup_cycles_total{"), 1U);
}

TEST(RendererTest, WritesTheTimesOfBothScopesUnderOneHeader) {
  const collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}});
  collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1});
  snapshot.targets = targets({"/a"});
  snapshot.cgroup_rows = {{0, {}}};
  snapshot.cgroup = tables(plan, 1, {2});
  snapshot.plan = std::make_shared<const collect::CountingPlan>(collect::CountingPlan{plan, plan});

  const std::string text = written(snapshot);

  EXPECT_EQ(occurrences(text, "# TYPE perf_group_enabled_seconds_total "), 1u);
  EXPECT_EQ(occurrences(text, "# TYPE perf_group_running_seconds_total "), 1u);
  EXPECT_THAT(text,
              HasSubstr("perf_group_running_seconds_total{group=\"core\",cpu=\"0\"} 1\n"
                        "perf_group_running_seconds_total{group=\"core\",cgroup=\"/a\"} 1\n"));
}

TEST(RendererTest, LeavesOutARowWithoutAValueButReportsItsTimes) {
  collect::Snapshot snapshot =
      cpu_snapshot(scope_plan({{"core", {"cycles", "instructions"}}, {"soft", {"task-clock"}}}),
                   {0, 1}, {10, 11, 12, 0, 0, 22});
  snapshot.cpu[0].rows[1] = {Value::kNone, true, {.enabled = 2s}};  // core on CPU 1

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 10\n#"));
  EXPECT_THAT(text, HasSubstr("perf_cpu_instructions_total{cpu=\"0\"} 11\n#"));
  EXPECT_THAT(text, HasSubstr("perf_cpu_task_clock_seconds_total{cpu=\"1\"} 0.000000022\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_enabled_seconds_total{group=\"core\",cpu=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("perf_group_running_seconds_total{group=\"core\",cpu=\"1\"} 0\n"));
}

TEST(RendererTest, LeavesOutTheTimesOfWhatWasNeverRead) {
  collect::Snapshot snapshot = cpu_snapshot(scope_plan({{"core", {"cycles"}}}), {0, 1}, {10, 0});
  snapshot.cpu[0].rows[1] = {Value::kNone, false, {}};  // could not be opened on CPU 1

  const std::string text = written(snapshot);

  EXPECT_THAT(text, HasSubstr("perf_group_enabled_seconds_total{group=\"core\",cpu=\"0\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("cpu=\"1\"")));
}

TEST(RendererTest, LeavesOutAFamilyThatHasNoRowLeft) {
  collect::Snapshot snapshot =
      cpu_snapshot(scope_plan({{"core", {"cycles"}}, {"soft", {"task-clock"}}}), {0}, {0, 12});
  snapshot.cpu[0].rows[0].value = Value::kNone;

  const std::string text = written(snapshot);

  EXPECT_THAT(text, Not(HasSubstr("perf_cpu_cycles_total")));
  EXPECT_THAT(text, HasSubstr("perf_cpu_task_clock_seconds_total{cpu=\"0\"} 0.000000012\n"));
}

TEST(RendererTest, WritesNothingWhereNothingIsCounted) {
  EXPECT_EQ(written(cpu_snapshot(scope_plan({{"core", {"cycles"}}}), {}, {})), "");
  EXPECT_EQ(written(cpu_snapshot({}, {0, 1}, {})), "");
}

TEST(RendererTest, ReplacesWhatIsThereHoweverLong) {
  const collect::Snapshot snapshot = cpu_snapshot(scope_plan({{"core", {"cycles"}}}), {0}, {1});
  for (const std::size_t bytes : {0, 1, 100, 100'000}) {
    Renderer renderer;
    std::string text(bytes, '#');

    render(renderer, snapshot, text);

    EXPECT_EQ(text, written(snapshot));
  }
}

TEST(RendererTest, FollowsWhatIsNewAndKeepsTheRest) {
  const collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}});
  const auto two = targets({"/a", "/b"});
  const collect::Snapshot cgroups = cgroup_snapshot(plan, two, {1, 2});
  collect::Snapshot new_targets = cgroups;
  new_targets.targets = targets({"/c", "/d"});
  struct Row {
    const char* what;
    collect::Snapshot before;
    collect::Snapshot after;
  };
  const Row rows[] = {
      {"counts", cgroups, cgroup_snapshot(plan, two, {3, 4})},
      {"targets of the same plan", cgroups, new_targets},
      {"plan of the same targets", cgroups,
       cgroup_snapshot(scope_plan({{"other", {"branches"}}}), two, {1, 2})},
      {"fewer targets", cgroups, cgroup_snapshot(plan, targets({"/c"}), {5})},
      {"CPUs", cpu_snapshot(plan, {0, 1}, {1, 2}), cpu_snapshot(plan, {0, 2}, {3, 4})},
  };

  for (const Row& row : rows) {
    Renderer renderer;
    std::string text;
    render(renderer, row.before, text);
    EXPECT_EQ(text, written(row.before)) << row.what;

    render(renderer, row.after, text);

    EXPECT_EQ(text, written(row.after)) << row.what;
  }
}

// --- what was rendered before -------------------------------------------------------------------

/// Two cgroups, as of the first poll.
collect::Snapshot numbered_snapshot(const std::vector<std::uint64_t>& totals) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a", "/b"}), totals);
  snapshot.number = 1;
  snapshot.same_since = {1, 1};
  return snapshot;
}

TEST(RendererTest, ReadsOnlyCgroupsThatHaveChanged) {
  collect::Snapshot snapshot = numbered_snapshot({7, 8});
  Renderer renderer;
  std::string text;
  render(renderer, snapshot, text);
  snapshot.number = 2;
  snapshot.same_since = {2, 1};
  snapshot.cgroup[0].total(0, 0).value = 1000;
  snapshot.cgroup[0].total(1, 0).value = 9;  // although it is the same

  render(renderer, snapshot, text);

  EXPECT_THAT(text, HasSubstr("\nperf_cgroup_cycles_total{cgroup=\"/a\"} 1000\n"
                              "perf_cgroup_cycles_total{cgroup=\"/b\"} 8\n"));
}

TEST(RendererTest, DoesNotChangeATextThatOthersMayHold) {
  collect::Snapshot snapshot = numbered_snapshot({7, 8});
  Renderer renderer;
  const auto first = std::make_shared<std::string>();
  renderer.render(&snapshot, NoMetrics{}, {}, first);
  EXPECT_GT(first.use_count(), 1);
  const std::string before = *first;
  snapshot.number = 2;
  snapshot.same_since = {2, 2};
  snapshot.cgroup[0].total(0, 0).value = 1000;

  const auto second = std::make_shared<std::string>();
  renderer.render(&snapshot, NoMetrics{}, {}, second);

  EXPECT_EQ(*first, before);
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(*second, written(snapshot));
}

TEST(RendererTest, DoesNotKeepTheTextOfASelectionNorALargeOne) {
  collect::Snapshot snapshot = numbered_snapshot({7, 8});
  Renderer renderer;
  const auto text = std::make_shared<std::string>();

  renderer.render(&snapshot, NoMetrics{}, {.selection = {Selection::Rule::kOnly, {"core"}}}, text);
  EXPECT_EQ(text.use_count(), 1);

  collect::TargetSet large = *snapshot.targets;
  large.cgroups[0].path += std::string(Renderer::kMaxKept / 3, 'x');
  snapshot.targets = std::make_shared<const collect::TargetSet>(large);
  renderer.render(&snapshot, NoMetrics{}, {}, text);
  EXPECT_GT(text->size(), Renderer::kMaxKept);
  EXPECT_EQ(text.use_count(), 1);
}

/// What happens from one poll to the next: rows of some cgroups change, and those of CPUs.
void change(collect::Snapshot& snapshot) {
  const collect::CountingPlan& plan = *snapshot.plan;
  ++snapshot.number;
  for (std::size_t i = 0; i < snapshot.cpu.size(); ++i) {
    snapshot.cpu[i] = any_table(plan.cpu.groups[i], snapshot.cpu[i].rows.size());
  }
  for (std::size_t target = 0; target < snapshot.same_since.size(); ++target) {
    if (below(2) == 0) snapshot.same_since[target] = snapshot.number;
  }
  for (std::size_t i = 0; i < snapshot.cgroup.size(); ++i) {
    collect::GroupTable& table = snapshot.cgroup[i];
    const collect::GroupTable next = any_table(plan.cgroup.groups[i], table.rows.size());
    table.reference_weights = next.reference_weights;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const std::size_t target = snapshot.cgroup_rows[row].target;
      if (snapshot.same_since[target] != snapshot.number) continue;
      table.rows[row] = next.rows[row];
      for (std::size_t event = 0; event < table.events; ++event) {
        table.total(row, event) = next.total(row, event);
      }
    }
  }
}

RC_GTEST_PROP(RendererTest, WritesTheSameAsIfItHadRenderedNothingBefore, ()) {
  const std::vector<RenderOptions> options = {{},
                                              {Format::kOpenMetrics},
                                              {.format = Format::kOpenMetrics, .created = true},
                                              {.selection = {Selection::Rule::kOnly, {"g0"}}}};
  collect::Snapshot snapshot = any_snapshot();
  snapshot.number = 1;
  snapshot.same_since.assign(snapshot.targets->cgroups.size(), 1);
  Renderer renderer;
  for (std::size_t polls = below(8) + 1; polls > 0; --polls) {
    const RenderOptions& wanted = options[below(3) == 0 ? below(options.size()) : 0];
    const auto text = std::make_shared<std::string>();
    renderer.render(&snapshot, NoMetrics{}, wanted, text);
    RC_ASSERT(*text == written(snapshot, wanted));
    for (std::size_t steps = below(3); steps > 0; --steps) change(snapshot);
    if (below(4) > 0) continue;
    const std::uint64_t number = snapshot.number + 1;
    snapshot = any_snapshot();  // after a reload
    snapshot.number = number;
    snapshot.same_since.assign(snapshot.targets->cgroups.size(), number);
  }
}

// --- rows ---------------------------------------------------------------------------------------

TEST(RendererTest, NamesARowByThePartOfTheMachineThatItIs) {
  struct Row {
    Aggregation aggregation;
    const char* labels;  ///< of an event, and behind the group's name
  };
  const Row rows[] = {
      {Aggregation::kCpu, "cpu=\"5\""},
      {Aggregation::kCore, "package=\"1\",die=\"2\",core=\"3\""},
      {Aggregation::kDie, "package=\"1\",die=\"2\""},
      {Aggregation::kPackage, "package=\"1\""},
      {Aggregation::kNumaNode, "numa_node=\"4\""},
  };

  for (const Row& row : rows) {
    const std::string text = written(host_snapshot(
        scope_plan({{.name = "core", .events = {"cycles"}, .aggregation = row.aggregation}}),
        {{.cpu = 5, .core = 3, .die = 2, .package = 1, .numa_node = 4}}, {7}));

    const std::string labels = row.labels;
    EXPECT_THAT(text, HasSubstr("\nperf_cpu_cycles_total{" + labels + "} 7\n"));
    EXPECT_THAT(text,
                HasSubstr("\nperf_group_enabled_seconds_total{group=\"core\"," + labels + "} 1\n"));
  }
}

TEST(RendererTest, NamesTheHostByNothing) {
  const std::string text = written(host_snapshot(
      scope_plan({{.name = "core", .events = {"cycles"}, .aggregation = Aggregation::kHost}}), {{}},
      {7}));

  EXPECT_THAT(text, HasSubstr("(event cycles, over the whole host).\n"));
  EXPECT_THAT(text, HasSubstr("\nperf_cpu_cycles_total 7\n"));
  EXPECT_THAT(text, HasSubstr("\nperf_group_enabled_seconds_total{group=\"core\"} 1\n"));
}

/// Two CPUs, each of which is another kind of core.
collect::Snapshot hybrid_snapshot(Aggregation aggregation) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}, {}, "big", aggregation},
                                        {"core", {"cycles"}, {}, "little", aggregation}});
  plan.columns[0].event.labels = {{"pmu", "big"}};
  plan.columns[1].event.labels = {{"pmu", "little"}};
  if (aggregation == Aggregation::kHost) return host_snapshot(std::move(plan), {{}}, {7, 8});
  collect::Snapshot snapshot = cpu_snapshot(std::move(plan), {0, 1}, {7, 0, 0, 8});
  snapshot.cpu[0].rows[1] = {};
  snapshot.cpu[1].rows[0] = {};
  return snapshot;
}

TEST(RendererTest, WritesAFamilyOfSeveralColumnsOnce) {
  EXPECT_EQ(written(hybrid_snapshot(Aggregation::kCpu)),
            "# HELP perf_cpu_cycles_total Core clock cycles while not halted (event cycles, by "
            "CPU).\n"
            "# TYPE perf_cpu_cycles_total counter\n"
            "perf_cpu_cycles_total{cpu=\"0\",pmu=\"big\"} 7\n"
            "perf_cpu_cycles_total{cpu=\"1\",pmu=\"little\"} 8\n"
            "# HELP perf_group_enabled_seconds_total Time for which a group of events was "
            "enabled.\n"
            "# TYPE perf_group_enabled_seconds_total counter\n"
            "perf_group_enabled_seconds_total{group=\"core\",pmu=\"big\",cpu=\"0\"} 1\n"
            "perf_group_enabled_seconds_total{group=\"core\",pmu=\"little\",cpu=\"1\"} 1\n"
            "# HELP perf_group_running_seconds_total Time for which a group of events was on the "
            "PMU.\n"
            "# TYPE perf_group_running_seconds_total counter\n"
            "perf_group_running_seconds_total{group=\"core\",pmu=\"big\",cpu=\"0\"} 1\n"
            "perf_group_running_seconds_total{group=\"core\",pmu=\"little\",cpu=\"1\"} 1\n");
}

TEST(RendererTest, WritesTheLabelsOfAnEventAloneWhereTheRowHasNone) {
  const std::string text = written(hybrid_snapshot(Aggregation::kHost));

  EXPECT_THAT(text, HasSubstr("\nperf_cpu_cycles_total{pmu=\"big\"} 7\n"
                              "perf_cpu_cycles_total{pmu=\"little\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("{group=\"core\",pmu=\"little\"} 1\n"));
}

TEST(RendererTest, WritesTheHeaderOfAFamilyWhoseFirstColumnHasNoValue) {
  collect::Snapshot snapshot = hybrid_snapshot(Aggregation::kCpu);
  snapshot.cpu[0].rows[0].value = Value::kNone;

  EXPECT_THAT(written(snapshot), HasSubstr("# TYPE perf_cpu_cycles_total counter\n"
                                           "perf_cpu_cycles_total{cpu=\"1\",pmu=\"little\"} 8\n"));
}

TEST(RendererTest, EscapesTheLabelsOfAnEvent) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}, {}, "a\"b"}});
  plan.columns[0].event.labels = {{"pmu", "a\"b"}};

  const std::string text = written(cpu_snapshot(plan, {0}, {7}));

  EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_total{cpu=\"0\",pmu=\"a\\\"b\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("{group=\"core\",pmu=\"a\\\"b\",cpu=\"0\"} 1\n"));
}

/// The sum of the parts of a column.
TEST(RendererTest, WritesWhatPmusShareAsOneSum) {
  collect::ScopePlan plan =
      scope_plan({{"memory", {"cycles"}, {}, "imc_0", Aggregation::kPackage},
                  {"memory", {"cycles"}, {}, "imc_1", Aggregation::kPackage}});
  plan.columns[0].parts.push_back({1, 0});
  plan.columns.pop_back();

  const std::string text =
      written(host_snapshot(plan, {{.package = 0}, {.package = 1}}, {1, 2, 4, 8}));

  EXPECT_THAT(text, HasSubstr("perf_cpu_cycles_total{package=\"0\"} 3\n"
                              "perf_cpu_cycles_total{package=\"1\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("{group=\"memory\",pmu=\"imc_1\",package=\"1\"} 1\n"));
}

TEST(RendererTest, WritesCountsExactlyInTheUnitOfTheirFamily) {
  constexpr double kRapl = 2.3283064365386962890625e-10;  // 2^-32 joules
  struct Row {
    double scale;
    std::uint64_t count;
    const char* value;
  };
  const Row rows[] = {
      {1, 0, "0"},
      {1, 9'007'199'254'740'993, "9007199254740993"},
      {1, kMax, "18446744073709551615"},
      {1e-9, 0, "0"},
      {1e-9, 1, "0.000000001"},
      {1e-9, 10, "0.00000001"},
      {1e-9, 100'000'000, "0.1"},
      {1e-9, 999'999'999, "0.999999999"},
      {1e-9, 1'000'000'000, "1"},
      {1e-9, 1'000'000'001, "1.000000001"},
      {1e-9, 1'050'000'000, "1.05"},
      {1e-9, 10'000'000'000, "10"},
      {1e-9, kMax, "18446744073.709551615"},
      {kRapl, 0, "0"},
      {kRapl, std::uint64_t{1} << 32, "1"},
      {kRapl, std::uint64_t{3} << 31, "1.5"},
      {kRapl, 1, "2.3283064365386963e-10"},
      {64, 0, "0"},
      {64, 1, "64"},
      {64, 144'115'188'075'855'873, "9223372036854775872"},  // no double is that number
      {64, kMax / 64, "18446744073709551552"},
      {64, kMax / 64 + 1, "18446744073709551616"},  // beyond 64 bits
      {1 << 30, kMax, "1.9807040628566084e+28"},
      {1 << 30, 3, "3221225472"},
      {0.5, 3, "1.5"},
      {2.5, 3, "7.5"},
      {1e12, 3, "3000000000000"},
  };

  for (const Row& row : rows) {
    collect::ScopePlan plan = scope_plan({{"g", {"cycles"}}});
    plan.columns[0].event.scale = row.scale;

    EXPECT_THAT(written(cpu_snapshot(plan, {0}, {row.count})),
                HasSubstr(std::string("perf_cpu_cycles_total{cpu=\"0\"} ") + row.value + "\n"))
        << row.count << " times " << row.scale;
  }
}

TEST(RendererTest, WritesOpenMetricsWithTheNamesOfFamiliesTheirUnitsAndAnEnd) {
  const collect::ScopePlan plan = scope_plan({{"soft", {"task-clock"}}});
  collect::Snapshot snapshot = cgroup_snapshot(plan, targets({"/a"}), {1'500'000'000});

  const std::string text = written(snapshot, {Format::kOpenMetrics, {}, false});

  EXPECT_EQ(text,
            "# TYPE perf_cgroup_task_clock_seconds counter\n"
            "# UNIT perf_cgroup_task_clock_seconds seconds\n"
            "# HELP perf_cgroup_task_clock_seconds CPU time used by the tasks (event task-clock, "
            "by cgroup with its children, over all CPUs).\n"
            "perf_cgroup_task_clock_seconds_total{cgroup=\"/a\"} 1.5\n"
            "# TYPE perf_cgroup info\n"
            "# HELP perf_cgroup Constant 1, with labels that describe the cgroup.\n"
            "perf_cgroup_info{cgroup=\"/a\"} 1\n"
            "# TYPE perf_group_enabled_seconds counter\n"
            "# UNIT perf_group_enabled_seconds seconds\n"
            "# HELP perf_group_enabled_seconds Time for which a group of events was enabled.\n"
            "perf_group_enabled_seconds_total{group=\"soft\",cgroup=\"/a\"} 1\n"
            "# TYPE perf_group_running_seconds counter\n"
            "# UNIT perf_group_running_seconds seconds\n"
            "# HELP perf_group_running_seconds Time for which a group of events was on the PMU.\n"
            "perf_group_running_seconds_total{group=\"soft\",cgroup=\"/a\"} 1\n"
            "# EOF\n");
}

BootClock::time_point since(std::chrono::milliseconds of_unix_time) {
  return boot_time_of(std::chrono::system_clock::time_point{of_unix_time});
}

TEST(RendererTest, ShowsSinceWhenACounterCountsWhereThatIsWanted) {
  collect::TargetSet set = *targets({"/a", "/b"});
  set.cgroups[0].since = since(4'700'000'000'250ms);
  set.cgroups[1].since = since(4'700'000'001s);
  const collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}),
                      std::make_shared<const collect::TargetSet>(std::move(set)), {1, 2});

  EXPECT_THAT(written(snapshot, {Format::kOpenMetrics, {}, true}),
              HasSubstr("perf_cgroup_cycles_total{cgroup=\"/a\"} 1\n"
                        "perf_cgroup_cycles_created{cgroup=\"/a\"} 4700000000.25\n"
                        "perf_cgroup_cycles_total{cgroup=\"/b\"} 2\n"
                        "perf_cgroup_cycles_created{cgroup=\"/b\"} 4700000001\n"));
  EXPECT_THAT(written(snapshot, {Format::kOpenMetrics, {}, true}),
              Not(HasSubstr("perf_cgroup_created")));
  EXPECT_THAT(written(snapshot, {Format::kOpenMetrics, {}, false}), Not(HasSubstr("_created")));
  EXPECT_THAT(written(snapshot, {Format::kText, {}, true}), Not(HasSubstr("_created")));
}

TEST(RendererTest, ShowsSinceWhenACounterCountsByTheDateAsItIsSetNow) {
  const RenderOptions options{Format::kOpenMetrics, {}, true};
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a"}), {1});
  snapshot.number = 1;
  snapshot.same_since = {1};
  Renderer renderer;
  renderer.render(&snapshot, NoMetrics{}, options, std::make_shared<std::string>());

  date_is_ahead = 3600;
  const auto text = std::make_shared<std::string>();
  renderer.render(&snapshot, NoMetrics{}, options, text);
  const std::string all_new = written(snapshot, options);
  date_is_ahead = 0;

  EXPECT_THAT(all_new, HasSubstr("_created"));
  EXPECT_EQ(*text, all_new);
}

TEST(RendererTest, AGroupThatIsNewerThanItsRowsCountsSinceItIsThere) {
  collect::Snapshot snapshot = cgroup_snapshot(
      scope_plan({{"core", {"cycles"}}, {"new", {"instructions"}}}), targets({"/a"}), {1, 2});
  collect::TargetSet set = *snapshot.targets;
  set.cgroups[0].since = since(4'700'000'000s);
  snapshot.targets = std::make_shared<const collect::TargetSet>(std::move(set));
  snapshot.starts = collect::GroupStarts{*snapshot.plan};
  snapshot.starts.cgroup[1] = since(4'700'000'009s);

  const std::string text = written(snapshot, {Format::kOpenMetrics, {}, true});

  EXPECT_THAT(text, HasSubstr("perf_cgroup_cycles_created{cgroup=\"/a\"} 4700000000\n"));
  EXPECT_THAT(text, HasSubstr("perf_cgroup_instructions_created{cgroup=\"/a\"} 4700000009\n"));
}

TEST(RendererTest, ASumOfGroupsCountsSinceTheNewestOfThemIsThere) {
  collect::ScopePlan plan = scope_plan({{"a", {"cycles"}}, {"b", {"cycles"}}});
  plan.columns[0].parts.push_back({1, 0});
  plan.columns.pop_back();
  collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1, 2});
  snapshot.starts = collect::GroupStarts{*snapshot.plan};
  snapshot.starts.cpu[0] = since(4'700'000'009s);
  snapshot.starts.cpu[1] = since(4'700'000'000s);

  EXPECT_THAT(written(snapshot, {Format::kOpenMetrics, {}, true}),
              HasSubstr("perf_cpu_cycles_created{cpu=\"0\"} 4700000009\n"));
}

TEST(RendererTest, EscapesWhatWouldEndAHelpText) {
  collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}});
  plan.columns.front().event.help = "One\nof \"C:\\n\".";
  const collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1});

  EXPECT_THAT(written(snapshot), HasSubstr("_total One\\nof \"C:\\\\n\" (event cycles, "));
  EXPECT_THAT(written(snapshot, {Format::kOpenMetrics, {}, false}),
              HasSubstr("cycles One\\nof \\\"C:\\\\n\\\" (event cycles, "));
}

TEST(RendererTest, WritesTheSeriesOfChosenGroupsAlone) {
  const collect::ScopePlan plan =
      scope_plan({{"core", {"cycles"}}, {"core/2", {"branches"}}, {"soft", {"task-clock"}}});
  const collect::Snapshot snapshot = cpu_snapshot(plan, {0}, {1, 2, 3});
  const auto only = [&](std::set<std::string, std::less<>> groups) {
    return written(snapshot, {Format::kText, {Selection::Rule::kOnly, std::move(groups)}, false});
  };
  const auto without = [&](std::set<std::string, std::less<>> groups) {
    return written(snapshot, {Format::kText, {Selection::Rule::kAllBut, std::move(groups)}, false});
  };

  EXPECT_THAT(only({"core"}), HasSubstr("perf_cpu_cycles_total{"));
  EXPECT_THAT(only({"core"}), HasSubstr("perf_cpu_branches_total{"));
  EXPECT_THAT(only({"core"}), HasSubstr("{group=\"core/2\","));
  EXPECT_THAT(only({"core"}), Not(HasSubstr("task_clock")));
  EXPECT_THAT(only({"core"}), Not(HasSubstr("soft")));
  EXPECT_EQ(only({"core"}), without({"soft"}));
  EXPECT_EQ(only({"core", "soft"}), written(snapshot));
  EXPECT_EQ(only({"exporter"}), "");
  EXPECT_EQ(without({"core", "soft"}), "");
}

TEST(RendererTest, ReportsCgroupsWhereAGroupThatCountsThemIsChosen) {
  const collect::ScopePlan plan = scope_plan({{"core", {"cycles"}}, {"soft", {"task-clock"}}});
  const collect::Snapshot snapshot = cgroup_snapshot(plan, targets({"/a"}), {1, 2});
  const auto only = [&](const char* group) {
    return written(snapshot, {Format::kText, {Selection::Rule::kOnly, {group}}, false});
  };

  EXPECT_THAT(only("soft"), HasSubstr("\nperf_cgroup_info{cgroup=\"/a\"} 1\n"));
  EXPECT_THAT(only("exporter"), Not(HasSubstr("perf_cgroup_info")));
}

TEST(RendererTest, WritesItsOwnMetricsWithoutASnapshot) {
  const PollMetrics polls;
  SelfMetrics metrics{"1.0"};
  metrics.add(polls);
  const auto text = std::make_shared<std::string>();

  Renderer{}.render(nullptr, *metrics.read(), {Format::kOpenMetrics, {}, true}, text);

  EXPECT_THAT(*text, HasSubstr("# TYPE perf_event_exporter_build info\n"));
  EXPECT_THAT(*text, HasSubstr("\nperf_event_exporter_build_info{"));
  EXPECT_THAT(*text, HasSubstr("\nperf_event_exporter_polls_total 0\n"
                               "perf_event_exporter_polls_created 1"));
  EXPECT_THAT(*text, EndsWith("\n# EOF\n"));
}

RC_GTEST_PROP(RendererTest, WritesAsManySamplesAsTheSnapshotHas, ()) {
  const collect::Snapshot snapshot = any_snapshot();

  const std::string text =
      written(snapshot, {Format::kOpenMetrics, {}, snapshot.plan->evidence.created});

  RC_ASSERT(samples_in(text).size() == collect::count_series(snapshot));
}

RC_GTEST_PROP(RendererTest, WritesNoSeriesTwice, ()) {
  std::set<std::string> series;
  for (const std::string& sample : samples_in(written(any_snapshot()))) {
    RC_ASSERT(series.insert(sample.substr(0, sample.rfind(' '))).second);
  }
}

RC_GTEST_PROP(RendererTest, WritesTheHeaderOfAFamilyOnceAndItsSamplesBehindIt, ()) {
  std::set<std::string> headed;
  std::string family;
  for (const std::string& line : lines_of(written(any_snapshot()))) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.rfind(' ') - 7);
      RC_ASSERT(headed.insert(family).second);
    }
    if (!line.starts_with('#')) {
      RC_ASSERT(line.substr(0, line.find_first_of("{ ")) == family);
    }
  }
}

RC_GTEST_PROP(RendererTest, WritesTheSameSamplesInBothFormats, ()) {
  const collect::Snapshot snapshot = any_snapshot();

  RC_ASSERT(samples_in(written(snapshot)) ==
            samples_in(written(snapshot, {Format::kOpenMetrics, {}, false})));
}

}  // namespace
}  // namespace pex::exposition::renderer_test
