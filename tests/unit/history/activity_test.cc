#include "history/activity.h"

#include "base/boot_clock.h"
#include "support/events.h"
#include "support/test_headers.h"
#include "unit/exposition/snapshots.h"

namespace pex::history {
namespace {

using collect::GroupRow;
using collect::Snapshot;
using exposition::cgroup_snapshot;
using exposition::cpu_snapshot;
using exposition::targets;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr std::uint64_t kSecond = 1'000'000'000;  // of a clock, in counts

auto about(double value) { return Optional(DoubleNear(value, 1e-3 * (1 + value))); }

/// An Activity, and the snapshots of one plan with which it is fed.
class Fed {
 public:
  explicit Fed(collect::ScopePlan plan) : scope_(std::move(plan)) {}

  void feed_cgroups(seconds at, std::shared_ptr<const collect::TargetSet> set,
                    const std::vector<std::uint64_t>& totals) {
    feed(at, cgroup_snapshot(scope_, std::move(set), totals));
  }
  void feed_cpus(seconds at, const std::vector<std::uint64_t>& totals, int cpus = 1) {
    std::vector<int> numbers;
    for (int cpu = 0; cpu < cpus; ++cpu) numbers.push_back(cpu);
    feed(at, cpu_snapshot(scope_, numbers, totals));
  }
  void feed(milliseconds at, Snapshot snapshot) {
    if (!plan_) plan_ = snapshot.plan;
    snapshot.plan = plan_;
    auto set = std::make_shared<collect::TargetSet>(*snapshot.targets);
    set->since += since_;
    snapshot.targets = std::move(set);
    activity.add(snapshot, Activity::Clock::time_point{} + seconds{1000} + at, used);
  }
  const collect::ScopePlan& scope() const { return scope_; }
  /// With counters that begin at 0.
  void reload() {
    plan_.reset();
    since_ += seconds{1};
  }
  void change(collect::ScopePlan plan) {
    plan_.reset();
    scope_ = std::move(plan);
  }
  /// The same counters, published in another way.
  void publish_otherwise() { plan_.reset(); }

  Activity activity;
  Activity::CpuTime used{};

 private:
  collect::ScopePlan scope_;
  std::shared_ptr<const collect::CountingPlan> plan_;
  seconds since_{};
};

collect::ScopePlan clock_alone() { return test::scope_plan({{"software", {"task-clock"}}}); }
collect::ScopePlan core() { return test::scope_plan({{"core", {"cycles", "instructions"}}}); }

TEST(ActivityTest, NothingIsKnownBeforeTheSecondPoint) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {7 * kSecond});

  EXPECT_EQ(fed.activity.recent_of_cgroup("/a").per_second[0], std::nullopt);
  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), IsEmpty());
  EXPECT_THAT(fed.activity.ages(), IsEmpty());
  EXPECT_EQ(fed.activity.recent(), Activity::Seconds{0});
}

TEST(ActivityTest, ACgroupUsesAsManyCpusAsItsTaskClockGainsSecondsInASecond) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a", "/b"}), {7 * kSecond, 0});
  fed.feed_cgroups(seconds{10}, targets({"/a", "/b"}), {22 * kSecond, 0});

  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], about(1.5));
  EXPECT_THAT(fed.activity.recent_of_cgroup("/b").per_second[0], Optional(0.0));
  EXPECT_EQ(fed.activity.recent_of_cgroup("/never seen").per_second[0], std::nullopt);
}

TEST(ActivityTest, MakesAPointEachFiveSecondsOfPollsThatAreNotQuiteOnTime) {
  Fed fed{clock_alone()};
  for (int poll = 0; poll <= 20; ++poll) {
    const milliseconds late{poll % 2 == 0 ? 0 : -40};
    fed.feed(seconds{poll} + late, cgroup_snapshot(fed.scope(), targets({"/a"}),
                                                   {static_cast<std::uint64_t>(poll) * kSecond}));
  }

  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0),
              ElementsAre(about(1.008), about(0.992), about(1.008), about(0.992)));
}

