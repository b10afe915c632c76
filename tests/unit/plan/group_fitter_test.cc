#include "plan/group_fitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "plan/availability.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"

namespace pex::plan {
namespace {

using test::columns_of;
using test::errors_of;
using test::groups_of;
using test::plan_on;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// Whatever the layout, a column is the sum of the events of its name.
void expect_consistent(const collect::ScopePlan& plan) {
  for (const collect::PublishedEvent& column : plan.columns) {
    EXPECT_FALSE(column.parts.empty()) << column.event.name;
    for (const auto& [group, event] : column.parts) {
      ASSERT_LT(group, plan.groups.size()) << column.event.name;
      ASSERT_LT(event, plan.groups[group].events.size()) << column.event.name;
      EXPECT_EQ(plan.groups[group].events[event].name, column.event.name);
      EXPECT_EQ(plan.groups[group].aggregation, column.aggregation) << column.event.name;
    }
  }
}

TEST(GroupFitterTest, CountsEachEventWithBothKindsOfCores) {
  test::ScriptedKernel kernel;
  const auto hybrid =
      plan_on("intel_hybrid",
              "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}", kernel);

  EXPECT_THAT(groups_of(hybrid.counting.cpu),
              ElementsAre("core on cpu_atom: cycles, instructions",
                          "core on cpu_core: cycles, instructions"));
  EXPECT_THAT(columns_of(hybrid.counting.cpu),
              ElementsAre("cycles pmu=cpu_atom by cpu: 0.0", "cycles pmu=cpu_core by cpu: 1.0",
                          "instructions pmu=cpu_atom by cpu: 0.1",
                          "instructions pmu=cpu_core by cpu: 1.1"));
  EXPECT_EQ(columns_of(hybrid.counting.cgroup), columns_of(hybrid.counting.cpu));
  EXPECT_THAT(hybrid.events, SizeIs(4));
  EXPECT_THAT(hybrid.warnings, IsEmpty());
}

TEST(GroupFitterTest, TriesAGroupOnACpuOfItsPmu) {
  test::ScriptedKernel kernel;
  (void)plan_on("intel_hybrid", "  - {name: core, events: [cycles], scope: cpu}", kernel);

  EXPECT_GE(kernel.enabled("cpu16 type0:0xa00000000"), 1U);  // cpu_atom
  EXPECT_GE(kernel.enabled("cpu0 type0:0x400000000"), 1U);   // cpu_core
}

TEST(GroupFitterTest, LetsSoftwareRideAlongWithBothKindsOfCores) {
  const auto hybrid = plan_on(
      "arm_biglittle", "  - {name: core, events: [cycles, task-clock], scope: cpu, weak: false}");

  EXPECT_THAT(groups_of(hybrid.counting.cpu),
              ElementsAre("core on armv8_cortex_a53: cycles, task-clock",
                          "core on armv8_cortex_a72: cycles, task-clock"));
  EXPECT_THAT(
      columns_of(hybrid.counting.cpu),
      ElementsAre("cycles pmu=armv8_cortex_a53 by cpu: 0.0",
                  "cycles pmu=armv8_cortex_a72 by cpu: 1.0", "task-clock by cpu: 0.1 + 1.1"));
}

TEST(GroupFitterTest, CountsSoftwareOnItsOwnNextToOneKindOfCores) {
  const auto plan = plan_on("intel_hybrid",
                            "  - {name: core, events: [cpu_core/cycles/, task-clock], scope: cpu}");

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core on cpu_core: cpu_core/cycles/", "core: task-clock"));
}

TEST(GroupFitterTest, ADutyCycleIsThatOfHardwareEvents) {
  const auto plan = plan_on("intel_hybrid",
                            "  - {name: core, events: [cpu_core/cycles/, task-clock], scope: cpu, "
                            "duty_cycle: {on: 10s, every: 60s}}");

  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle->on, 10s);
  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle->every, 60s);
  EXPECT_EQ(plan.counting.cpu.groups[1].duty_cycle, std::nullopt);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(GroupFitterTest, ADutyCycleWithoutHardwareEventsIsReported) {
  const auto plan = plan_on("intel_server",
                            "  - {name: soft, events: [page-faults], scope: cpu, duty_cycle: {on: "
                            "10s, every: 60s}}");

  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle, std::nullopt);
  ASSERT_THAT(plan.warnings, SizeIs(1));
  EXPECT_EQ(plan.warnings[0].attempted,
            "group 'soft' has a duty cycle and no hardware event, so it counts all the time");
}

