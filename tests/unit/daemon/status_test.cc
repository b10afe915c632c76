#include "daemon/status/status.h"

#include <cerrno>

#include "support/events.h"
#include "support/planning.h"
#include "support/test_headers.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

using collect::GroupRow;
using collect::Snapshot;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

/// What a program knows that has just planned, and what it will know later on.
struct World {
  plan::Plan plan;
  std::vector<std::string> warnings;
  history::Activity activity;
  std::optional<Snapshot> snapshot;

  StatusInputs inputs() const {
    StatusInputs inputs{.program = {.version = "1.2.3",
                                    .now = {},
                                    .started = {},
                                    .warnings = warnings,
                                    .telemetry_path = "/metrics"},
                        .plan = plan,
                        .activity = activity};
    if (snapshot) inputs.snapshot = &*snapshot;
    return inputs;
  }
  Status status() const { return make_status(inputs()); }

  /// Two readings, five seconds apart, of which the later one is the snapshot.
  void read(const Snapshot& before, Snapshot after) {
    after.plan = before.plan;
    activity.add(before, history::Activity::Clock::time_point{});
    activity.add(after, history::Activity::Clock::time_point{} + seconds{5});
    snapshot = std::move(after);
  }
};

std::vector<std::string> paths_of(const Status& status) {
  std::vector<std::string> paths;
  for (const Status::BusyCgroup& cgroup : status.use.cgroups) paths.push_back(cgroup.path);
  return paths;
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
Status status_of(const std::vector<std::string>& paths, const collect::ScopePlan& plan,
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

  const Status status = world.status();

  ASSERT_EQ(status.groups.size(), 2U);
  EXPECT_EQ(status.groups[0].events[0].metric, "perf_cpu_cycles_total");
  EXPECT_EQ(status.groups[1].events[0].metric, "perf_cgroup_cycles_total");
  EXPECT_EQ(status.groups[0].coverage_ratio(), std::nullopt);
  EXPECT_EQ(status.groups[0].running_ratio(), std::nullopt);
  EXPECT_FALSE(status.groups[0].targets);
  EXPECT_FALSE(status.groups[1].targets);
  EXPECT_FALSE(status.last_poll);
  EXPECT_FALSE(status.machine);
  EXPECT_FALSE(status.cgroups);
  EXPECT_EQ(status.cgroups_missed, 0U) << "of this, nothing is unknown";
  EXPECT_EQ(status.limits.open_files, std::nullopt);
  EXPECT_EQ(status.limits.open_events, std::nullopt);
  EXPECT_EQ(status.limits.series, std::nullopt);
  EXPECT_THAT(status.use.cgroups, IsEmpty());
  EXPECT_EQ(status.use.ranked_by, std::nullopt);
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

  const Status status = world.status();

  ASSERT_EQ(status.not_counted.size(), 2U);
  EXPECT_THAT(status.not_counted[0].events, ElementsAre("cycles", "branches"));
  EXPECT_THAT(status.not_counted[0].groups, ElementsAre("core", "more"));
  EXPECT_EQ(status.not_counted[0].code, ENOENT);
  EXPECT_EQ(status.not_counted[0].reason, "this machine has no such hardware counter (ENOENT)");
  EXPECT_EQ(status.not_counted[0].remedy,
            "remove the event, or enable a virtual PMU if this is a virtual machine");
  EXPECT_THAT(status.not_counted[1].events, ElementsAre("instructions"));
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

  const Status status = world.status();

  EXPECT_THAT(status.not_counted, IsEmpty());
  ASSERT_EQ(status.left_out_groups.size(), 1U);
  EXPECT_EQ(status.left_out_groups[0].name, "b");
  EXPECT_EQ(status.left_out_groups[0].reason, "when.pmu: this machine has no PMU 'power'");
}

TEST(StatusTest, CoverageIsOfCpusAndRunningOfTheTimeThatWasWanted) {
  collect::ScopePlan plan = test::scope_plan({{"core", {"cycles"}}});
  plan.groups[0].shares_pmu = true;
  World world;
  world.snapshot = exposition::cpu_snapshot(plan, {0, 1}, {5, 6});
  for (GroupRow& row : world.snapshot->cpu[0].rows) row.wanted_on = 1;
  world.snapshot->cpu[0].rows[0].counted_on = 1;
  world.snapshot->cpu[0].rows[0].times = {.enabled = seconds{3}, .running = seconds{1}};

  const Status status = world.status();

  EXPECT_EQ(status.groups[0].targets->rows, 2U);
  EXPECT_THAT(status.groups[0].coverage_ratio(), Optional(0.5));
  EXPECT_THAT(status.groups[0].running_ratio(), Optional(0.5));  // and one of 1 s, all of it
}

TEST(StatusTest, AGroupThatAlwaysHadThePmuHasRunExactlyAllOfTheTime) {
  World world;
  world.snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1, 2}, {1, 2, 3});
  for (GroupRow& row : world.snapshot->cpu[0].rows) {
    row.times.enabled = row.times.running = std::chrono::nanoseconds{333'333'333'333'333};
  }

  EXPECT_EQ(world.status().groups[0].running_ratio(), 1.0);
}

