#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "collect/counting_plan.h"
#include "support/events.h"

namespace pex::collect {
namespace {

using ::testing::ElementsAre;

CountingPlan plan_of(const std::vector<test::GroupOf>& groups) {
  CountingPlan plan;
  plan.cpu = test::scope_plan(groups);
  return plan;
}

std::vector<std::size_t> places(const CountingPlan& before, const CountingPlan& now) {
  return change_of(before, now).cpu;
}

TEST(PlanChangeTest, EqualGroupsStayWhereverTheyAreInThePlan) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}, {"b", {"instructions"}}});
  const CountingPlan now =
      plan_of({{"b", {"instructions"}}, {"new", {"page-faults"}}, {"a", {"cycles"}}});

  EXPECT_THAT(places(before, now), ElementsAre(1, kNewPlace, 0));
  EXPECT_THAT(places(now, before), ElementsAre(2, 0));
}

TEST(PlanChangeTest, AGroupWithAnotherNameEventModeOrPmuIsNew) {
  const CountingPlan before = plan_of({{"a", {"cycles"}}});
  CountingPlan pinned = before;
  pinned.cpu.groups[0].mode.pinned = true;
  CountingPlan of_pmu = before;
  of_pmu.cpu.groups[0].pmu = "cpu_atom";

  EXPECT_THAT(places(before, plan_of({{"b", {"cycles"}}})), ElementsAre(kNewPlace));
  EXPECT_THAT(places(before, plan_of({{"a", {"instructions"}}})), ElementsAre(kNewPlace));
  EXPECT_THAT(places(before, pinned), ElementsAre(kNewPlace));
  EXPECT_THAT(places(before, of_pmu), ElementsAre(kNewPlace));
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

  EXPECT_THAT(places(before, moved), ElementsAre(kNewPlace, 0, 1));
  EXPECT_THAT(places(before, other_clock), ElementsAre(kNewPlace, kNewPlace));
  EXPECT_THAT(places(before, no_clock), ElementsAre(0, kNewPlace));
}

TEST(PlanChangeTest, AProbeInAFileThatMayHaveBeenReplacedIsOpenedAgain) {
  CountingPlan plan = plan_of({{"a", {"cycles"}}, {"b", {"instructions"}}});
  plan.cpu.groups[0].events[0].attributes.probe = "/usr/bin/app";

  EXPECT_THAT(places(plan, plan), ElementsAre(kNewPlace, 1));
}

TEST(PlanChangeTest, AnEventThatCountsInAnotherScaleBeginsAnew) {
  const CountingPlan before = plan_of({{"a", {"cycles", "branches"}}, {"b", {"instructions"}}});
  CountingPlan now = before;
  now.cpu.columns[1].event.scale = 32;

  EXPECT_THAT(places(before, now), ElementsAre(kNewPlace, 1));
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
  EXPECT_THAT(places(before, other_part), ElementsAre(kNewPlace, kNewPlace, 2));
  EXPECT_THAT(places(before, less), ElementsAre(kNewPlace, 2));
  EXPECT_THAT(places(less, before), ElementsAre(kNewPlace, kNewPlace, 1));
}

TEST(PlanChangeTest, AGroupThatBeginsAnewTakesThoseWithItThatAreEstimatedByIt) {
  CountingPlan before = plan_of({{"(reference)", {"cycles"}}, {"core", {"instructions"}}});
  before.cpu.groups[1].auxiliary.reference_always = EventAt{0, 0};
  CountingPlan now = before;
  now.cpu.columns[0].event.scale = 2;

  EXPECT_THAT(places(before, now), ElementsAre(kNewPlace, kNewPlace));
}

TEST(PlanChangeTest, ScopesAreApart) {
  CountingPlan before;
  before.cpu = test::scope_plan({{"a", {"cycles"}}});
  CountingPlan now;
  now.cgroup = before.cpu;

  EXPECT_THAT(change_of(before, now).cpu, ElementsAre());
  EXPECT_THAT(change_of(before, now).cgroup, ElementsAre(kNewPlace));
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
