#include "plan/reference_selector.h"

#include <cerrno>

#include "support/events.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Everything that is opened: "a: cycles, instructions", those that are not published in brackets,
/// and what a group's reference and clock are, by their index.
std::vector<std::string> opened(const collect::ScopePlan& plan) {
  std::vector<std::string> groups;
  for (const collect::GroupPlan& group : plan.groups) {
    std::string text = group.name;
    if (group.mode.pinned) text += " pinned";
    if (!group.pmu.empty()) text += " on " + group.pmu;
    for (const perf::CounterSpec& event : group.events) {
      text += (&event == group.events.data() ? ": " : ", ") + event.name;
    }
    const collect::AuxiliaryCounters& auxiliary = group.auxiliary;
    if (auxiliary.reference) {
      text += "; reference " + std::to_string(*auxiliary.reference) + " as " +
              std::to_string(auxiliary.reference_always->group) + "." +
              std::to_string(auxiliary.reference_always->event);
    }
    if (auxiliary.clock) text += "; clock " + std::to_string(*auxiliary.clock);
    if (auxiliary.always_on) text += "; beside " + std::to_string(*auxiliary.always_on);
    groups.push_back(text);
  }
  return groups;
}

constexpr const char* kTwoGroups =
    "  - {name: a, events: [cycles, instructions], scope: cpu}\n"
    "  - {name: b, events: [branches], scope: cpu}\n";

class ReferenceSelectorTest : public testing::Test {
 protected:
  test::PlanOrErrors plan_on(const std::string& machine, const std::string& groups) {
    return test::plan_on(machine, groups, kernel_);
  }
  /// With registers that move, as in a kernel where they are counted.
  test::PlanOrErrors plan_with_free_reference(const std::string& machine,
                                              const std::string& groups) {
    kernel_.only_tried(true);
    return plan_on(machine, groups);
  }

  test::ScriptedKernel kernel_;
};

TEST_F(ReferenceSelectorTest, TakesTheFreeReferenceWhereItMoves) {
  const auto plan = plan_with_free_reference("amd_zen", kTwoGroups);

  EXPECT_THAT(opened(plan.counting.cpu),
              ElementsAre("(clock): cpu-clock, msr/aperf/",
                          "a: cycles, instructions, msr/aperf/; reference 2 as 0.1; beside 0",
                          "b: branches, msr/aperf/; reference 1 as 0.1; beside 0"));
}

TEST_F(ReferenceSelectorTest, LeavesARegisterThatStandsStill) {
  const auto plan = plan_on("amd_zen", kTwoGroups);

  EXPECT_THAT(opened(plan.counting.cpu), ElementsAre("a: cycles, instructions", "b: branches"));
}

TEST_F(ReferenceSelectorTest, GivesGroupsOfCgroupsAClockOfTheirOwn) {
  const auto plan =
      plan_with_free_reference("amd_zen",
                               "  - {name: a, events: [cycles], scope: cgroup}\n"
                               "  - {name: soft, events: [page-faults], scope: cgroup}\n");

  EXPECT_THAT(opened(plan.counting.cgroup),
              ElementsAre("(clock): cpu-clock, msr/aperf/",
                          "a: cycles, msr/aperf/, cpu-clock; reference 1 as 0.1; clock 2; beside 0",
                          "soft: page-faults"));
}

TEST_F(ReferenceSelectorTest, HasAClockNextToAGroupOfCgroupsAlsoWhenThatIsAlone) {
  const auto plan = plan_on("", "  - {name: a, events: [cycles], scope: cgroup}\n");

  EXPECT_THAT(opened(plan.counting.cgroup),
              ElementsAre("(clock): cpu-clock", "a: cycles, cpu-clock; clock 1; beside 0"));
}

TEST_F(ReferenceSelectorTest, HasAClockNextToGroupsOfCgroupsThatAreMultiplexed) {
  const auto plan = plan_on("",
                            "  - {name: a, events: [cycles], scope: cgroup}\n"
                            "  - {name: b, events: [branches], scope: cgroup}\n");

  EXPECT_THAT(opened(plan.counting.cgroup),
              ElementsAre("(clock): cpu-clock", "a: cycles, cpu-clock; clock 1; beside 0",
                          "b: branches, cpu-clock; clock 1; beside 0"));
}

TEST_F(ReferenceSelectorTest, HasAClockNextToAPinnedGroupAndNoReferenceInIt) {
  const auto plan = plan_with_free_reference(
      "amd_zen", "  - {name: a, events: [cycles], scope: cpu, pinned: true}\n");

  EXPECT_THAT(opened(plan.counting.cpu),
              ElementsAre("(clock): cpu-clock", "a pinned: cycles; beside 0"));
}

TEST_F(ReferenceSelectorTest, LeavesAGroupAloneThatIsToBeScaledByTime) {
  const auto plan = plan_with_free_reference(
      "amd_zen", "  - {name: a, events: [cycles], scope: cpu, estimator: time}\n");

  EXPECT_THAT(opened(plan.counting.cpu), ElementsAre("a: cycles"));
}

