#include "support/events.h"
#include "support/test_headers.h"
#include "targets/counting_plan.h"

namespace pex::collect {
namespace {

using ::testing::ElementsAre;

CountingPlan plan_of(const std::vector<test::GroupOf>& groups) {
  CountingPlan plan;
  plan.cpu = test::scope_plan(groups);
  return plan;
}

constexpr std::size_t kNew = 99;

/// Of the groups of `now` in `before`; kNew: it has an id of its own.
std::vector<std::size_t> places(const CountingPlan& before, CountingPlan now) {
  continue_plan(before, now);
  std::vector<std::size_t> places;
  for (const GroupPlan& group : now.cpu.groups) {
    EXPECT_NE(group.id, kNoGroup);
    places.push_back(find_group(before.cpu, group.id).value_or(kNew));
  }
  return places;
}

TEST(PlanChangeTest, EqualGroupsStayWhereverTheyAreInThePlan) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}, {"b", {"instructions"}}});
  const CountingPlan now =
      plan_of({{"b", {"instructions"}}, {"new", {"page-faults"}}, {"a", {"cycles"}}});

  EXPECT_THAT(places(before, now), ElementsAre(1, kNew, 0));
  EXPECT_THAT(places(now, before), ElementsAre(2, 0));
}

TEST(PlanChangeTest, AGroupWithAnotherNameEventModeOrPmuIsNew) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}});
  CountingPlan pinned = before;
  pinned.cpu.groups[0].mode.pinned = true;
  CountingPlan of_pmu = before;
  of_pmu.cpu.groups[0].pmu = "cpu_atom";

  EXPECT_THAT(places(before, plan_of({{"b", {"cycles"}}})), ElementsAre(kNew));
  EXPECT_THAT(places(before, plan_of({{"a", {"instructions"}}})), ElementsAre(kNew));
  EXPECT_THAT(places(before, pinned), ElementsAre(kNew));
  EXPECT_THAT(places(before, of_pmu), ElementsAre(kNew));
}

TEST(PlanChangeTest, AGroupGoesWithThoseThatItIsEstimatedBy) {
  CountingPlan before = plan_of({{"(clock)", {"task-clock"}}, {"core", {"cycles"}}});
  before.cpu.groups[1].auxiliary.always_on = 0;
  CountingPlan moved =
      plan_of({{"more", {"page-faults"}}, {"(clock)", {"task-clock"}}, {"core", {"cycles"}}});
  moved.cpu.groups[2].auxiliary.always_on = 1;
  CountingPlan other_clock = before;
  other_clock.cpu.groups[0].events = moved.cpu.groups[0].events;
  CountingPlan no_clock = before;
  no_clock.cpu.groups[1].auxiliary.always_on.reset();

  EXPECT_THAT(places(before, moved), ElementsAre(kNew, 0, 1));
  EXPECT_THAT(places(before, other_clock), ElementsAre(kNew, kNew));
  EXPECT_THAT(places(before, no_clock), ElementsAre(0, kNew));
}

TEST(PlanChangeTest, AProbeInAFileThatMayHaveBeenReplacedIsOpenedAgain) {
  CountingPlan plan = plan_of({{"a", {"cycles"}}, {"b", {"instructions"}}});
  plan.cpu.groups[0].events[0].attributes.probe = "/usr/bin/app";

  EXPECT_THAT(places(plan, plan), ElementsAre(kNew, 1));
}

TEST(PlanChangeTest, AnEventThatCountsInAnotherScaleBeginsAnew) {
  const CountingPlan before = plan_of({{"a", {"cycles", "branches"}}, {"b", {"instructions"}}});
  CountingPlan now = before;
  now.cpu.columns[1].event.scale = 32;

  EXPECT_THAT(places(before, now), ElementsAre(kNew, 1));
  EXPECT_THAT(places(now, now), ElementsAre(0, 1));
}

TEST(PlanChangeTest, AnEventWithAnotherUnitIsAnotherSeriesAndGoesOn) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}});
  CountingPlan now = before;
  now.cpu.columns[0].event.unit = Unit::kBytes;
  now.cpu.columns[0].event.scale = 64;

  EXPECT_THAT(places(before, now), ElementsAre(0));
}