TEST(GroupFitterTest, SumsWhatMemoryChannelsCountByPackage) {
  const auto plan = plan_on("intel_server",
                            "  - {name: memory, events: [uncore_imc/cas_count_read/], scope: cpu}");

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("memory on uncore_imc_0: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_1: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_2: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_3: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_4: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_5: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_6: uncore_imc/cas_count_read/",
                          "memory on uncore_imc_7: uncore_imc/cas_count_read/"));
  EXPECT_THAT(columns_of(plan.counting.cpu),
              ElementsAre("uncore_imc/cas_count_read/ by package: 0.0 + 1.0 + 2.0 + 3.0 + 4.0 + "
                          "5.0 + 6.0 + 7.0"));
  EXPECT_THAT(plan.events, SizeIs(1));
}

TEST(GroupFitterTest, KeepsTheEventsOfOneMemoryChannelTogether) {
  const auto plan = plan_on("intel_hybrid",
                            "  - name: memory\n"
                            "    events: [uncore_imc_free_running/data_read/,\n"
                            "             uncore_imc_free_running/data_write/]\n"
                            "    scope: cpu\n");

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("memory on uncore_imc_free_running_0: "
                          "uncore_imc_free_running/data_read/, uncore_imc_free_running/data_write/",
                          "memory on uncore_imc_free_running_1: "
                          "uncore_imc_free_running/data_read/, "
                          "uncore_imc_free_running/data_write/"));
}

TEST(GroupFitterTest, SumsByWhatTheGroupSetsElseByWhatThePmuMeans) {
  struct Row {
    const char* event;
    const char* aggregate;
    const char* column;
  };
  const Row rows[] = {
      {"cycles", "", "cycles by cpu: 0.0"},
      {"cycles", ", aggregate: core", "cycles by core: 0.0"},
      {"cycles", ", aggregate: die", "cycles by die: 0.0"},
      {"cycles", ", aggregate: host", "cycles by host: 0.0"},
      {"power/energy-ram/", "", "power/energy-ram/ domain=dram by package: 0.0"},
      {"power/energy-ram/", ", aggregate: numa_node",
       "power/energy-ram/ domain=dram by numa_node: 0.0"},
      {"power/energy-ram/", ", aggregate: cpu", "power/energy-ram/ domain=dram by cpu: 0.0"},
  };

  for (const Row& row : rows) {
    const auto plan = plan_on("intel_server", std::string("  - {name: g, scope: cpu, events: [") +
                                                  row.event + "]" + row.aggregate + "}");

    EXPECT_THAT(columns_of(plan.counting.cpu), ElementsAre(row.column));
    expect_consistent(plan.counting.cpu);
  }
}

TEST(GroupFitterTest, SplitsAGroupAcrossPmusWhenItIsWeak) {
  const auto plan =
      plan_on("intel_server",
              "  - {name: mixed, events: [cycles, power/energy-pkg/, task-clock], scope: cpu}");

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("mixed: cycles, task-clock", "mixed on power: power/energy-pkg/"));
  EXPECT_THAT(columns_of(plan.counting.cpu),
              ElementsAre("cycles by cpu: 0.0", "power/energy-pkg/ domain=package by package: 1.0",
                          "task-clock by cpu: 0.1"));
}

TEST(GroupFitterTest, DropsAGroupAcrossPmusWhenItIsNotWeak) {
  const auto plan = plan_on("intel_server",
                            "  - name: mixed\n"
                            "    events: [cycles, power/energy-pkg/]\n"
                            "    scope: cpu\n"
                            "    weak: false\n");

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(plan.counting.cpu.columns, IsEmpty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre("nothing is counted here: cycles, power/energy-pkg/: events of several "
                          "PMUs cannot be one group: those of every CPU, power. Remedy: put them "
                          "into separate groups, or allow the split with weak: true"));
}

