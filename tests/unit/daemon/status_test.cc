#include "daemon/status/status.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>

#include "support/events.h"
#include "support/planning.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;
using collect::GroupRow;
using collect::Snapshot;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What a program knows that has just planned, and what it will know later on.
struct World {
  plan::Plan plan;
  std::vector<std::string> warnings;
  ConfigurationLoad configuration;
  std::optional<WebConfigurationLoad> web_configuration;
  history::Activity activity;
  std::optional<Snapshot> snapshot;
  collect::PollReport::State last_poll;

  std::string text() const {
    return status_json({.version = "1.2.3",
                        .now = {},
                        .started = {},
                        .warnings = warnings,
                        .configuration = configuration,
                        .web_configuration = web_configuration,
                        .telemetry_path = "/metrics",
                        .plan = plan,
                        .snapshot = snapshot ? &*snapshot : nullptr,
                        .last_poll = last_poll,
                        .activity = activity});
  }
  json::value status() const { return json::parse(text()); }

  /// Two readings, five seconds apart, of which the later one is the snapshot.
  void read(const Snapshot& before, Snapshot after) {
    after.plan = before.plan;
    activity.add(before, history::Activity::Clock::time_point{});
    activity.add(after, history::Activity::Clock::time_point{} + seconds{5});
    snapshot = std::move(after);
  }
};

const json::value& at(const json::value& status, std::string_view pointer) {
  return status.at_pointer(pointer);
}

/// The texts at `pointer` of each value of an array.
std::vector<std::string> each_of(const json::value& array, std::string_view pointer) {
  std::vector<std::string> texts;
  for (const json::value& each : array.as_array()) {
    texts.emplace_back(each.at_pointer(pointer).as_string());
  }
  return texts;
}

std::vector<std::string> paths_of(const json::value& status) {
  return each_of(at(status, "/activity/top_cgroups"), "/cgroup");
}

/// As discovery would have found them, none of which lingers.
std::shared_ptr<const collect::TargetSet> present(const std::vector<std::string>& paths) {
  collect::TargetSet set;
  for (const std::string& path : paths) {
    const auto cgroup =
        std::make_shared<const cgroup::Cgroup>(cgroup::Cgroup{path, set.present + 1, UniqueFd{}});
    set.cgroups.push_back({++set.present, path, cgroup});
  }
  return std::make_shared<const collect::TargetSet>(std::move(set));
}

/// Of cgroups that have been read twice; at first all their totals were 0.
json::value status_of(const std::vector<std::string>& paths, const collect::ScopePlan& plan,
                      const std::vector<std::uint64_t>& after) {
  const auto set = present(paths);
  World world;
  world.read(exposition::cgroup_snapshot(plan, set, std::vector<std::uint64_t>(after.size())),
             exposition::cgroup_snapshot(plan, set, after));
  return world.status();
}

std::vector<std::string> numbered_paths(std::size_t number) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < number; ++i) paths.push_back("/" + std::to_string(1000 + i));
  return paths;
}

TEST(StatusTest, BeforeTheFirstPollThereIsThePlanAndNoNumbers) {
  World world;
  world.plan = test::plan_on("", "  - {name: core, events: [cycles], scope: [cpu, cgroup]}");

  const json::value status = world.status();

  EXPECT_EQ(at(status, "/groups").as_array().size(), 2U);
  EXPECT_EQ(at(status, "/groups/0/events/0/metric"), "perf_cpu_cycles_total");
  EXPECT_EQ(at(status, "/groups/1/events/0/metric"), "perf_cgroup_cycles_total");
  for (const char* const unknown :
       {"/groups/0/coverage_ratio", "/groups/0/running_ratio", "/groups/0/rows", "/groups/1/rows",
        "/polls/last", "/machine/online_cpus", "/cgroups/counted", "/limits/open_files",
        "/limits/open_events", "/limits/series", "/activity/ranked_by"}) {
    EXPECT_TRUE(at(status, unknown).is_null()) << unknown;
  }
  EXPECT_EQ(at(status, "/cgroups/missed_total"), 0) << "of this, nothing is unknown";
  EXPECT_THAT(paths_of(status), IsEmpty());
}

