#include "plan/task_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "support/planning.h"
#include "support/scripted_kernel.h"

namespace pex::plan {
namespace {

using test::columns_of;
using test::groups_of;
using test::ScriptedKernel;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Planned = Result<TaskPlan, std::vector<yaml::Diagnostic>>;

Planned plan_tasks_on(const std::string& machine_name, const std::string& groups,
                      ScriptedKernel& kernel) {
  const config::Loaded loaded = config::load_text("groups:\n" + groups, "c.yaml");
  const host::HostRoots roots = test::machine(machine_name);
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  const Result<std::vector<int>> online = host::online_cpus(roots);
  Machine machine{*resolver, kernel, online ? *online : std::vector{0}};
  machine.counts_tasks = true;
  return plan_tasks(loaded.config.groups, machine);
}

TEST(TaskPlanTest, TriesEverythingInTheCallingThread) {
  ScriptedKernel kernel;

  const Planned planned = plan_tasks_on(
      "intel_server", "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}",
      kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(kernel.opened_groups(), Each(StartsWith("pid0 ")));
  EXPECT_EQ(kernel.still_open(), 0U);
}

TEST(TaskPlanTest, WarnsOfAGroupThatIsForOtherMachines) {
  ScriptedKernel kernel;

  const Planned planned = plan_tasks_on("",
                                        "  - {name: a, events: [cycles], scope: cgroup}\n"
                                        "  - {name: b, events: [instructions], scope: cgroup, "
                                        "when: {pmu: power}}",
                                        kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(groups_of(planned->counting), ElementsAre("a: cycles"));
  ASSERT_EQ(planned->warnings.size(), 1U);
  EXPECT_EQ(describe(planned->warnings[0]),
            "group 'b' is left out: when.pmu: this machine has no PMU 'power'");
}

TEST(TaskPlanTest, CountsAGroupWhateverItsScopes) {
  ScriptedKernel kernel;

  const Planned planned = plan_tasks_on("",
                                        "  - {name: a, events: [cycles], scope: cgroup}\n"
                                        "  - {name: b, events: [instructions], scope: cpu}",
                                        kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(groups_of(planned->counting), ElementsAre("a: cycles", "b: instructions"));
}

TEST(TaskPlanTest, HasAColumnForEachEventThatCanBeCounted) {
  ScriptedKernel kernel;
  kernel.refuse("instructions", ENOENT);

  const Planned planned = plan_tasks_on(
      "", "  - {name: core, events: [cycles, instructions, branches], scope: cpu}", kernel);

  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->events.size(), 3U);
  EXPECT_EQ(planned->events[0].column, 0U);
  EXPECT_FALSE(planned->events[1].column);
  EXPECT_EQ(planned->events[1].availability.reason.code, ENOENT);
  EXPECT_EQ(planned->events[2].column, 1U);
  EXPECT_THAT(columns_of(planned->counting),
              ElementsAre("cycles by cpu: 0.0", "branches by cpu: 0.1"));
}

TEST(TaskPlanTest, SplitsAGroupThatDoesNotFit) {
  ScriptedKernel kernel;
  kernel.starve_groups_larger_than(2);

  const Planned planned = plan_tasks_on(
      "", "  - {name: core, events: [cycles, instructions, branches], scope: cpu}", kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(groups_of(planned->counting),
              ElementsAre("core: cycles, instructions", "core/2: branches"));
  EXPECT_THAT(planned->warnings, testing::SizeIs(1));
}

TEST(TaskPlanTest, LeavesOutAGroupThatMustNotBeSplitWithTheReason) {
  ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);

  const Planned planned = plan_tasks_on(
      "", "  - {name: core, events: [cycles, instructions], scope: cpu, weak: false}", kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->counting.groups, IsEmpty());
  for (const TaskEvent& event : planned->events) {
    EXPECT_FALSE(event.column);
    EXPECT_THAT(event.availability.reason.attempted, HasSubstr("does not fit on the PMU"));
  }
}

TEST(TaskPlanTest, RefusesEventsOfThePackageWithoutATrial) {
  ScriptedKernel kernel;

  const Planned planned = plan_tasks_on(
      "intel_server", "  - {name: memory, events: [power/energy-pkg/], scope: cpu}", kernel);

  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->events.size(), 1U);
  EXPECT_THAT(planned->events[0].availability.reason.attempted,
              HasSubstr("does not distinguish processes"));
  EXPECT_THAT(kernel.opened_groups(), IsEmpty());
}

TEST(TaskPlanTest, CountsEachKindOfCoreOfAHybridMachineWhereverTheThreadIsTried) {
  ScriptedKernel kernel;
  kernel.starve_groups_larger_than(0);  // it never was on a CPU of that PMU

  const Planned planned = plan_tasks_on(
      "intel_hybrid", "  - {name: core, events: [cycles, instructions], scope: cpu}", kernel);

  ASSERT_TRUE(planned);
  EXPECT_THAT(groups_of(planned->counting), ElementsAre("core on cpu_atom: cycles, instructions",
                                                        "core on cpu_core: cycles, instructions"));
}

TEST(TaskPlanTest, ScalesByAReferenceOnlyIfItTakesNoCounter) {
  ScriptedKernel kernel;
  kernel.share_counters(1);

  const Planned planned = plan_tasks_on("amd_zen",
                                        "  - {name: a, events: [instructions], scope: cpu}\n"
                                        "  - {name: b, events: [branches], scope: cpu}",
                                        kernel);

  ASSERT_TRUE(planned);
  for (const collect::GroupPlan& group : planned->counting.groups) {
    for (const perf::CounterSpec& event : group.events) EXPECT_NE(event.name, "cycles");
  }
}

TEST(TaskPlanTest, FailsWithWhatNoMachineCanCount) {
  ScriptedKernel kernel;

  const Planned planned =
      plan_tasks_on("", "  - {name: core, events: ['cycles:z'], scope: cpu}", kernel);

  ASSERT_FALSE(planned);
  EXPECT_THAT(kernel.opened_groups(), IsEmpty());
}

}  // namespace
}  // namespace pex::plan