TEST(GroupFitterTest, SplitsAWeakGroupThatDoesNotFitAndReportsIt) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(3, EINVAL);
  const auto plan = plan_on("",
                            "  - {name: first, events: [bus-cycles], scope: cpu}\n"
                            "  - name: large\n"
                            "    events: [cycles, instructions, branches, branch-misses,\n"
                            "             cache-references, cache-misses, ref-cycles]\n"
                            "    scope: [cpu, cgroup]\n",
                            kernel);

  EXPECT_THAT(
      groups_of(plan.counting.cpu),
      ElementsAre("first: bus-cycles", "large: cycles, instructions, branches",
                  "large/2: branch-misses, cache-references, cache-misses", "large/3: ref-cycles"));
  EXPECT_THAT(
      groups_of(plan.counting.cgroup),
      ElementsAre("large: cycles, instructions, branches",
                  "large/2: branch-misses, cache-references, cache-misses", "large/3: ref-cycles"));
  expect_consistent(plan.counting.cpu);
  expect_consistent(plan.counting.cgroup);
  ASSERT_THAT(plan.warnings, SizeIs(1));
  EXPECT_EQ(describe(plan.warnings[0]),
            "group 'large' does not fit on the PMU at once, so it is counted as {cycles, "
            "instructions, branches} {branch-misses, cache-references, cache-misses} "
            "{ref-cycles}. Remedy: put related events into one group, because the pieces are "
            "counted at different times");
  EXPECT_THAT(left_out_lines(plan), IsEmpty());
}

TEST(GroupFitterTest, SplitsAWeakGroupThatNeverReachesThePmu) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(2);
  const auto plan = plan_on(
      "", "  - {name: large, events: [cycles, instructions, branches], scope: cpu}", kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("large: cycles, instructions", "large/2: branches"));
  EXPECT_THAT(describe(plan.warnings.at(0)),
              StartsWith("group 'large' does not fit on the PMU at once, so it is counted as "
                         "{cycles, instructions} {branches}. Remedy: "));
}

TEST(GroupFitterTest, SplitsAHybridGroupOnEachPmu) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto plan = plan_on("intel_hybrid",
                            "  - {name: core, events: [cycles, instructions], scope: cpu}", kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core on cpu_atom: cycles", "core/2 on cpu_atom: instructions",
                          "core on cpu_core: cycles", "core/2 on cpu_core: instructions"));
  expect_consistent(plan.counting.cpu);
  ASSERT_THAT(plan.warnings, SizeIs(2));
  EXPECT_THAT(plan.warnings[1].attempted, StartsWith("group 'core' on cpu_core does not fit"));
}

TEST(GroupFitterTest, DropsAGroupThatIsNotWeakForAllItsEventsAndNoOther) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);
  const auto plan = plan_on(
      "",
      "  - {name: large, events: [cycles, instructions, branches], scope: cpu, weak: false}\n"
      "  - {name: small, events: [bus-cycles, ref-cycles], scope: cpu, weak: false}",
      kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("small: bus-cycles, ref-cycles"));
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_TRUE(plan.events[3].available);
  EXPECT_THAT(
      left_out_lines(plan),
      ElementsAre(StartsWith("not counted here: cycles, instructions, branches: group "
                             "'large' does not fit on the PMU with its 3 events. Remedy: ")));
}

TEST(GroupFitterTest, DropsAGroupThatIsNotWeakAndNeverReachesThePmu) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);
  const auto plan = plan_on(
      "", "  - {name: large, events: [cycles, instructions], scope: cpu, weak: false}", kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(StartsWith("nothing is counted here: cycles, instructions: group 'large' "
                                     "does not fit on the PMU with its 2 events. Remedy: ")));
}