TEST_F(ReferenceSelectorTest, TakesNoCyclesWhereNoGroupIsMultiplexedOrTheyCostTimeOnThePmu) {
  for (const int counters : {8, 2}) {  // three are wanted
    kernel_.share_counters(counters);

    EXPECT_THAT(opened(plan_on("", kTwoGroups).counting.cpu),
                ElementsAre("a: cycles, instructions", "b: branches"))
        << counters;
  }
}

TEST_F(ReferenceSelectorTest, TakesCyclesWhateverTheyCostForAGroupThatAsked) {
  kernel_.share_counters(3);
  const auto plan =
      plan_on("",
              "  - {name: a, events: [instructions], scope: cpu, estimator: reference}\n"
              "  - {name: b, events: [branches, cache-misses], scope: cpu}\n");

  EXPECT_THAT(opened(plan.counting.cpu),
              ElementsAre("(clock): cpu-clock", "(reference) pinned: cycles; beside 0",
                          "a: instructions, cycles; reference 1 as 1.0; beside 0",
                          "b: branches, cache-misses; beside 0"));
}

TEST_F(ReferenceSelectorTest, ReportsThatThereIsNoReferenceForAGroupThatAsked) {
  kernel_.refuse("cycles", ENOENT);
  const auto plan =
      plan_on("", "  - {name: a, events: [branches], scope: cpu, estimator: reference}\n");

  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].attempted, HasSubstr("group 'a' is scaled by time"));
  EXPECT_THAT(opened(plan.counting.cpu), ElementsAre("a: branches"));
}

TEST_F(ReferenceSelectorTest, ReportsThatAGroupOfSoftwareHasNoUseForOne) {
  const auto plan =
      plan_on("", "  - {name: a, events: [page-faults], scope: cpu, estimator: reference}\n");

  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].attempted, HasSubstr("needs no reference"));
}

TEST_F(ReferenceSelectorTest, AsksAnotherGroupWhenTheFirstCannotBeOpened) {
  kernel_.refuse("cycles", EBUSY);
  const auto plan = plan_with_free_reference("amd_zen", kTwoGroups);

  EXPECT_EQ(plan.reference.cost, Reference::Cost::kFree);
}

TEST_F(ReferenceSelectorTest, TakesAGroupThatIsNotCountedNowForNoneThatIsMultiplexed) {
  kernel_.refuse("cache-misses", EBUSY);
  const auto plan = plan_on("",
                            "  - {name: a, events: [cache-misses], scope: cpu}\n"
                            "  - {name: b, events: [cycles], scope: cpu}\n");

  EXPECT_EQ(plan.reference.cost, Reference::Cost::kNone);
}

TEST_F(ReferenceSelectorTest, StaysAsItWasWhenTheConfigurationIsReloaded) {
  kernel_.share_counters(2);  // not enough for another look

  Plan in_force;
  in_force.reference = {Reference::Cost::kCounter, {{"", test::counter("cycles")}}, false};

  const auto plan = test::plan_on("", kTwoGroups, kernel_, &in_force);

  EXPECT_THAT(opened(plan.counting.cpu),
              ElementsAre("(clock): cpu-clock", "(reference) pinned: cycles; beside 0",
                          "a: cycles, instructions; reference 0 as 1.0; beside 0",
                          "b: branches; beside 0"));
}

TEST_F(ReferenceSelectorTest, HasAClockNextToWhatIsPinnedOnPackagesToo) {
  const auto plan = plan_on(
      "intel_server",
      "  - {name: memory, events: [uncore_imc/cas_count_read/], scope: cpu, pinned: true}\n");

  EXPECT_EQ(plan.counting.cpu.groups.front().name, "(clock)");
  EXPECT_EQ(plan.counting.cpu.groups.back().auxiliary.always_on, 0U);
}

TEST_F(ReferenceSelectorTest, PutsCyclesIntoCgroupsOnlyWhenAsked) {
  constexpr auto kByItself = config::Estimator::kAuto;
  constexpr auto kAsks = config::Estimator::kReference;
  const Result<events::PmuCatalogue> pmus = events::PmuCatalogue::read(test::machine(""));
  const collect::GroupPlan group = test::scope_plan({{"a", {"cycles"}}}).groups[0];
  collect::GroupPlan multiplexed = group;
  multiplexed.shares_pmu = true;
  const Reference cycles{Reference::Cost::kCounter, {{"", test::counter("cycles")}}, true};

  EXPECT_TRUE(takes_reference(multiplexed, kByItself, cycles, Scope::kCpu, *pmus));
  EXPECT_FALSE(takes_reference(multiplexed, kByItself, cycles, Scope::kCgroup, *pmus));
  EXPECT_TRUE(takes_reference(multiplexed, kAsks, cycles, Scope::kCgroup, *pmus));
}

TEST_F(ReferenceSelectorTest, LeavesSoftwareAndPackagesAlone) {
  const auto plan = plan_with_free_reference(
      "intel_server",
      "  - {name: soft, events: [page-faults, msr/tsc/], scope: cpu}\n"
      "  - {name: memory, events: [uncore_imc/cas_count_read/], scope: cpu}\n");

  for (const collect::GroupPlan& group : plan.counting.cpu.groups) {
    EXPECT_TRUE(group.is_published) << group.name;
    EXPECT_EQ(group.auxiliary_events, 0U) << group.name;
    EXPECT_EQ(group.shares_pmu, group.name == "memory");
  }
}

}  // namespace
}  // namespace pex::plan