TEST(ActivityTest, KeepsSixtyPointsHoweverLongItRuns) {
  Fed fed{clock_alone()};
  for (int point = 0; point <= 200; ++point) {
    fed.feed_cgroups(seconds{5 * point}, targets({"/a"}),
                     {static_cast<std::uint64_t>(point) * (point < 150 ? kSecond : 2 * kSecond)});
  }

  EXPECT_EQ(fed.activity.points_of_cgroup("/a", 0).size(), Activity::kPoints);
  EXPECT_EQ(fed.activity.ages().size(), Activity::kPoints);
  EXPECT_EQ(fed.activity.ages().front(), seconds{295});
  EXPECT_EQ(fed.activity.ages().back(), seconds{0});
  EXPECT_EQ(fed.activity.span(), seconds{300});
}

TEST(ActivityTest, RecentCpuTimeIsOfTheSameMinuteAsTheRates) {
  Fed fed{clock_alone()};
  for (int point = 0; point <= 20; ++point) {
    const seconds busy{point < 10 ? 5 * point : 45};  // idle from then on
    fed.used = {busy, seconds{10 * point}};
    fed.feed_cgroups(seconds{5 * point}, targets({"/a"}), {0});
  }

  EXPECT_EQ(fed.activity.recent(), seconds{60});
  EXPECT_EQ(fed.activity.recent_cpu_time().uncounted, seconds{5});
  EXPECT_EQ(fed.activity.recent_cpu_time().machine, seconds{120});
}

TEST(ActivityTest, RecentIsTheLastMinuteAlone) {
  Fed fed{clock_alone()};
  std::uint64_t total = 0;
  for (int point = 0; point <= 24; ++point) {
    fed.feed_cgroups(seconds{5 * point}, targets({"/a"}), {total});
    total += point < 12 ? 5 * kSecond : 0;
  }

  EXPECT_EQ(fed.activity.recent(), seconds{60});
  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], Optional(0.0));
  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0).front(), about(1));
}

TEST(ActivityTest, RecentIsOnePointWherePollsAreFarApart) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {0});
  fed.feed_cgroups(seconds{600}, targets({"/a"}), {600 * kSecond});
  fed.feed_cgroups(seconds{1200}, targets({"/a"}), {900 * kSecond});

  EXPECT_EQ(fed.activity.recent(), seconds{600});
  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], about(0.5));
}

TEST(ActivityTest, WhatHasNoValueIsUnknownAndNotZero) {
  Fed fed{core()};
  Snapshot starved = cgroup_snapshot(fed.scope(), targets({"/a"}), {0, 0});
  starved.cgroup[0].rows[0].value = GroupRow::Value::kNone;
  fed.feed(seconds{0}, starved);
  fed.feed(seconds{5}, starved);
  fed.feed_cgroups(seconds{10}, targets({"/a"}), {1000, 500});
  fed.feed_cgroups(seconds{15}, targets({"/a"}), {6000, 9000});

  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0),
              ElementsAre(std::nullopt, std::nullopt, about(1000)));
  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], about(1000));
  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").instructions_per_cycle, about(1.7));
}

TEST(ActivityTest, InstructionsPerCycleAreUnknownWithoutCycles) {
  Fed fed{core()};
  fed.feed_cgroups(seconds{0}, targets({"/idle"}), {1000, 500});
  fed.feed_cgroups(seconds{5}, targets({"/idle"}), {1000, 500});

  EXPECT_THAT(fed.activity.recent_of_cgroup("/idle").per_second[0], Optional(0.0));
  EXPECT_EQ(fed.activity.recent_of_cgroup("/idle").instructions_per_cycle, std::nullopt);
}

TEST(ActivityTest, TheHostIsTheSumOfItsCpusAndAsGoodAsTheWorst) {
  Fed fed{core()};
  fed.feed_cpus(seconds{0}, {0, 0, 0, 0}, 2);
  fed.feed_cpus(seconds{5}, {5000, 10'000, 10'000, 5000}, 2);
  EXPECT_THAT(fed.activity.recent_of_host().per_second[0], about(3000));
  EXPECT_THAT(fed.activity.recent_of_host().instructions_per_cycle, about(1));

  Snapshot lame = cpu_snapshot(fed.scope(), {0, 1}, {9000, 20'000, 20'000, 9000});
  lame.cpu[0].rows[1].value = GroupRow::Value::kNone;
  fed.feed(seconds{10}, lame);

  EXPECT_THAT(fed.activity.points_of_host(0), ElementsAre(about(3000), std::nullopt));
}

