#include "daemon/plan.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "config/load.h"
#include "support/scripted_kernel.h"

namespace pex::daemon {
namespace {

Plan plan(const std::string& groups, test::ScriptedKernel& kernel) {
  const config::Loaded loaded = config::load_text("groups:\n" + groups, "c.yaml");
  EXPECT_TRUE(loaded.mistakes.empty());
  return make_plan(loaded.config, kernel, 0);
}

TEST(PlanTest, AGroupOfBothScopesIsCountedInBoth) {
  test::ScriptedKernel kernel;
  const Plan both =
      plan("  - {name: core, events: [cycles, cpu-clock], scope: [cpu, cgroup]}", kernel);

  ASSERT_EQ(both.counting.cpu.size(), 1U);
  ASSERT_EQ(both.counting.cgroup.size(), 1U);
  EXPECT_EQ(both.budget.cpu_events, 2U);
  EXPECT_EQ(both.budget.cgroup_series, 4U);  // two events, and the two times of the group
}

TEST(PlanTest, AMissingEventCostsItsGroupThatEventAlone) {
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  const Plan partial =
      plan("  - {name: core, events: [cycles, branches, instructions], scope: cpu}", kernel);

  ASSERT_EQ(partial.counting.cpu.size(), 1U);
  EXPECT_EQ(partial.counting.cpu[0].events.size(), 2U);
  EXPECT_FALSE(partial.events[1].available);
  EXPECT_EQ(partial.events[1].reason.code, ENOENT);
}

TEST(PlanTest, AGroupWithoutEventsIsLeftOut) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  const Plan none = plan("  - {name: core, events: [cycles], scope: cpu}", kernel);

  EXPECT_TRUE(none.counting.cpu.empty());
  EXPECT_TRUE(none.mistakes.empty());
}

TEST(PlanTest, WhatIsMissingForAMomentIsLeftToThePolls) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", EMFILE);
  const Plan later = plan("  - {name: core, events: [cycles], scope: cpu}", kernel);

  EXPECT_TRUE(later.events[0].available);
  EXPECT_EQ(later.counting.cpu.size(), 1U);
}

TEST(PlanTest, AGroupThatDoesNotFitOnThePmuIsLeftOutWithItsReason) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);
  const Plan fitting = plan(
      "  - {name: large, events: [cycles, instructions, branches], scope: cpu}\n"
      "  - {name: small, events: [bus-cycles, ref-cycles], scope: cpu}",
      kernel);

  ASSERT_EQ(fitting.counting.cpu.size(), 1U);
  EXPECT_EQ(fitting.counting.cpu[0].name, "small");
  EXPECT_FALSE(fitting.events[0].available);
  EXPECT_EQ(fitting.events[0].reason.code, EINVAL);
  EXPECT_TRUE(fitting.events[3].available);
}

TEST(PlanTest, AnEventThatOneOfItsGroupsLacksIsNotAvailable) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);
  const Plan half = plan(
      "  - {name: large, events: [cycles, branches], scope: cpu}\n"
      "  - {name: small, events: [cycles], scope: cgroup}",
      kernel);

  EXPECT_FALSE(availability(half).at("cycles"));
}

TEST(PlanTest, TryingAnEventLeavesNothingOpen) {
  test::ScriptedKernel kernel;
  (void)plan("  - {name: core, events: [cycles, instructions], scope: cpu}", kernel);

  EXPECT_EQ(kernel.opened(), 4U);  // each on its own, and both as a group
  EXPECT_EQ(kernel.still_open(), 0U);
}

TEST(PlanTest, WhatTheKernelSaysOfManyEventsIsOneLine) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  kernel.refuse("branches", ENOENT);
  kernel.refuse("instructions", EACCES);
  const Plan none =
      plan("  - {name: core, events: [cycles, branches, instructions], scope: cpu}", kernel);

  const std::vector<std::string> lines = left_out_lines(none);

  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(
      lines[0].starts_with("nothing is counted here: cycles, branches: No such file or directory"))
      << lines[0];
  EXPECT_TRUE(
      lines[1].starts_with("nothing is counted here: instructions: Permission denied (EACCES)"))
      << lines[1];
}

TEST(PlanTest, TheLineDoesNotSayNothingWhenSomethingIsCounted) {
  test::ScriptedKernel kernel;
  kernel.refuse("cycles", ENOENT);
  const Plan some = plan("  - {name: core, events: [cycles, instructions], scope: cpu}", kernel);

  EXPECT_TRUE(left_out_lines(some).front().starts_with("not counted here: cycles: "));
}

TEST(PlanTest, AnEventThatNoMachineKnowsIsAMistakeWithItsPosition) {
  test::ScriptedKernel kernel;
  const Plan wrong = plan("  - {name: core, events: [cycles, instuctions], scope: cpu}", kernel);

  ASSERT_EQ(wrong.mistakes.size(), 1U);
  EXPECT_EQ(describe(wrong.mistakes[0]),
            "c.yaml:2:35: groups[0].events[1]: there is no event 'instuctions'. Remedy: did you "
            "mean 'instructions'?");
}

TEST(PlanTest, TwoEventsOfOneSeriesAreAMistakeThatNamesBothLines) {
  test::ScriptedKernel kernel;
  const Plan twice = plan(
      "  - {name: core, events: [cycles], scope: [cpu, cgroup]}\n"
      "  - {name: more, events: [cpu-cycles], scope: cpu}",
      kernel);

  ASSERT_EQ(twice.mistakes.size(), 1U);
  EXPECT_EQ(describe(twice.mistakes[0]),
            "c.yaml:3:27: groups[1].events[0]: 'cycles' would be a second perf_cpu_cycles_total; "
            "the first is groups[0].events[0] in line 2. Remedy: count it in one group only");
}

TEST(PlanTest, TheSameEventInTwoScopesIsNoMistake) {
  test::ScriptedKernel kernel;
  const Plan split = plan(
      "  - {name: host, events: [cycles], scope: cpu}\n"
      "  - {name: services, events: [cycles], scope: cgroup}",
      kernel);

  EXPECT_TRUE(split.mistakes.empty());
}

TEST(PlanTest, EveryShippedFileCanBeCounted) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(PEX_SOURCE_DIR "/config")) {
    if (entry.path().extension() != ".yaml") continue;
    test::ScriptedKernel kernel;
    const config::Loaded shipped = config::load_file(entry.path());

    const Plan planned = make_plan(shipped.config, kernel, 0);

    EXPECT_TRUE(shipped.mistakes.empty()) << entry.path();
    EXPECT_TRUE(planned.mistakes.empty()) << describe(planned.mistakes.front());
    EXPECT_FALSE(planned.counting.cpu.empty() && planned.counting.cgroup.empty()) << entry.path();
  }
}

}  // namespace
}  // namespace pex::daemon