TEST(GroupFitterTest, DropsAHybridGroupAsAWhole) {
  test::ScriptedKernel kernel;
  kernel.refuse("cpu16 type0:0xa00000001", EINVAL);  // instructions of cpu_atom
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto plan =
      plan_on("intel_hybrid",
              "  - {name: core, events: [cycles, instructions], scope: cpu, weak: false}", kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  for (const EventAvailability& event : plan.events) EXPECT_FALSE(event.available) << event.event;
}

TEST(GroupFitterTest, KeepsASingleEventThatDidNotReachThePmuAndReportsIt) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(0);
  const auto plan = plan_on("", "  - {name: core, events: [cycles], scope: cpu}", kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles"));
  EXPECT_TRUE(plan.events[0].available);
  ASSERT_THAT(plan.warnings, SizeIs(1));
  EXPECT_THAT(
      describe(plan.warnings[0]),
      StartsWith(
          "in group 'core', these were never scheduled on the PMU even alone: cycles. Remedy: "));
}

TEST(GroupFitterTest, DropsAGroupThatNeedsMoreSlotsThanThereAre) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, ENOSPC);
  const auto plan =
      plan_on("", "  - {name: core, events: [cycles, branches, instructions], scope: cpu}", kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(HasSubstr("group 'core' needs more slots than there are: all hardware "
                                    "slots of this kind are in use (ENOSPC). Remedy: ")));
}

TEST(GroupFitterTest, LeavesAGroupThatIsRefusedForAMomentWhole) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EMFILE);
  const auto plan =
      plan_on("", "  - {name: core, events: [cycles, branches], scope: cpu, weak: false}", kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(GroupFitterTest, GivesEveryPieceTheModeOfItsGroup) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);
  const auto plan = plan_on(
      "", "  - {name: core, events: [cycles, branches], scope: cpu, exclusive: true}", kernel);

  ASSERT_THAT(plan.counting.cpu.groups, SizeIs(2));
  for (const collect::GroupPlan& group : plan.counting.cpu.groups) {
    EXPECT_TRUE(group.mode.exclusive);
  }
}

TEST(GroupFitterTest, DoesNotSplitAPinnedGroupThatHasNoPlace) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);
  const auto plan =
      plan_on("", "  - {name: core, events: ['cycles:D', branches], scope: cpu}", kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(StartsWith("nothing is counted here: cycles, branches: pinned group "
                                     "'core' does not fit on the PMU. Remedy: ")));
}

TEST(GroupFitterTest, FindsThatPinnedGroupsDoNotFitTogether) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(3);
  const auto plan =
      plan_on("",
              "  - {name: first, events: [cycles, branches], scope: cpu, pinned: true}\n"
              "  - {name: second, events: [instructions, bus-cycles], scope: cpu, pinned: true}",
              kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("first: cycles, branches"));
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(HasSubstr("pinned group 'second' does not fit on the PMU. Remedy: ")));
}

TEST(GroupFitterTest, FindsThatAPinnedGroupHasNoRoomForBothScopes) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(3);
  const auto plan = plan_on(
      "", "  - {name: core, events: [cycles, branches], scope: [cpu, cgroup], pinned: true}",
      kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan),
              ElementsAre(HasSubstr(
                  "pinned group 'core' fits on the PMU for scope cpu, but not for scope cgroup as "
                  "well. Remedy: ")));
}

TEST(GroupFitterTest, FitsOtherGroupsIntoWhatPinnedOnesLeave) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(3);
  const auto plan = plan_on("",
                            "  - {name: shared, events: [cycles, branches], scope: cpu}\n"
                            "  - {name: mine, events: [instructions, bus-cycles], scope: cpu, "
                            "pinned: true}",
                            kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("shared: cycles", "shared/2: branches",
                                                        "mine: instructions, bus-cycles"));
}

TEST(GroupFitterTest, LeavesItToThePollsWhileCountersOfOursMayHoldThePmu) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);
  const config::Loaded loaded = config::load_text(
      "groups:\n"
      "  - {name: pinned, events: [cycles, branches], scope: cpu, pinned: true}\n"
      "  - {name: large, events: [instructions, bus-cycles], scope: cpu}\n",
      "c.yaml");
  const Plan in_force;
  const auto plan = test::plan_of(loaded.config, test::machine(""), kernel, &in_force);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("pinned: cycles, branches", "large: instructions, bus-cycles"));
}