TEST(ActivityTest, RatesAreInTheUnitOfTheEvent) {
  collect::ScopePlan plan = test::scope_plan({{"g", {"minor-faults"}}});
  plan.columns[0].event.unit = Unit::kBytes;
  plan.columns[0].event.scale = 4096;
  Fed fed{plan};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {0});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {10});

  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second, ElementsAre(about(8192)));
  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), ElementsAre(about(8192)));
}

TEST(ActivityTest, OfManyEventsOfACgroupOnlyTheFirstAreKept) {
  std::vector<std::string> events = {"minor-faults",   "major-faults", "context-switches",
                                     "cpu-migrations", "branches",     "branch-misses",
                                     "cycles"};
  Fed fed{test::scope_plan({{"g", events}})};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {0, 0, 0, 0, 0, 0, 0});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {5, 10, 15, 20, 25, 30, 35});

  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second,
              ElementsAre(about(7), about(6), about(1), about(2), about(3), about(4)));
}

std::vector<std::string> names_of(const std::vector<Measure>& measures) {
  std::vector<std::string> names;
  for (const Measure& measure : measures) names.push_back(measure.event().name);
  return names;
}

TEST(MeasuresTest, ThoseThatCgroupsAreUsuallyComparedByComeFirst) {
  const collect::ScopePlan plan =
      test::scope_plan({{"more", {"minor-faults", "cache-misses", "instructions"}},
                        {"core", {"cycles", "task-clock"}}});

  EXPECT_THAT(names_of(measures_of(plan, Scope::kCgroup, 9)),
              ElementsAre("task-clock", "cycles", "instructions", "cache-misses", "minor-faults"));
  EXPECT_THAT(names_of(measures_of(plan, Scope::kCgroup, 2)), ElementsAre("task-clock", "cycles"));
}

TEST(MeasuresTest, TheClocksOfWholeCpusRunWhileTheseAreIdleAndAreLeftOut) {
  const collect::ScopePlan plan = test::scope_plan({{"g", {"task-clock", "cpu-clock", "cycles"}}});

  EXPECT_THAT(names_of(measures_of(plan, Scope::kCpu, 9)), ElementsAre("cycles"));
}

TEST(MeasuresTest, AnEventOfAnotherUnitOrScaleIsNotTakenForTheUsualOne) {
  collect::ScopePlan plan = test::scope_plan({{"g", {"cycles", "instructions"}}});
  plan.columns[0].event.scale = 64;

  const std::vector<Measure> measures = measures_of(plan, Scope::kCgroup, 9);

  EXPECT_THAT(names_of(measures), ElementsAre("instructions", "cycles"));
  EXPECT_EQ(measures[1].role, Role::kOther);
}

TEST(MeasuresTest, ANamedEventIsAnotherThanTheSameWithoutAName) {
  collect::ScopePlan plan = test::scope_plan({{"g", {"cycles"}}, {"h", {"cycles"}}});
  plan.columns[1].event.metric = "turns";

  EXPECT_EQ(measures_of(plan, Scope::kCgroup, 9).size(), 2U);
}

TEST(ActivityTest, TwoKindsOfCpusAreAddedUpAndTheSameEventTwiceIsNot) {
  collect::ScopePlan plan =
      test::scope_plan({{"big", {"cycles"}}, {"little", {"cycles"}}, {"again", {"cycles"}}});
  plan.columns[0].event.labels = {{"pmu", "cpu_core"}};
  plan.columns[1].event.labels = {{"pmu", "cpu_atom"}};
  plan.columns[2].event.labels = {{"pmu", "cpu_core"}};
  Fed fed{plan};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {0, 0, 0});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {5000, 10'000, 5000});

  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], about(3000));
}

