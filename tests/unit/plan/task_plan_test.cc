#include "plan/task_plan.h"

#include <cerrno>

#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using test::columns_of;
using test::group_of;
using test::groups_of;
using test::ScriptedKernel;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TaskPlanTest : public testing::Test {
 protected:
  using Planned = Result<TaskPlan, std::vector<yaml::Diagnostic>>;

  Planned result_on(const std::string& machine_name, const std::string& groups) {
    const config::Loaded loaded = config::load_text("groups:\n" + groups, "c.yaml");
    const host::HostRoots roots = test::machine(machine_name);
    const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
    const Result<std::vector<int>> online = host::online_cpus(roots);
    Machine machine{*resolver, kernel_, online ? *online : std::vector{0}};
    machine.counts_tasks = true;
    return plan_tasks(loaded.config.groups, machine);
  }
  TaskPlan plan_on(const std::string& machine_name, const std::string& groups) {
    Planned planned = result_on(machine_name, groups);
    EXPECT_TRUE(planned);
    return *std::move(planned);
  }

  ScriptedKernel kernel_;
};

TEST_F(TaskPlanTest, TriesEverythingInTheCallingThread) {
  (void)plan_on("intel_server",
                "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}");

  EXPECT_THAT(kernel_.opened_groups(), Each(StartsWith("pid0 ")));
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(TaskPlanTest, WarnsOfAGroupThatIsForOtherMachines) {
  const TaskPlan plan = plan_on("",
                                "  - {name: a, events: [cycles], scope: cgroup}\n"
                                "  - {name: b, events: [instructions], scope: cgroup, "
                                "when: {pmu: power}}");

  EXPECT_THAT(groups_of(plan.counting), ElementsAre("a: cycles"));
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(describe(plan.warnings[0]),
            "group 'b' is left out: when.pmu: this machine has no PMU 'power'");
}

TEST_F(TaskPlanTest, CountsAGroupWhateverItsScopes) {
  const TaskPlan plan = plan_on("",
                                "  - {name: a, events: [cycles], scope: cgroup}\n"
                                "  - {name: b, events: [instructions], scope: cpu}");

  EXPECT_THAT(groups_of(plan.counting), ElementsAre("a: cycles", "b: instructions"));
}

TEST_F(TaskPlanTest, HasAColumnForEachEventThatCanBeCounted) {
  kernel_.refuse("instructions", ENOENT);

  const TaskPlan plan = plan_on("", group_of("cycles, instructions, branches"));

  ASSERT_EQ(plan.events.size(), 3U);
  EXPECT_EQ(plan.events[0].column, 0U);
  EXPECT_FALSE(plan.events[1].column);
  EXPECT_EQ(plan.events[1].availability.reason.code, ENOENT);
  EXPECT_EQ(plan.events[2].column, 1U);
  EXPECT_THAT(columns_of(plan.counting), ElementsAre("cycles by cpu: 0.0", "branches by cpu: 0.1"));
}

TEST_F(TaskPlanTest, SplitsAGroupThatDoesNotFit) {
  kernel_.starve_groups_larger_than(2);

  const TaskPlan plan = plan_on("", group_of("cycles, instructions, branches"));

  EXPECT_THAT(groups_of(plan.counting),
              ElementsAre("core: cycles, instructions", "core/2: branches"));
  EXPECT_THAT(plan.warnings, testing::SizeIs(1));
}

TEST_F(TaskPlanTest, LeavesOutAGroupThatMustNotBeSplitWithTheReason) {
  kernel_.starve_groups_larger_than(1);

  const TaskPlan plan = plan_on("", group_of("cycles, instructions", "weak: false"));

  EXPECT_THAT(plan.counting.groups, IsEmpty());
  for (const TaskEvent& event : plan.events) {
    EXPECT_FALSE(event.column);
    EXPECT_THAT(event.availability.reason.attempted, HasSubstr("does not fit on the PMU"));
  }
}

TEST_F(TaskPlanTest, RefusesEventsOfThePackageWithoutATrial) {
  const TaskPlan plan = plan_on("intel_server", group_of("power/energy-pkg/"));

  ASSERT_EQ(plan.events.size(), 1U);
  EXPECT_THAT(plan.events[0].availability.reason.attempted,
              HasSubstr("does not distinguish processes"));
  EXPECT_THAT(kernel_.opened_groups(), IsEmpty());
}

TEST_F(TaskPlanTest, CountsEachKindOfCoreOfAHybridMachineWhereverTheThreadIsTried) {
  kernel_.starve_groups_larger_than(0);  // it never was on a CPU of that PMU

  const TaskPlan plan = plan_on("intel_hybrid", group_of("cycles, instructions"));

  EXPECT_THAT(groups_of(plan.counting), ElementsAre("core on cpu_atom: cycles, instructions",
                                                    "core on cpu_core: cycles, instructions"));
}

TEST_F(TaskPlanTest, ScalesByAReferenceOnlyIfItTakesNoCounter) {
  kernel_.share_counters(1);

  const TaskPlan plan = plan_on("amd_zen",
                                "  - {name: a, events: [instructions], scope: cpu}\n"
                                "  - {name: b, events: [branches], scope: cpu}");

  for (const collect::GroupPlan& group : plan.counting.groups) {
    for (const perf::CounterSpec& event : group.events) EXPECT_NE(event.name, "cycles");
  }
}

TEST_F(TaskPlanTest, FailsWithWhatNoMachineCanCount) {
  EXPECT_FALSE(result_on("", group_of("'cycles:z'")));
  EXPECT_THAT(kernel_.opened_groups(), IsEmpty());
}

}  // namespace
}  // namespace pex::plan