/// The plan that a reload makes, where the trials go another way because our own counters are in
/// the way.
Plan reloaded(const std::string& groups_before, const std::string& groups,
              void (*before)(test::ScriptedKernel&), void (*beside)(test::ScriptedKernel&)) {
  const config::Loaded loaded_before = config::load_text("groups:\n" + groups_before, "c.yaml");
  test::ScriptedKernel at_start;
  before(at_start);
  const auto in_force = test::plan_of(loaded_before.config, test::machine(""), at_start);
  const config::Loaded loaded = config::load_text("groups:\n" + groups, "c.yaml");
  test::ScriptedKernel later;
  beside(later);
  return test::plan_of(loaded.config, test::machine(""), later, &in_force);
}

/// Of the same configuration.
Plan reloaded(const std::string& groups, void (*before)(test::ScriptedKernel&),
              void (*beside)(test::ScriptedKernel&)) {
  return reloaded(groups, groups, before, beside);
}

TEST(GroupFitterTest, CutsAGroupAsItIsInForceWhereATrialNextToItReportsNothing) {
  const auto starve = [](test::ScriptedKernel& kernel) { kernel.starve_groups_larger_than(1); };
  const auto plan =
      reloaded("  - {name: core, events: [cycles, branches], scope: cpu}\n", starve, starve);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles", "core/2: branches"));
  EXPECT_THAT(plan.warnings, SizeIs(1));
}

TEST(GroupFitterTest, KeepsAGroupThatIsInForceAndTakesTheSlotsItself) {
  const auto plan = reloaded(
      "  - {name: core, events: [cycles, branches], scope: cpu}\n", [](test::ScriptedKernel&) {},
      [](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, ENOSPC); });

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
}

TEST(GroupFitterTest, SplitsAGroupThatWasWholeOnlyBecauseItCouldNotBeTried) {
  const auto plan = reloaded(
      "  - {name: core, events: [cycles, branches], scope: cpu}\n",
      [](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, EMFILE); },
      [](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, EINVAL); });

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles", "core/2: branches"));
}

TEST(GroupFitterTest, KeepsAGroupThatCouldNotBeTriedAndMayHoldTheSlotsItself) {
  const auto plan = reloaded(
      "  - {name: core, events: [cycles, branches], scope: cpu}\n",
      [](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, EMFILE); },
      [](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, ENOSPC); });

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
}

TEST(GroupFitterTest, LeavesOutWhatIsLeftOutInForceWhereATrialNextToItReportsNothing) {
  const auto starve = [](test::ScriptedKernel& kernel) { kernel.starve_groups_larger_than(1); };
  const auto plan = reloaded(
      "  - {name: core, events: [cycles, branches], scope: cpu, weak: false}\n", starve, starve);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("does not fit on the PMU")));
}

constexpr const char* kWeak = "  - {name: core, events: [cycles, branches], scope: cpu}\n";
constexpr const char* kNotWeak =
    "  - {name: core, events: [cycles, branches], scope: cpu, weak: false}\n";

TEST(GroupFitterTest, SplitsAGroupThatWasLeftOutOnceAReloadMakesItWeak) {
  for (const auto is_too_large :
       {+[](test::ScriptedKernel& kernel) { kernel.starve_groups_larger_than(1); },
        +[](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, EINVAL); }}) {
    const auto plan = reloaded(kNotWeak, kWeak, is_too_large, is_too_large);

    EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles", "core/2: branches"));
  }
}

TEST(GroupFitterTest, LeavesOutAGroupThatWasSplitOnceAReloadMakesItNotWeak) {
  for (const auto is_too_large :
       {+[](test::ScriptedKernel& kernel) { kernel.starve_groups_larger_than(1); },
        +[](test::ScriptedKernel& kernel) { kernel.refuse_groups_larger_than(1, EINVAL); }}) {
    const auto plan = reloaded(kWeak, kNotWeak, is_too_large, is_too_large);

    EXPECT_TRUE(plan.counting.cpu.empty());
    EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("does not fit on the PMU")));
  }
}

void refuse_all(test::ScriptedKernel& kernel, int code) {
  for (const char* const event : {"cycles", "branches", "instructions"}) kernel.refuse(event, code);
}