TEST(StatusTest, EventsThatAreNotCountedForOneReasonStandTogether) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  kernel.refuse("branches", ENOENT);
  kernel.refuse("instructions", EACCES);
  World world;
  world.plan = test::plan_on("",
                             "  - {name: core, events: [cycles, instructions], scope: cpu}\n"
                             "  - {name: more, events: [branches, cycles], scope: cgroup}",
                             kernel);

  const json::value status = world.status();

  ASSERT_EQ(at(status, "/not_counted").as_array().size(), 2U);
  EXPECT_EQ(at(status, "/not_counted/0/events"), (json::array{"cycles", "branches"}));
  EXPECT_EQ(at(status, "/not_counted/0/groups"), (json::array{"core", "more"}));
  EXPECT_EQ(at(status, "/not_counted/0/errno"), "ENOENT");
  EXPECT_EQ(at(status, "/not_counted/0/reason"),
            "this machine has no such hardware counter (ENOENT)");
  EXPECT_EQ(at(status, "/not_counted/0/remedy"),
            "remove the event, or enable a virtual PMU if this is a virtual machine");
  EXPECT_EQ(at(status, "/not_counted/1/events"), (json::array{"instructions"}));
}

TEST(StatusTest, HasGroupsThatAreLeftOutAndNoOptionalEventsThatAreMissing) {
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  World world;
  world.plan =
      test::plan_on("",
                    "  - {name: a, events: [cycles, branches], scope: cpu, optional: true}\n"
                    "  - {name: b, events: [cycles], scope: cpu, when: {pmu: power}}",
                    kernel);

  const json::value status = world.status();

  EXPECT_EQ(at(status, "/not_counted"), json::array{});
  EXPECT_EQ(
      at(status, "/left_out_groups"),
      (json::array{{{"group", "b"}, {"reason", "when.pmu: this machine has no PMU 'power'"}}}));
}

TEST(StatusTest, CoverageIsOfCpusAndRunningOfTheTimeThatWasWanted) {
  collect::ScopePlan plan = test::scope_plan({{"core", {"cycles"}}});
  plan.groups[0].shares_pmu = true;
  World world;
  world.snapshot = exposition::cpu_snapshot(plan, {0, 1}, {5, 6});
  for (GroupRow& row : world.snapshot->cpu[0].rows) row.wanted_on = 1;
  world.snapshot->cpu[0].rows[0].counted_on = 1;
  world.snapshot->cpu[0].rows[0].times = {.enabled = seconds{3}, .running = seconds{1}};

  const json::value status = world.status();

  EXPECT_EQ(at(status, "/groups/0/rows"), 2);
  EXPECT_EQ(at(status, "/groups/0/coverage_ratio"), 0.5);
  EXPECT_EQ(at(status, "/groups/0/running_ratio"), 0.5);  // and one of 1 s, all of it
}

TEST(StatusTest, AGroupThatAlwaysHadThePmuHasRunExactlyAllOfTheTime) {
  World world;
  world.snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1, 2}, {1, 2, 3});
  for (GroupRow& row : world.snapshot->cpu[0].rows) {
    row.times.enabled = row.times.running = std::chrono::nanoseconds{333'333'333'333'333};
  }

  EXPECT_EQ(at(world.status(), "/groups/0/running_ratio"), 1.0);
}

TEST(StatusTest, GroupsThatOnlyServeOthersAreNotShown) {
  collect::ScopePlan plan = test::scope_plan({{"(clock)", {"cpu-clock"}}, {"core", {"cycles"}}});
  plan.groups[0].is_published = false;
  World world;
  world.snapshot = exposition::cpu_snapshot(plan, {0}, {5, 6});

  EXPECT_THAT(each_of(at(world.status(), "/groups"), "/group"), ElementsAre("core"));
}