TEST(ActivityTest, AGroupOfAnotherKindOfCpuDoesNotMakeARowUnknown) {
  collect::ScopePlan plan = test::scope_plan({{"big", {"cycles"}}, {"little", {"cycles"}}});
  plan.columns[0].event.labels = {{"pmu", "cpu_core"}};
  plan.columns[1].event.labels = {{"pmu", "cpu_atom"}};
  Fed fed{plan};
  for (const std::uint64_t cycles : {std::uint64_t{0}, std::uint64_t{5000}}) {
    Snapshot big = cpu_snapshot(fed.scope(), {0}, {cycles, 0});
    big.cpu[1].rows[0].value = GroupRow::Value::kNotHere;
    fed.feed(seconds{cycles / 1000}, big);
  }

  EXPECT_THAT(fed.activity.recent_of_host().per_second[0], about(1000));
}

TEST(ActivityTest, RowsOfEachCpuAreOneCgroup) {
  Fed fed{clock_alone()};
  for (const std::uint64_t total : {std::uint64_t{0}, 5 * kSecond}) {
    Snapshot each_cpu =
        cgroup_snapshot(fed.scope(), targets({"/a", "/a on CPU 1"}), {total, total / 2});
    each_cpu.targets = targets({"/a"});
    each_cpu.cgroup_rows = {{0, 0}, {0, 1}};
    fed.feed(seconds{total / kSecond}, each_cpu);
  }

  EXPECT_THAT(fed.activity.recent_of_cgroup("/a").per_second[0], about(1.5));
}

TEST(ActivityTest, ForgetsACgroupThatIsGoneAndDoesNotTakeItsNamesakeForIt) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a", "/b"}), {0, 0});
  fed.feed_cgroups(seconds{5}, targets({"/a", "/b"}), {0, 5 * kSecond});
  fed.feed_cgroups(seconds{10}, targets({"/a"}), {0});
  EXPECT_EQ(fed.activity.recent_of_cgroup("/b").per_second[0], std::nullopt);

  collect::TargetSet namesake;
  namesake.cgroups = {{3, "/a", nullptr}};  // another series than the first one's
  fed.feed_cgroups(seconds{15}, std::make_shared<const collect::TargetSet>(namesake), {kSecond});

  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0),
              ElementsAre(std::nullopt, std::nullopt, about(0.2)));
}

TEST(ActivityTest, ACgroupThatIsNewCountsFromItsFirstMoment) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/old"}), {0});
  fed.feed_cgroups(seconds{5}, targets({"/old"}), {0});
  fed.feed_cgroups(seconds{10}, targets({"/old", "/brief"}), {0, kSecond / 4});
  EXPECT_THAT(fed.activity.recent_of_cgroup("/brief").per_second[0], about(0.05));

  fed.feed_cgroups(seconds{15}, targets({"/old", "/brief"}), {0, kSecond / 4});
  EXPECT_THAT(fed.activity.points_of_cgroup("/brief", 0),
              ElementsAre(std::nullopt, about(0.05), Optional(0.0)));
}

TEST(ActivityTest, ACgroupThatIsMadeAgainUnderItsPathContinuesWithItsSeries) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {50 * kSecond});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {51 * kSecond});
  collect::TargetSet made_again = *targets({"/a"});
  made_again.cgroups[0].cgroup = std::make_shared<const cgroup::Cgroup>();
  fed.feed_cgroups(seconds{10}, std::make_shared<const collect::TargetSet>(made_again),
                   {53 * kSecond});

  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), ElementsAre(about(0.2), about(0.4)));
}

TEST(ActivityTest, WhatANewCgroupDidWithoutAValueStaysUnknown) {
  Fed fed{core()};
  fed.feed_cgroups(seconds{0}, targets({}), {});
  Snapshot starved = cgroup_snapshot(fed.scope(), targets({"/new"}), {0, 0});
  starved.cgroup[0].rows[0].value = GroupRow::Value::kNone;
  fed.feed(seconds{5}, starved);
  fed.feed_cgroups(seconds{10}, targets({"/new"}), {9000, 500});
  fed.feed_cgroups(seconds{15}, targets({"/new"}), {10'000, 500});

  EXPECT_THAT(fed.activity.points_of_cgroup("/new", 0),
              ElementsAre(std::nullopt, std::nullopt, about(200)));
}

TEST(ActivityTest, ASumThatHasLostAPartIsUnknown) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {50 * kSecond});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {20 * kSecond});
  fed.feed_cgroups(seconds{10}, targets({"/a"}), {25 * kSecond});

  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), ElementsAre(std::nullopt, about(1)));
}