TEST(StatusTest, GroupsThatOnlyServeOthersAreNotShown) {
  collect::ScopePlan plan = test::scope_plan({{"(clock)", {"cpu-clock"}}, {"core", {"cycles"}}});
  plan.groups[0].is_published = false;
  World world;
  world.snapshot = exposition::cpu_snapshot(plan, {0}, {5, 6});

  const Status status = world.status();

  ASSERT_EQ(status.groups.size(), 1U);
  EXPECT_EQ(status.groups[0].name, "core");
}

TEST(StatusTest, TheBusiestComeFirstByCpuTimeAndEqualOnesByPath) {
  const Status status =
      status_of({"/c", "/d", "/b", "/a"}, test::scope_plan({{"g", {"task-clock", "cycles"}}}),
                {5'000'000'000, 1, 5, 9, 5, 9, 10, 9});

  EXPECT_EQ(status.use.ranked_by, history::Role::kCpuTime);
  EXPECT_THAT(paths_of(status), ElementsAre("/c", "/a", "/b", "/d"));
  EXPECT_EQ(status.use.cgroups[0].points.size(), status.use.ages.size());
}

TEST(StatusTest, TheBusiestAreByCyclesWhereCpuTimeIsNotCounted) {
  const Status status = status_of(
      {"/a", "/b"}, test::scope_plan({{"g", {"cycles", "instructions"}}}), {50, 50, 100, 150});

  EXPECT_EQ(status.use.ranked_by, history::Role::kCycles);
  EXPECT_THAT(paths_of(status), ElementsAre("/b", "/a"));
  EXPECT_THAT(status.use.cgroups[0].instructions_per_cycle, Optional(1.5));
}

TEST(StatusTest, TheBusiestAreByTheFirstEventWhateverItIs) {
  collect::ScopePlan plan = test::scope_plan({{"g", {"minor-faults", "major-faults"}}});
  plan.columns[0].event.metric = "mapped";
  plan.columns[0].event.unit = Unit::kBytes;
  plan.columns[0].event.scale = 4096;

  const Status status = status_of({"/a", "/b"}, plan, {5, 50, 10, 0});

  EXPECT_EQ(status.use.ranked_by, history::Role::kOther);
  EXPECT_THAT(paths_of(status), ElementsAre("/b", "/a"));
  ASSERT_EQ(status.use.cgroups[0].rates.size(), 2U);
  EXPECT_EQ(status.use.cgroups[0].rates[0].event.metric, "perf_cgroup_mapped_bytes_total");
  EXPECT_THAT(status.use.cgroups[0].rates[0].per_second, Optional(8192.0));
  EXPECT_THAT(status.use.cgroups[0].rates[1].per_second, Optional(0.0));
}

TEST(StatusTest, TheEventThatTheBusiestAreRankedByComesFirst) {
  const auto set = present({"/a"});
  const collect::ScopePlan plan =
      test::scope_plan({{"starved", {"cycles"}}, {"g", {"minor-faults"}}});
  Snapshot after = exposition::cgroup_snapshot(plan, set, {0, 10});
  after.cgroup[0].rows[0].value = GroupRow::Value::kNone;
  World world;
  world.read(exposition::cgroup_snapshot(plan, set, {0, 0}), after);

  const Status status = world.status();

  ASSERT_EQ(status.use.cgroups.size(), 1U);
  const std::vector<Status::Rate>& rates = status.use.cgroups[0].rates;
  EXPECT_EQ(rates[0].event.name, "minor-faults");
  EXPECT_THAT(rates[0].per_second, Optional(2.0));
  EXPECT_EQ(rates[1].event.name, "cycles");
  EXPECT_EQ(rates[1].per_second, std::nullopt);
  EXPECT_THAT(status.use.cgroups[0].points, ElementsAre(Optional(2.0)));
}

TEST(StatusTest, IdleCgroupsAreCountedAndNotAmongTheBusiest) {
  const auto set = present({"/busy", "/idle", "/starved"});
  const collect::ScopePlan plan = test::scope_plan({{"g", {"cycles"}}});
  Snapshot after = exposition::cgroup_snapshot(plan, set, {5, 0, 0});
  after.cgroup[0].rows[2].value = GroupRow::Value::kNone;
  World world;
  world.read(exposition::cgroup_snapshot(plan, set, {0, 0, 0}), after);

  const Status status = world.status();

  EXPECT_THAT(paths_of(status), ElementsAre("/busy"));
  EXPECT_EQ(status.use.busy_cgroups, 1U);
  EXPECT_EQ(status.use.idle_cgroups, 1U) << "nothing is known of the third one";
}

TEST(StatusTest, EveryEventOfTheCpusHasARate) {
  const collect::ScopePlan plan =
      test::scope_plan({{"g", {"context-switches", "task-clock", "cycles"}}});
  World world;
  world.read(exposition::cpu_snapshot(plan, {0}, {0, 0, 0}),
             exposition::cpu_snapshot(plan, {0}, {15, 5'000'000'000, 100}));

  const std::vector<Status::HostRate> host = world.status().use.host;

  ASSERT_EQ(host.size(), 2U) << "the clock of a CPU runs while it is idle";
  EXPECT_EQ(host[0].rate.event.metric, "perf_cpu_cycles_total");
  EXPECT_THAT(host[0].rate.per_second, Optional(20.0));
  EXPECT_EQ(host[1].rate.event.metric, "perf_cpu_context_switches_total");
  EXPECT_THAT(host[1].points, ElementsAre(Optional(3.0)));
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

  const Status status = world.status();

  EXPECT_EQ(status.cgroups->counted, 1U);
  EXPECT_EQ(status.cgroups->lingering, 1U);
  EXPECT_EQ(status.groups[0].times->enabled, seconds{1});
  EXPECT_FALSE(status.use.cgroups[0].is_gone);
  EXPECT_TRUE(status.use.cgroups[1].is_gone);
}

/// Sums of one event by one label. `totals` are those of each value, in nanoseconds.
Snapshot sum_snapshot(const std::vector<std::string>& values,
                      const std::vector<std::uint64_t>& totals) {
  const collect::ScopePlan plan = test::scope_plan({{"g", {"task-clock"}}});
  Snapshot snapshot = exposition::cgroup_snapshot(plan, present({}), {});
  collect::CountingPlan with_sums = *snapshot.plan;
  with_sums.sums = {{.name = "app", .labels = {"app"}, .max = 40}};
  snapshot.plan = std::make_shared<const collect::CountingPlan>(with_sums);
  collect::SumTable& table = snapshot.sums.emplace_back();
  table.groups = exposition::tables(plan, values.size(), totals);
  for (const std::string& value : values) table.rows.push_back({{value}, {}, 2, false});
  return snapshot;
}

std::vector<std::string> values_of(const Status::Sum& sum) {
  std::vector<std::string> values;
  for (const Status::BusySum& busy : sum.busiest) values.push_back(busy.labels[0].second);
  return values;
}

TEST(StatusTest, BeforeTheFirstPollTheConfiguredSumsAreThere) {
  World world;
  world.plan.counting.sums = {{.name = "app", .labels = {"namespace", "pod"}, .max = 40}};

  const Status status = world.status();

  ASSERT_EQ(status.sums.size(), 1U);
  EXPECT_EQ(status.sums[0].name, "app");
  EXPECT_THAT(status.sums[0].labels, ElementsAre("namespace", "pod"));
  EXPECT_EQ(status.sums[0].max, 40U);
  EXPECT_FALSE(status.sums[0].numbers);
  EXPECT_EQ(status.sums[0].ranked_by, std::nullopt);
}

TEST(StatusTest, TheBusiestSumsComeFirstAndEqualOnesByTheirValues) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  World world;
  world.read(
      sum_snapshot({"a", "b", "c", "d"}, {0, 0, 0, 7 * kSecond}),
      sum_snapshot({"a", "b", "c", "d"}, {5 * kSecond, 5 * kSecond, 10 * kSecond, 7 * kSecond}));

  const Status::Sum sum = world.status().sums.at(0);

  EXPECT_THAT(values_of(sum), ElementsAre("c", "a", "b"));
  EXPECT_EQ(sum.ranked_by, history::Role::kCpuTime);
  EXPECT_EQ(sum.busy, 3U);
  EXPECT_EQ(sum.idle, 1U);
  EXPECT_EQ(sum.busiest[0].rates[0].event.metric, "perf_app_task_clock_seconds_total");
  EXPECT_THAT(sum.busiest[0].rates[0].per_second, Optional(2.0));
  EXPECT_THAT(sum.busiest[0].points, ElementsAre(Optional(2.0)));
  EXPECT_EQ(sum.busiest[0].members, 2U);
}

TEST(StatusTest, NoMoreThanTheTenBusiestOfASumAreShownAndAllAreCounted) {
  std::vector<std::uint64_t> totals;
  for (std::uint64_t i = 0; i < 30; ++i) totals.push_back(i * 1000);
  Snapshot after = sum_snapshot(numbered_paths(30), totals);
  after.sums[0].left_out = 4;
  World world;
  world.read(sum_snapshot(numbered_paths(30), std::vector<std::uint64_t>(30)), after);

  const Status::Sum sum = world.status().sums.at(0);

  ASSERT_EQ(sum.busiest.size(), 10U);
  EXPECT_EQ(values_of(sum).front(), "/1029");
  EXPECT_EQ(values_of(sum).back(), "/1020");
  EXPECT_EQ(sum.numbers->sums, 30U);
  EXPECT_EQ(sum.numbers->members, 60U);
  EXPECT_EQ(sum.numbers->members_left_out, 4U);
}

TEST(StatusTest, OfASumThatIsStillServedAsZeroTheRateIsUnknown) {
  Snapshot after = sum_snapshot({"new", "old"}, {0, 10});
  after.sums[0].rows[0].is_new = true;
  World world;
  world.read(sum_snapshot({"old"}, {0}), after);

  const Status::Sum sum = world.status().sums.at(0);

  EXPECT_THAT(values_of(sum), ElementsAre("old"));
  EXPECT_EQ(sum.numbers->is_new, 1U);
  EXPECT_EQ(sum.idle, 0U);
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
    return *world.status().cgroups;
  };

  EXPECT_EQ(cgroups().left_out, 1234U);
  EXPECT_EQ(cgroups().left_out_by, "max_series");
  EXPECT_EQ(cgroups().left_out_setting, "limits.max_series");
  EXPECT_THAT(cgroups().left_out_paths, ElementsAre("/a", "/b"));

  set.found = std::make_shared<const cgroup::DiscoveryResult>();
  EXPECT_EQ(cgroups().left_out_by, "") << "nothing is left out";
}

TEST(StatusTest, SeriesAreThoseOfTheSnapshot) {
  World world;
  world.snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1}, {5, 6});

  EXPECT_EQ(world.status().limits.series, collect::count_series(*world.snapshot));
}

}  // namespace
}  // namespace pex::daemon