TEST(StatusTest, TheBusiestComeFirstByCpuTimeAndEqualOnesByPath) {
  const json::value status =
      status_of({"/c", "/d", "/b", "/a"}, test::scope_plan({{"g", {"task-clock", "cycles"}}}),
                {5'000'000'000, 1, 5, 9, 5, 9, 10, 9});

  EXPECT_EQ(at(status, "/activity/ranked_by"), "cpu_seconds_per_second");
  EXPECT_THAT(paths_of(status), ElementsAre("/c", "/a", "/b", "/d"));
  EXPECT_EQ(at(status, "/activity/top_cgroups/0/points").as_array().size(),
            at(status, "/activity/point_ages_seconds").as_array().size());
}

TEST(StatusTest, TheBusiestAreByCyclesWhereCpuTimeIsNotCounted) {
  const json::value status = status_of(
      {"/a", "/b"}, test::scope_plan({{"g", {"cycles", "instructions"}}}), {50, 50, 100, 150});

  EXPECT_EQ(at(status, "/activity/ranked_by"), "cycles_per_second");
  EXPECT_THAT(paths_of(status), ElementsAre("/b", "/a"));
  EXPECT_EQ(at(status, "/activity/top_cgroups/0/instructions_per_cycle"), 1.5);
}

TEST(StatusTest, TheBusiestAreByInstructionsWhereThereIsNothingElse) {
  const json::value status =
      status_of({"/a"}, test::scope_plan({{"g", {"minor-faults", "instructions"}}}), {9, 5});

  EXPECT_EQ(at(status, "/activity/ranked_by"), "instructions_per_second");
}

/// No key has the rate that they are ranked by.
TEST(StatusTest, TheBusiestAreByTheFirstEventWhateverItIs) {
  collect::ScopePlan plan = test::scope_plan({{"g", {"minor-faults", "major-faults"}}});
  plan.columns[0].event.metric = "mapped";
  plan.columns[0].event.unit = Unit::kBytes;
  plan.columns[0].event.scale = 4096;

  const json::value status = status_of({"/a", "/b"}, plan, {5, 50, 10, 0});

  EXPECT_TRUE(at(status, "/activity/ranked_by").is_null());
  EXPECT_EQ(at(status, "/activity/busy_cgroups"), 2);
  EXPECT_THAT(paths_of(status), ElementsAre("/b", "/a"));
  const json::value& rates = at(status, "/activity/top_cgroups/0/rates");
  ASSERT_EQ(rates.as_array().size(), 2U);
  EXPECT_EQ(at(rates, "/0/metric"), "perf_cgroup_mapped_bytes_total");
  EXPECT_EQ(at(rates, "/0/per_second"), 8192.0);
  EXPECT_EQ(at(rates, "/1/per_second"), 0.0);
}

TEST(StatusTest, TheEventThatTheBusiestAreRankedByComesFirst) {
  const auto set = present({"/a"});
  const collect::ScopePlan plan =
      test::scope_plan({{"starved", {"cycles"}}, {"g", {"minor-faults"}}});
  Snapshot after = exposition::cgroup_snapshot(plan, set, {0, 10});
  after.cgroup[0].rows[0].value = GroupRow::Value::kNone;
  World world;
  world.read(exposition::cgroup_snapshot(plan, set, {0, 0}), after);

  const json::value status = world.status();

  const json::value& busiest = at(status, "/activity/top_cgroups/0");
  EXPECT_EQ(at(busiest, "/rates/0/event"), "minor-faults");
  EXPECT_EQ(at(busiest, "/rates/0/per_second"), 2.0);
  EXPECT_EQ(at(busiest, "/rates/1/event"), "cycles");
  EXPECT_TRUE(at(busiest, "/rates/1/per_second").is_null());
  EXPECT_TRUE(at(busiest, "/cycles_per_second").is_null());
  EXPECT_EQ(at(busiest, "/points"), (json::array{2.0}));
}

TEST(StatusTest, IdleCgroupsAreCountedAndNotAmongTheBusiest) {
  const auto set = present({"/busy", "/idle", "/starved"});
  const collect::ScopePlan plan = test::scope_plan({{"g", {"cycles"}}});
  Snapshot after = exposition::cgroup_snapshot(plan, set, {5, 0, 0});
  after.cgroup[0].rows[2].value = GroupRow::Value::kNone;
  World world;
  world.read(exposition::cgroup_snapshot(plan, set, {0, 0, 0}), after);

  const json::value status = world.status();

  EXPECT_THAT(paths_of(status), ElementsAre("/busy"));
  EXPECT_EQ(at(status, "/activity/busy_cgroups"), 1);
  EXPECT_EQ(at(status, "/activity/idle_cgroups"), 1) << "nothing is known of the third one";
}

TEST(StatusTest, EveryEventOfTheCpusHasARate) {
  const collect::ScopePlan plan =
      test::scope_plan({{"g", {"context-switches", "task-clock", "cycles"}}});
  World world;
  world.read(exposition::cpu_snapshot(plan, {0}, {0, 0, 0}),
             exposition::cpu_snapshot(plan, {0}, {15, 5'000'000'000, 100}));

  const json::value status = world.status();

  const json::value& host = at(status, "/activity/host");
  EXPECT_EQ(at(host, "/rates").as_array().size(), 2U) << "the clock of a CPU runs while it is idle";
  EXPECT_EQ(at(host, "/rates/0/metric"), "perf_cpu_cycles_total");
  EXPECT_EQ(at(host, "/rates/0/per_second"), 20.0);
  EXPECT_EQ(at(host, "/points"), (json::array{20.0})) << "of cycles";
  EXPECT_EQ(at(host, "/rates/1/metric"), "perf_cpu_context_switches_total");
  EXPECT_EQ(at(host, "/rates/1/points"), (json::array{3.0}));
}

TEST(StatusTest, WithoutCyclesTheirPointsAreUnknown) {
  const collect::ScopePlan plan = test::scope_plan({{"g", {"context-switches"}}});
  World world;
  world.read(exposition::cpu_snapshot(plan, {0}, {0}), exposition::cpu_snapshot(plan, {0}, {15}));

  const json::value status = world.status();

  EXPECT_TRUE(at(status, "/activity/host/cycles_per_second").is_null());
  EXPECT_EQ(at(status, "/activity/host/points"), (json::array{nullptr}));
}

TEST(StatusTest, PointsHaveSixDigits) {
  const json::value status =
      status_of({"/a"}, test::scope_plan({{"g", {"cycles"}}}), {684'029'236'035});

  EXPECT_EQ(at(status, "/activity/top_cgroups/0/points"), (json::array{136'806'000'000.0}));
}

TEST(StatusTest, NoMoreThanTheTwentyBusiestAreShown) {
  std::vector<std::uint64_t> totals;
  for (std::uint64_t i = 0; i < 50; ++i) totals.push_back(i * 1000);

  const std::vector<std::string> paths =
      paths_of(status_of(numbered_paths(50), test::scope_plan({{"g", {"cycles"}}}), totals));

  ASSERT_EQ(paths.size(), 20U);
  EXPECT_EQ(paths.front(), "/1049");
  EXPECT_EQ(paths.back(), "/1030");
}

TEST(StatusTest, ACgroupThatIsGoneLingersAndLeavesTheTimesOfItsGroups) {
  collect::TargetSet set = *present({"/here", "/gone"});
  set.cgroups[1].cgroup = nullptr;
  set.present = 1;
  const auto targets = std::make_shared<const collect::TargetSet>(set);
  const collect::ScopePlan plan = test::scope_plan({{"g", {"cycles"}}});
  World world;
  world.read(exposition::cgroup_snapshot(plan, targets, {0, 0}),
             exposition::cgroup_snapshot(plan, targets, {9, 5}));

  const json::value status = world.status();

  EXPECT_EQ(at(status, "/cgroups/counted"), 1);
  EXPECT_EQ(at(status, "/cgroups/lingering"), 1);
  EXPECT_EQ(at(status, "/groups/0/enabled_seconds"), 1.0);
  EXPECT_EQ(at(status, "/activity/top_cgroups/0/gone"), false);
  EXPECT_EQ(at(status, "/activity/top_cgroups/1/gone"), true);
}

/// `counting` with sums of all events by one label.
collect::CountingPlan with_sums(collect::CountingPlan counting) {
  counting.sums = {{.name = "app", .labels = {"app"}, .max = 40}};
  return counting;
}

/// Sums of one event. `totals` are those of each value, in nanoseconds.
Snapshot sum_snapshot(const std::vector<std::string>& values,
                      const std::vector<std::uint64_t>& totals) {
  const collect::ScopePlan plan = test::scope_plan({{"g", {"task-clock"}}});
  Snapshot snapshot = exposition::cgroup_snapshot(plan, present({}), {});
  snapshot.plan = std::make_shared<const collect::CountingPlan>(with_sums(*snapshot.plan));
  collect::SumTable& table = snapshot.sums.emplace_back();
  table.groups = exposition::tables(plan, values.size(), totals);
  for (const std::string& value : values) table.rows.push_back({{value}, {}, 2, false});
  return snapshot;
}

std::vector<std::string> values_of(const json::value& sum) {
  return each_of(at(sum, "/top_sums"), "/labels/app");
}

TEST(StatusTest, BeforeTheFirstPollTheConfiguredSumsAreThere) {
  World world;
  world.plan.counting.sums = {{.name = "app", .labels = {"namespace", "pod"}, .max = 40}};

  const json::value status = world.status();

  EXPECT_EQ(at(status, "/sums").as_array().size(), 1U);
  EXPECT_EQ(at(status, "/sums/0/sum"), "app");
  EXPECT_EQ(at(status, "/sums/0/by"), (json::array{"namespace", "pod"}));
  EXPECT_EQ(at(status, "/sums/0/sums_limit"), 40);
  EXPECT_TRUE(at(status, "/sums/0/sums_now").is_null());
  EXPECT_TRUE(at(status, "/sums/0/ranked_by").is_null());
}

TEST(StatusTest, TheBusiestSumsComeFirstAndEqualOnesByTheirValues) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  World world;
  world.read(
      sum_snapshot({"a", "b", "c", "d"}, {0, 0, 0, 7 * kSecond}),
      sum_snapshot({"a", "b", "c", "d"}, {5 * kSecond, 5 * kSecond, 10 * kSecond, 7 * kSecond}));

  const json::value status = world.status();

  const json::value& sum = at(status, "/sums/0");
  EXPECT_THAT(values_of(sum), ElementsAre("c", "a", "b"));
  EXPECT_EQ(at(sum, "/ranked_by"), "cpu_seconds_per_second");
  EXPECT_EQ(at(sum, "/busy_sums"), 3);
  EXPECT_EQ(at(sum, "/idle_sums"), 1);
  EXPECT_EQ(at(sum, "/top_sums/0/rates/0/metric"), "perf_app_task_clock_seconds_total");
  EXPECT_EQ(at(sum, "/top_sums/0/rates/0/per_second"), 2.0);
  EXPECT_EQ(at(sum, "/top_sums/0/points"), (json::array{2.0}));
  EXPECT_EQ(at(sum, "/top_sums/0/members"), 2);
}

TEST(StatusTest, NoMoreThanTheTenBusiestOfASumAreShownAndAllAreCounted) {
  std::vector<std::uint64_t> totals;
  for (std::uint64_t i = 0; i < 30; ++i) totals.push_back(i * 1000);
  Snapshot after = sum_snapshot(numbered_paths(30), totals);
  after.sums[0].left_out = 4;
  World world;
  world.read(sum_snapshot(numbered_paths(30), std::vector<std::uint64_t>(30)), after);

  const json::value status = world.status();

  const json::value& sum = at(status, "/sums/0");
  ASSERT_EQ(values_of(sum).size(), 10U);
  EXPECT_EQ(values_of(sum).front(), "/1029");
  EXPECT_EQ(values_of(sum).back(), "/1020");
  EXPECT_EQ(at(sum, "/sums_now"), 30);
  EXPECT_EQ(at(sum, "/members"), 60);
  EXPECT_EQ(at(sum, "/members_left_out"), 4);
}

TEST(StatusTest, OfASumThatIsStillServedAsZeroTheRateIsUnknown) {
  Snapshot after = sum_snapshot({"new", "old"}, {0, 10});
  after.sums[0].rows[0].is_new = true;
  World world;
  world.read(sum_snapshot({"old"}, {0}), after);

  const json::value status = world.status();

  EXPECT_THAT(values_of(at(status, "/sums/0")), ElementsAre("old"));
  EXPECT_EQ(at(status, "/sums/0/new_sums"), 1);
  EXPECT_EQ(at(status, "/sums/0/idle_sums"), 0);
}

TEST(StatusTest, OfCgroupsLeftOutThereIsTheNumberOfAllAndAListOfSome) {
  collect::TargetSet set;
  cgroup::DiscoveryResult found;
  found.left_out = 1234;
  found.left_out_paths = {"/a", "/b"};
  set.found = std::make_shared<const cgroup::DiscoveryResult>(found);
  set.left_out_reason = "max_series";
  World world;
  const auto cgroups = [&] {
    world.snapshot =
        exposition::cgroup_snapshot({}, std::make_shared<const collect::TargetSet>(set), {});
    return world.status().at("cgroups");
  };

  EXPECT_EQ(cgroups().at("left_out"), 1234);
  EXPECT_EQ(cgroups().at("left_out_by"), "max_series");
  EXPECT_EQ(cgroups().at("left_out_setting"), "limits.max_series");
  EXPECT_EQ(cgroups().at("left_out_paths"), (json::array{"/a", "/b"}));

  set.left_out_reason = "memory";
  EXPECT_TRUE(cgroups().at("left_out_setting").is_null()) << "none raises it";

  set.found = std::make_shared<const cgroup::DiscoveryResult>();
  EXPECT_TRUE(cgroups().at("left_out_by").is_null()) << "nothing is left out";
}

TEST(StatusTest, SeriesAreThoseOfTheSnapshot) {
  World world;
  world.snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1}, {5, 6});

  EXPECT_EQ(at(world.status(), "/limits/series"), collect::count_series(*world.snapshot));
}

TEST(StatusTest, LabelsAreInTheirOrder) {
  collect::TargetSet set = *present({"/a"});
  cgroup::Description description;
  description.identity = {{"namespace", "shop"}, {"container", "web"}};
  description.information = {{"app", "x"}};
  set.cgroups[0].description = std::make_shared<const cgroup::Description>(description);
  const auto targets = std::make_shared<const collect::TargetSet>(set);
  const collect::ScopePlan plan = test::scope_plan({{"g", {"cycles"}}});
  World world;
  world.read(exposition::cgroup_snapshot(plan, targets, {0}),
             exposition::cgroup_snapshot(plan, targets, {5}));

  EXPECT_EQ(json::serialize(at(world.status(), "/activity/top_cgroups/0/labels")),
            R"({"namespace":"shop","container":"web","app":"x"})");
}

TEST(StatusTest, HoldsNoCommandForATerminal) {
  World world;
  world.warnings = {"\u009b31m \u202e"};

  EXPECT_NE(world.text().find("\\u009b31m \\u202e"), std::string::npos);
  EXPECT_EQ(at(world.status(), "/warnings/0"), "\u009b31m \u202e");
}

TEST(StatusTest, AnyBytesInANameAreJson) {
  const std::string name = "/\"\\\n\t\x01<script>\xff\xc3\xa4";
  World world;
  world.configuration.errors = {name};

  EXPECT_EQ(at(world.status(), "/configuration/errors/0"), "/\"\\\n\t\x01<script>\uFFFDff\u00e4");
}

/// All totals are `total`.
Snapshot full_snapshot(std::uint64_t total) {
  collect::TargetSet set = *present({"/a"});
  set.cpus = std::make_shared<const collect::MachineCpus>(
      collect::MachineCpus{.online = {0}, .pmus = {{"cpu_core", {0}}}, .places = {}});
  const collect::ScopePlan cpu = test::scope_plan({{"core", {"cycles"}}});
  const collect::ScopePlan cgroup = test::scope_plan({{"g", {"task-clock"}}});
  Snapshot snapshot = exposition::cgroup_snapshot(
      cgroup, std::make_shared<const collect::TargetSet>(std::move(set)), {total});
  snapshot.plan = std::make_shared<const collect::CountingPlan>(
      with_sums(collect::CountingPlan{cpu, cgroup, {}}));
  const Snapshot of_cpus = exposition::cpu_snapshot(cpu, {0}, {total});
  snapshot.cpu = of_cpus.cpu;
  snapshot.host_rows = of_cpus.host_rows;
  snapshot.sums = sum_snapshot({"web"}, {total}).sums;
  return snapshot;
}

/// Of each kind of thing, one is known.
World full_world() {
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  World world;
  world.plan = test::plan_on("",
                             "  - {name: a, events: [branches], scope: cpu}\n"
                             "  - {name: b, events: [cycles], scope: cpu, when: {pmu: power}}",
                             kernel);
  world.read(full_snapshot(0), full_snapshot(5));
  world.last_poll.uncounted.emplace();
  world.last_poll.uncounted->largest = {{.path = "/jobs/17"}};
  world.web_configuration.emplace();
  world.web_configuration->protections = {{"users", "2 users", true}};
  return world;
}

/// What the test of the page in a browser draws (tests/kernel/status_page_test.py).
json::value drawn(const std::string& name) {
  std::ifstream file{PEX_SOURCE_DIR "/tests/unit/daemon/statuses/" + name};
  return json::parse(std::string{std::istreambuf_iterator<char>(file), {}});
}

/// Adds what it has: "/groups/[]/events/[]/event" and so on, of the first object of each list.
/// Without labels, which operators may choose.
void add_places(const json::value& value, const std::string& at, std::set<std::string>& places) {
  if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
    return add_places(array->front(), at + "/[]", places);
  }
  const json::object* const object = value.if_object();
  if (object == nullptr || at.ends_with("/labels")) return;
  for (const auto& [key, member] : *object) {
    places.insert(at + "/" + std::string(key) + (member.is_null() ? " is unknown" : ""));
    add_places(member, at + "/" + std::string(key), places);
  }
}

std::set<std::string> places_in(const json::value& status) {
  std::set<std::string> places;
  add_places(status, "", places);
  return places;
}

std::set<std::string> keys_of(const json::value& status) {
  std::set<std::string> keys;
  for (const std::string& place : places_in(status)) {
    const std::string key = place.substr(place.rfind('/') + 1);
    keys.insert(key.substr(0, key.find(' ')));
  }
  return keys;
}

TEST(StatusTest, ThePageIsTestedWithAStatusBeforeTheFirstPoll) {
  World world;
  world.plan = test::plan_on("", "  - {name: core, events: [cycles], scope: cpu}");
  world.plan.counting = with_sums(world.plan.counting);

  EXPECT_EQ(places_in(world.status()), places_in(drawn("starting.json")));
}

TEST(StatusTest, ThePageIsTestedWithAStatusThatHasEachKey) {
  EXPECT_EQ(keys_of(full_world().status()), keys_of(drawn("full.json")));
}

/// As far down as both are objects: an unknown object is null.
void expect_same_keys(const json::object& one, const json::object& other, const std::string& at) {
  std::set<std::string> keys_of_one;
  std::set<std::string> keys_of_other;
  for (const auto& member : one) keys_of_one.emplace(member.key());
  for (const auto& member : other) keys_of_other.emplace(member.key());
  EXPECT_EQ(keys_of_one, keys_of_other) << "in " << at;
  for (const auto& [key, value] : one) {
    const json::value* same = other.if_contains(key);
    if (same == nullptr || !value.is_object() || !same->is_object()) continue;
    expect_same_keys(value.get_object(), same->get_object(), at + "/" + std::string(key));
  }
}

TEST(StatusTest, HasTheSameKeysWhetherAnythingIsKnownOrNot) {
  const json::value known = full_world().status();
  for (const json::value& other : {drawn("full.json"), drawn("starting.json")}) {
    for (const char* const part : {"", "/groups/0", "/sums/0"}) {
      expect_same_keys(at(known, part).as_object(), at(other, part).as_object(), part);
    }
  }
}

/// The part of the document about the status: it is the last one.
std::string read_document() {
  std::ifstream file{PEX_SOURCE_DIR "/docs/serving.md"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.substr(text.find("\n## The status as JSON\n"));
}

/// In the first two columns of its table: "| `rows` | `coverage_ratio` | n? |".
std::set<std::string> documented_keys() {
  std::set<std::string> keys;
  for (const std::string& line : lines_of(read_document())) {
    std::string_view rest = line;
    for (int column = 0; column < 2 && rest.starts_with("| `"); ++column) {
      rest.remove_prefix(3);
      keys.emplace(rest.substr(0, rest.find('`')));
      rest.remove_prefix(std::min(rest.find('|'), rest.size()));
    }
  }
  return keys;
}

TEST(StatusTest, EachKeyIsInItsDocumentAndNoOther) {
  const std::set<std::string> there = keys_of(full_world().status());

  EXPECT_EQ(documented_keys(), there);
  EXPECT_GT(there.size(), 60U);
}

}  // namespace
}  // namespace pex::daemon