/// One configured sum with one value, "web". `since` tells one sum from the next of its values.
Snapshot sum_snapshot(std::uint64_t total, seconds since, bool is_new = false) {
  Snapshot snapshot = cgroup_snapshot(clock_alone(), targets({}), {});
  collect::CountingPlan plan = *snapshot.plan;
  plan.sums = {{.name = "app", .labels = {"app"}}};
  snapshot.plan = std::make_shared<const collect::CountingPlan>(plan);
  collect::SumTable& table = snapshot.sums.emplace_back();
  table.groups = exposition::tables(clock_alone(), 1, {total});
  table.rows.push_back({{"web"}, BootClock::time_point{since}, 1, is_new});
  return snapshot;
}

TEST(ActivityTest, ASumHasTheRatesOfWhatIsAddedToIt) {
  Fed fed{clock_alone()};
  fed.feed(seconds{0}, sum_snapshot(7 * kSecond, seconds{1}));
  fed.feed(seconds{5}, sum_snapshot(12 * kSecond, seconds{1}));
  fed.feed(seconds{10}, sum_snapshot(12 * kSecond, seconds{1}));

  EXPECT_THAT(fed.activity.points_of_sum("app", {"web"}, 0), ElementsAre(about(1), about(0)));
  EXPECT_THAT(fed.activity.recent_of_sum("app", {"web"}).per_second[0], about(0.5));
  EXPECT_EQ(fed.activity.recent_of_sum("app", {"other"}).per_second[0], std::nullopt);
}

TEST(ActivityTest, ThePointsOfASumBeginWhenItIsNoLongerPublishedAsZero) {
  Fed fed{clock_alone()};
  fed.feed(seconds{0}, sum_snapshot(0, seconds{1}, true));
  fed.feed(seconds{5}, sum_snapshot(0, seconds{1}, true));
  fed.feed(seconds{10}, sum_snapshot(60 * kSecond, seconds{1}));
  fed.feed(seconds{15}, sum_snapshot(65 * kSecond, seconds{1}));

  EXPECT_THAT(fed.activity.points_of_sum("app", {"web"}, 0),
              ElementsAre(std::nullopt, std::nullopt, about(1)));
}

TEST(ActivityTest, ASumThatBeginsAgainDoesNotContinueTheOneBefore) {
  Fed fed{clock_alone()};
  fed.feed(seconds{0}, sum_snapshot(2 * kSecond, seconds{1}));
  fed.feed(seconds{5}, sum_snapshot(3 * kSecond, seconds{1}));
  fed.feed(seconds{10}, sum_snapshot(50 * kSecond, seconds{9}));

  EXPECT_THAT(fed.activity.points_of_sum("app", {"web"}, 0),
              ElementsAre(std::nullopt, std::nullopt));
}

TEST(ActivityTest, StartsAgainWhereAllCountersDo) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {50 * kSecond});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {55 * kSecond});
  fed.reload();
  fed.feed_cgroups(seconds{6}, targets({"/a"}), {1});
  EXPECT_EQ(fed.activity.recent_of_cgroup("/a").per_second[0], std::nullopt);

  fed.feed_cgroups(seconds{11}, targets({"/a"}), {5 * kSecond});
  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), ElementsAre(about(1)));
}

TEST(ActivityTest, EventsOfBothPlansGoOnAndAGroupThatHasChangedHasOneUnknownPoint) {
  const auto groups = [](const std::string& changes) {
    return test::scope_plan(
        {{"stays", {"context-switches"}}, {"changes", {changes, "page-faults"}}});
  };
  Fed fed{groups("task-clock")};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {0, 0, 0});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {10, kSecond, 50});
  fed.change(groups("cpu-migrations"));
  fed.feed_cgroups(seconds{10}, targets({"/a"}), {20, 1, 60});
  fed.feed_cgroups(seconds{15}, targets({"/a"}), {40, 6, 75});

  std::map<std::string, Activity::Points> points;
  for (std::size_t i = 0; i < fed.activity.measures(Scope::kCgroup).size(); ++i) {
    points[fed.activity.measures(Scope::kCgroup)[i].event().name] =
        fed.activity.points_of_cgroup("/a", i);
  }
  EXPECT_THAT(points["context-switches"], ElementsAre(about(2), about(2), about(4)));
  EXPECT_THAT(points["page-faults"], ElementsAre(about(10), std::nullopt, about(3)));
  EXPECT_THAT(points["cpu-migrations"], ElementsAre(std::nullopt, std::nullopt, about(1)));
  EXPECT_EQ(points.size(), 3U);
}