/// "cycles" of two PMUs is one series, and "branches" is counted by the second one alone.
CountingPlan hybrid_plan() {
  CountingPlan plan = plan_of({{"core", {"cycles"}, {}, "cpu_core"},
                               {"atom", {"cycles", "branches"}, {}, "cpu_atom"},
                               {"other", {"instructions"}}});
  std::vector<PublishedEvent>& columns = plan.cpu.columns;
  columns[0].parts.push_back(columns[1].parts.front());
  columns.erase(columns.begin() + 1);
  return plan;
}

TEST(PlanChangeTest, AnEventOfSeveralGroupsGoesOnWithAllOfThemOrNone) {
  const CountingPlan before = hybrid_plan();
  CountingPlan other_part = before;
  other_part.cpu.groups[0].mode.pinned = true;
  CountingPlan less = before;
  less.cpu.groups.erase(less.cpu.groups.begin());
  less.cpu.columns[0].parts = {{0, 0}};
  less.cpu.columns[1].parts = {{0, 1}};
  less.cpu.columns[2].parts = {{1, 0}};

  EXPECT_THAT(places(before, before), ElementsAre(0, 1, 2));
  EXPECT_THAT(places(before, other_part), ElementsAre(kNew, kNew, 2));
  EXPECT_THAT(places(before, less), ElementsAre(kNew, 2));
  EXPECT_THAT(places(less, before), ElementsAre(kNew, kNew, 1));
}

/// One series that several groups are summed up in.
CountingPlan plan_of_parts(const std::vector<std::string>& names) {
  CountingPlan plan;
  for (const std::string& name : names) {
    const ScopePlan one = test::scope_plan({{name, {"cycles"}, {}, "uncore_" + name}});
    if (plan.cpu.columns.empty()) plan.cpu.columns = one.columns;
    plan.cpu.groups.push_back(one.groups[0]);
  }
  plan.cpu.columns[0].parts.clear();
  for (std::size_t group = 0; group < names.size(); ++group) {
    plan.cpu.columns[0].parts.push_back({group, 0});
  }
  return plan;
}

TEST(PlanChangeTest, AnEventGoesOnInWhateverOrderItsGroupsAre) {
  const CountingPlan before = plan_of_parts({"a", "b", "c"});

  EXPECT_THAT(places(before, plan_of_parts({"b", "c", "a"})), ElementsAre(1, 2, 0));
  EXPECT_THAT(places(before, plan_of_parts({"a", "b"})), ElementsAre(kNew, kNew));
}

TEST(PlanChangeTest, AnEventThatMovesToAnotherGroupBeginsAnew) {
  CountingPlan before = plan_of({{"a", {"cycles"}}, {"b", {"instructions"}}});
  CountingPlan now = plan_of({{"a", {"cycles"}}});
  now.cpu.columns[0].event = before.cpu.columns[1].event;

  EXPECT_THAT(places(before, now), ElementsAre(kNew));
}

TEST(PlanChangeTest, AGroupThatBeginsAnewTakesThoseWithItThatAreEstimatedByIt) {
  CountingPlan before = plan_of({{"(reference)", {"cycles"}}, {"core", {"instructions"}}});
  before.cpu.groups[1].auxiliary.reference_always = EventAt{0, 0};
  CountingPlan now = before;
  now.cpu.columns[0].event.scale = 2;

  EXPECT_THAT(places(before, now), ElementsAre(kNew, kNew));
}

TEST(PlanChangeTest, ScopesAreApart) {
  CountingPlan before;
  before.cpu = test::scope_plan({{"a", {"cycles"}}});
  CountingPlan now;
  now.cgroup = before.cpu;

  continue_plan(before, now);

  EXPECT_FALSE(find_group(before.cpu, now.cgroup.groups[0].id));
}

TEST(PlanChangeTest, AGroupWithAnotherDutyCycleStays) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}});
  CountingPlan now = before;
  now.cpu.groups[0].duty_cycle = {std::chrono::seconds{10}, std::chrono::minutes{1}};

  EXPECT_THAT(places(before, now), ElementsAre(0));
  EXPECT_THAT(places(now, before), ElementsAre(0));
}

}  // namespace
}  // namespace pex::collect