TEST(GroupFitterTest, KeepsWhatIsInForceWhileARightIsMissing) {
  for (const auto beside : {+[](test::ScriptedKernel& kernel) { refuse_all(kernel, EACCES); },
                            +[](test::ScriptedKernel& kernel) { refuse_all(kernel, EPERM); }}) {
    const auto plan = reloaded(
        "  - {name: core, events: [cycles, branches], scope: [cpu, cgroup]}\n",
        [](test::ScriptedKernel&) {}, beside);

    EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
    EXPECT_THAT(groups_of(plan.counting.cgroup), ElementsAre("core: cycles, branches"));
    EXPECT_THAT(left_out_lines(plan), IsEmpty());
  }
}

TEST(GroupFitterTest, LeavesOutWhatIsNewAndLacksARight) {
  const config::Loaded before = config::load_text(
      "groups: [{name: core, events: [cycles, branches], scope: cpu}]\n", "c.yaml");
  test::ScriptedKernel at_start;
  const auto in_force = test::plan_of(before.config, test::machine(""), at_start);
  const config::Loaded after = config::load_text(
      "groups: [{name: core, events: [cycles, branches, instructions], scope: cpu}]\n", "c.yaml");
  test::ScriptedKernel later;
  refuse_all(later, EACCES);
  const auto plan = test::plan_of(after.config, test::machine(""), later, &in_force);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
  EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("instructions")));
}

TEST(GroupFitterTest, JoinsAGroupThatWasSplitOnceItFits) {
  const auto plan = reloaded(
      "  - {name: core, events: [cycles, branches], scope: cpu}\n",
      [](test::ScriptedKernel& kernel) { kernel.starve_groups_larger_than(1); },
      [](test::ScriptedKernel&) {});

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
}

TEST(GroupFitterTest, LeavesNothingOpen) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);
  kernel.starve_groups_larger_than(1);
  (void)plan_on("intel_hybrid",
                "  - {name: core, events: [cycles, instructions, branches], scope: cpu}", kernel);

  EXPECT_EQ(kernel.still_open(), 0U);
}

constexpr const char* kTopDownInBadOrder =
    "  - name: topdown\n"
    "    events: [cpu/topdown-be-bound/, instructions, cpu/topdown-retiring/, branches, "
    "cpu/slots/]\n"
    "    scope: [cpu, cgroup]\n";

TEST(GroupFitterTest, OpensSlotsFirstAndPublishesInTheOrderOfTheConfiguration) {
  const auto plan = plan_on("intel_server", kTopDownInBadOrder);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("topdown: cpu/slots/, cpu/topdown-be-bound/, cpu/topdown-retiring/, "
                          "instructions, branches"));
  EXPECT_THAT(columns_of(plan.counting.cpu),
              ElementsAre("cpu/topdown-be-bound/ by cpu: 0.1", "instructions by cpu: 0.3",
                          "cpu/topdown-retiring/ by cpu: 0.2", "branches by cpu: 0.4",
                          "cpu/slots/ by cpu: 0.0"));
  EXPECT_EQ(columns_of(plan.counting.cgroup), columns_of(plan.counting.cpu));
  expect_consistent(plan.counting.cpu);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(GroupFitterTest, NeverCutsTopDownEventsFromTheirSlots) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);

  const auto plan = plan_on("intel_server", kTopDownInBadOrder, kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("topdown: cpu/slots/, cpu/topdown-be-bound/, cpu/topdown-retiring/, "
                          "instructions",
                          "topdown/2: branches"));
  EXPECT_THAT(left_out_lines(plan), IsEmpty());
  expect_consistent(plan.counting.cpu);
}

TEST(GroupFitterTest, CutsEverythingElseFromTopDownEvents) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);

  const auto plan = plan_on("intel_server", kTopDownInBadOrder, kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("topdown: cpu/slots/, cpu/topdown-be-bound/, cpu/topdown-retiring/",
                          "topdown/2: instructions", "topdown/3: branches"));
}

TEST(GroupFitterTest, LeavesOutWhatIsCountedTogetherOnlyAndDoesNotFit) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);

  const auto plan = plan_on("intel_hybrid",
                            "  - {name: loads, scope: cpu, events: [cpu_core/mem-loads/, "
                            "cpu_core/mem-loads-aux/]}\n",
                            kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("must be counted together")));
}

}  // namespace
}  // namespace pex::plan