TEST(ActivityTest, GoesOnWhereTheSameCountersArePublishedInAnotherWay) {
  Fed fed{clock_alone()};
  fed.feed_cgroups(seconds{0}, targets({"/a"}), {50 * kSecond});
  fed.feed_cgroups(seconds{5}, targets({"/a"}), {55 * kSecond});
  fed.publish_otherwise();
  fed.feed_cgroups(seconds{10}, targets({"/a"}), {65 * kSecond});
  EXPECT_THAT(fed.activity.points_of_cgroup("/a", 0), ElementsAre(about(1), about(2)));
}

TEST(ActivityTest, GoesOnWhenGroupsOfAScopeWithoutAnyAreAdded) {
  collect::ScopePlan plan = test::scope_plan({{"core", {"cycles"}}});
  plan.groups[0].shares_pmu = true;
  const auto at = [](int second) {
    return Activity::Clock::time_point{} + seconds{1000} + seconds{second};
  };
  Activity activity;
  Snapshot snapshot = cgroup_snapshot(plan, targets({"/a"}), {1});
  activity.add(snapshot, at(0));
  activity.add(snapshot, at(5));

  Snapshot of_cpus = cpu_snapshot(plan, {0}, {5});
  of_cpus.cpu[0].rows[0].times = {.enabled = seconds{4}, .running = seconds{1}};
  auto both = std::make_shared<collect::CountingPlan>(*snapshot.plan);
  both->cpu = of_cpus.plan->cpu;
  snapshot.plan = both;
  snapshot.cpu = of_cpus.cpu;
  snapshot.host_rows = of_cpus.host_rows;
  activity.add(snapshot, at(10));
  activity.add(snapshot, at(15));

  EXPECT_THAT(activity.recent_running_ratio(Scope::kCpu, 0), about(0.25));
}

TEST(ActivityTest, KnowsHowMuchOfTheTimeAGroupRecentlyHadThePmu) {
  collect::ScopePlan plan = test::scope_plan({{"core", {"cycles"}}, {"software", {"task-clock"}}});
  plan.groups[0].shares_pmu = true;
  Fed fed{plan};
  for (const int second : {0, 5, 10}) {
    Snapshot multiplexed = cgroup_snapshot(fed.scope(), targets({"/a", "/b"}), {0, 0, 0, 0});
    for (GroupRow& row : multiplexed.cgroup[0].rows) {
      row.times = {.enabled = seconds{second}, .running = milliseconds{second * 250}};
    }
    fed.feed(seconds{second}, multiplexed);
  }

  EXPECT_THAT(fed.activity.recent_running_ratio(Scope::kCgroup, 0), about(0.25));
  EXPECT_EQ(fed.activity.recent_running_ratio(Scope::kCgroup, 1), std::nullopt);
  EXPECT_EQ(fed.activity.recent_running_ratio(Scope::kCpu, 0), std::nullopt);
}

TEST(ActivityTest, TheTimeThatANewCgroupHadThePmuCountsFromItsFirstMoment) {
  collect::ScopePlan plan = test::scope_plan({{"core", {"cycles"}}});
  plan.groups[0].shares_pmu = true;
  Fed fed{plan};
  fed.feed_cgroups(seconds{0}, targets({}), {});
  Snapshot brief = cgroup_snapshot(fed.scope(), targets({"/brief"}), {1000});
  brief.cgroup[0].rows[0].times = {.enabled = seconds{4}, .running = seconds{1}};
  fed.feed(seconds{5}, brief);

  EXPECT_THAT(fed.activity.recent_running_ratio(Scope::kCgroup, 0), about(0.25));
}

}  // namespace
}  // namespace pex::history
