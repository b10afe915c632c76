#include "plan/group_fitter.h"

#include <cerrno>

#include "plan/availability.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using test::columns_of;
using test::group_of;
using test::groups_of;
using test::plan_on;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
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
  (void)plan_on("intel_hybrid", group_of("cycles"), kernel);

  EXPECT_GE(kernel.enabled("cpu16 type0:0xa00000000"), 1U);  // cpu_atom
  EXPECT_GE(kernel.enabled("cpu0 type0:0x400000000"), 1U);   // cpu_core
}

TEST(GroupFitterTest, LetsSoftwareRideAlongWithBothKindsOfCores) {
  const auto hybrid = plan_on("arm_biglittle", group_of("cycles, task-clock", "weak: false"));

  EXPECT_THAT(groups_of(hybrid.counting.cpu),
              ElementsAre("core on armv8_cortex_a53: cycles, task-clock",
                          "core on armv8_cortex_a72: cycles, task-clock"));
  EXPECT_THAT(
      columns_of(hybrid.counting.cpu),
      ElementsAre("cycles pmu=armv8_cortex_a53 by cpu: 0.0",
                  "cycles pmu=armv8_cortex_a72 by cpu: 1.0", "task-clock by cpu: 0.1 + 1.1"));
}

TEST(GroupFitterTest, CountsSoftwareOnItsOwnNextToOneKindOfCoresWhoseDutyCycleItDoesNotHave) {
  const auto plan = plan_on("intel_hybrid", group_of("cpu_core/cycles/, task-clock",
                                                     "duty_cycle: {on: 10s, every: 60s}"));

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core on cpu_core: cpu_core/cycles/", "core: task-clock"));
  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle->on, 10s);
  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle->every, 60s);
  EXPECT_EQ(plan.counting.cpu.groups[1].duty_cycle, std::nullopt);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(GroupFitterTest, ADutyCycleWithoutHardwareEventsIsReported) {
  const auto plan =
      plan_on("intel_server", group_of("page-faults", "duty_cycle: {on: 10s, every: 60s}"));

  EXPECT_EQ(plan.counting.cpu.groups[0].duty_cycle, std::nullopt);
  EXPECT_THAT(plan.warnings,
              ElementsAre(Field(&Error::attempted,
                                "group 'core' has a duty cycle and no hardware event, so it counts "
                                "all the time")));
}

TEST(GroupFitterTest, SumsWhatMemoryChannelsCountByPackage) {
  const auto plan = plan_on("intel_server", group_of("uncore_imc/cas_count_read/"));

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core on uncore_imc_0: uncore_imc/cas_count_read/",
                          "core on uncore_imc_1: uncore_imc/cas_count_read/",
                          "core on uncore_imc_2: uncore_imc/cas_count_read/"));
  EXPECT_THAT(columns_of(plan.counting.cpu),
              ElementsAre("uncore_imc/cas_count_read/ by package: 0.0 + 1.0 + 2.0"));
  EXPECT_THAT(plan.events, SizeIs(1));
}

TEST(GroupFitterTest, KeepsTheEventsOfOneMemoryChannelTogether) {
  const auto plan = plan_on("intel_hybrid", group_of("uncore_imc_free_running/data_read/, "
                                                     "uncore_imc_free_running/data_write/"));

  const std::string both =
      "uncore_imc_free_running/data_read/, uncore_imc_free_running/data_write/";
  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core on uncore_imc_free_running_0: " + both,
                          "core on uncore_imc_free_running_1: " + both));
}

TEST(GroupFitterTest, SumsByWhatTheGroupSetsElseByWhatThePmuMeans) {
  struct Row {
    const char* event;
    const char* keys;
    const char* column;
  };
  const Row rows[] = {
      {"cycles", "", "cycles by cpu: 0.0"},
      {"cycles", "aggregate: core", "cycles by core: 0.0"},
      {"cycles", "aggregate: die", "cycles by die: 0.0"},
      {"cycles", "aggregate: host", "cycles by host: 0.0"},
      {"power/energy-ram/", "", "power/energy-ram/ domain=dram by package: 0.0"},
      {"power/energy-ram/", "aggregate: numa_node",
       "power/energy-ram/ domain=dram by numa_node: 0.0"},
      {"power/energy-ram/", "aggregate: cpu", "power/energy-ram/ domain=dram by cpu: 0.0"},
  };

  for (const Row& row : rows) {
    const auto plan = plan_on("intel_server", group_of(row.event, row.keys));

    EXPECT_THAT(columns_of(plan.counting.cpu), ElementsAre(row.column));
    expect_consistent(plan.counting.cpu);
  }
}

TEST(GroupFitterTest, SplitsAGroupAcrossPmusWhenItIsWeak) {
  const auto plan = plan_on("intel_server", group_of("cycles, power/energy-pkg/, task-clock"));

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core: cycles, task-clock", "core on power: power/energy-pkg/"));
  EXPECT_THAT(columns_of(plan.counting.cpu),
              ElementsAre("cycles by cpu: 0.0", "power/energy-pkg/ domain=package by package: 1.0",
                          "task-clock by cpu: 0.1"));
}

TEST(GroupFitterTest, LeavesOutAGroupThatCannotBeCountedAsItMustAndSaysWhy) {
  struct Row {
    void (*limit)(test::ScriptedKernel&);
    std::string group;
    const char* left_out;
    const char* machine = "";
  };
  const Row rows[] = {
      {[](auto&) {}, group_of("cycles, power/energy-pkg/", "weak: false"),
       "cycles, power/energy-pkg/: events of several PMUs cannot be one group: those of every "
       "CPU, power. Remedy: put them into separate groups, or allow the split with weak: true",
       "intel_server"},
      {[](auto& kernel) { kernel.starve_groups_larger_than(1); },
       group_of("cycles, instructions", "weak: false"),
       "cycles, instructions: group 'core' does not fit on the PMU with its 2 events. Remedy: "},
      {[](auto& kernel) { kernel.refuse_groups_larger_than(2, ENOSPC); },
       group_of("cycles, branches, instructions"),
       "cycles, branches, instructions: group 'core' needs more slots than there are: all "
       "hardware slots of this kind are in use (ENOSPC). Remedy: "},
      {[](auto& kernel) { kernel.starve_groups_larger_than(1); }, group_of("'cycles:D', branches"),
       "cycles, branches: pinned group 'core' does not fit on the PMU. Remedy: "},
      {[](auto& kernel) { kernel.starve_groups_larger_than(3); },
       "  - {name: core, events: [cycles, branches], scope: [cpu, cgroup], pinned: true}",
       "cycles, branches: pinned group 'core' fits on the PMU for scope cpu, but not for scope "
       "cgroup as well. Remedy: "},
  };

  for (const Row& row : rows) {
    test::ScriptedKernel kernel;
    row.limit(kernel);

    const auto plan = plan_on(row.machine, row.group, kernel);

    EXPECT_TRUE(plan.counting.cpu.empty()) << row.left_out;
    EXPECT_THAT(plan.counting.cpu.columns, IsEmpty()) << row.left_out;
    EXPECT_THAT(left_out_lines(plan),
                ElementsAre(StartsWith(std::string("nothing is counted here: ") + row.left_out)));
  }
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
  const auto plan = plan_on("", group_of("cycles, instructions, branches"), kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("core: cycles, instructions", "core/2: branches"));
  EXPECT_THAT(describe(plan.warnings.at(0)),
              StartsWith("group 'core' does not fit on the PMU at once, so it is counted as "
                         "{cycles, instructions} {branches}. Remedy: "));
}

TEST(GroupFitterTest, SplitsAHybridGroupOnEachPmu) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto plan = plan_on("intel_hybrid", group_of("cycles, instructions"), kernel);

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

TEST(GroupFitterTest, DropsAHybridGroupAsAWhole) {
  test::ScriptedKernel kernel;
  kernel.refuse("cpu16 type0:0xa00000001", EINVAL);  // instructions of cpu_atom
  kernel.refuse_groups_larger_than(1, EINVAL);
  const auto plan =
      plan_on("intel_hybrid", group_of("cycles, instructions", "weak: false"), kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(plan.events, Each(Field(&EventAvailability::available, false)));
}

TEST(GroupFitterTest, KeepsASingleEventThatDidNotReachThePmuAndReportsIt) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(0);
  const auto plan = plan_on("", group_of("cycles"), kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles"));
  EXPECT_TRUE(plan.events[0].available);
  ASSERT_THAT(plan.warnings, SizeIs(1));
  EXPECT_THAT(
      describe(plan.warnings[0]),
      StartsWith(
          "in group 'core', these were never scheduled on the PMU even alone: cycles. Remedy: "));
}

TEST(GroupFitterTest, LeavesAGroupThatIsRefusedForAMomentWhole) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(1, EMFILE);
  const auto plan = plan_on("", group_of("cycles, branches", "weak: false"), kernel);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(GroupFitterTest, GivesEveryPieceTheModeOfItsGroup) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(1);
  const auto plan = plan_on("", group_of("cycles, branches", "exclusive: true"), kernel);

  ASSERT_THAT(plan.counting.cpu.groups, SizeIs(2));
  for (const collect::GroupPlan& group : plan.counting.cpu.groups) {
    EXPECT_TRUE(group.mode.exclusive);
  }
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
  const Plan in_force;
  const auto plan =
      plan_on("",
              "  - {name: pinned, events: [cycles, branches], scope: cpu, pinned: true}\n"
              "  - {name: large, events: [instructions, bus-cycles], scope: cpu}\n",
              kernel, &in_force);

  EXPECT_THAT(groups_of(plan.counting.cpu),
              ElementsAre("pinned: cycles, branches", "large: instructions, bus-cycles"));
}

/// The plan that a reload makes, where the trials go another way because our own counters are in
/// the way.
Plan reloaded(const std::string& groups_before, test::ScriptedKernel& before,
              const std::string& groups, test::ScriptedKernel& beside) {
  const auto in_force = plan_on("", groups_before, before);
  return plan_on("", groups, beside, &in_force);
}

/// Of a kernel that lets groups have one event only: the errno, or kStarves.
using Limit = std::optional<int>;
constexpr int kStarves = 0;
constexpr Limit kNone = std::nullopt;

void limit_groups(test::ScriptedKernel& kernel, Limit limit) {
  if (limit == kStarves) {
    kernel.starve_groups_larger_than(1);
  } else if (limit) {
    kernel.refuse_groups_larger_than(1, *limit);
  }
}

TEST(GroupFitterTest, AReloadKeepsWhatIsInForceUnlessATrialNextToItShowsAnotherFit) {
  const std::string weak = group_of("cycles, branches");
  const std::string not_weak = group_of("cycles, branches", "weak: false");
  using Groups = std::vector<std::string>;
  const Groups whole = {"core: cycles, branches"};
  const Groups split = {"core: cycles", "core/2: branches"};
  struct Row {
    const char* what;
    std::string groups_before;
    Limit before;
    std::string groups;
    Limit beside;
    Groups counted;
  };
  const Row rows[] = {
      {"a trial reports nothing of what is split", weak, kStarves, weak, kStarves, split},
      {"a trial reports nothing of what is left out", not_weak, kStarves, not_weak, kStarves, {}},
      {"it takes the slots itself", weak, kNone, weak, ENOSPC, whole},
      {"it was whole as it could not be tried", weak, EMFILE, weak, EINVAL, split},
      {"it could not be tried and may hold the slots", weak, EMFILE, weak, ENOSPC, whole},
      {"it fits now", weak, kStarves, weak, kNone, whole},
      {"it becomes weak, starving", not_weak, kStarves, weak, kStarves, split},
      {"it becomes weak, refused", not_weak, EINVAL, weak, EINVAL, split},
      {"it is not weak any more, starving", weak, kStarves, not_weak, kStarves, {}},
      {"it is not weak any more, refused", weak, EINVAL, not_weak, EINVAL, {}},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    test::ScriptedKernel before;
    limit_groups(before, row.before);
    test::ScriptedKernel beside;
    limit_groups(beside, row.beside);

    const Plan plan = reloaded(row.groups_before, before, row.groups, beside);

    EXPECT_EQ(groups_of(plan.counting.cpu), row.counted);
    if (row.counted == split) EXPECT_THAT(plan.warnings, SizeIs(1));
    if (!row.counted.empty()) continue;
    EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("does not fit on the PMU")));
  }
}

void refuse_all(test::ScriptedKernel& kernel, int code) {
  for (const char* const event : {"cycles", "branches", "instructions"}) kernel.refuse(event, code);
}

TEST(GroupFitterTest, KeepsWhatIsInForceWhileARightIsMissing) {
  const std::string groups = "  - {name: core, events: [cycles, branches], scope: [cpu, cgroup]}\n";
  for (const int code : {EACCES, EPERM}) {
    test::ScriptedKernel before;
    test::ScriptedKernel beside;
    refuse_all(beside, code);

    const Plan plan = reloaded(groups, before, groups, beside);

    EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
    EXPECT_THAT(groups_of(plan.counting.cgroup), ElementsAre("core: cycles, branches"));
    EXPECT_THAT(left_out_lines(plan), IsEmpty());
  }
}

TEST(GroupFitterTest, LeavesOutWhatIsNewAndLacksARight) {
  test::ScriptedKernel at_start;
  test::ScriptedKernel later;
  refuse_all(later, EACCES);

  const Plan plan = reloaded(group_of("cycles, branches"), at_start,
                             group_of("cycles, branches, instructions"), later);

  EXPECT_THAT(groups_of(plan.counting.cpu), ElementsAre("core: cycles, branches"));
  EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("instructions")));
}

TEST(GroupFitterTest, LeavesNothingOpen) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);
  kernel.starve_groups_larger_than(1);
  (void)plan_on("intel_hybrid", group_of("cycles, instructions, branches"), kernel);

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
  EXPECT_TRUE(plan.counting.cpu.groups.front().needs_its_leader);
  expect_consistent(plan.counting.cpu);
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_THAT(left_out_lines(plan), IsEmpty());
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

  const auto plan =
      plan_on("intel_hybrid", group_of("cpu_core/mem-loads/, cpu_core/mem-loads-aux/"), kernel);

  EXPECT_TRUE(plan.counting.cpu.empty());
  EXPECT_THAT(left_out_lines(plan), ElementsAre(HasSubstr("must be counted together")));
}

GroupIdentity identity_of(const collect::GroupPlan& group) {
  return {group.pmu, group.mode, group.events};
}

/// Of the only published group of scope cpu.
GroupIdentity identity(const std::string& machine, const std::string& groups,
                       const std::string& name) {
  const Plan plan = test::plan_on(machine, groups);
  for (const collect::GroupPlan& group : plan.counting.cpu.groups) {
    if (group.name == name) return identity_of(group);
  }
  ADD_FAILURE() << "no group " << name;
  return {};
}

const std::string kCore = test::group_of("cycles, instructions");

TEST(GroupIdentityTest, IsTheSameForAnotherNameOrPlaceInTheConfiguration) {
  const GroupIdentity core = identity("", kCore, "core");

  EXPECT_EQ(core, identity("", kCore, "core"));
  EXPECT_EQ(core, identity("", "  - {name: x, events: [cycles, instructions], scope: cpu}\n", "x"));
  EXPECT_EQ(core, identity("", "  - {name: software, events: [task-clock], scope: cpu}\n" + kCore,
                           "core"));
}

TEST(GroupIdentityTest, IsAnotherForOtherEventsTheirOrderAndTheirMode) {
  const GroupIdentity core = identity("", kCore, "core");

  for (const char* other :
       {"events: [cycles]", "events: [instructions, cycles]", "events: ['cycles:u', instructions]",
        "events: [cycles, instructions], pinned: true",
        "events: [cycles, instructions], exclusive: true",
        "events: [cycles, instructions], exclude_kernel: true"}) {
    EXPECT_NE(core,
              identity("", "  - {name: core, scope: cpu, " + std::string(other) + "}\n", "core"))
        << other;
  }
}

TEST(GroupIdentityTest, IsAnotherForEachKindOfCores) {
  const Plan plan = test::plan_on("intel_hybrid", kCore);

  ASSERT_EQ(plan.counting.cpu.groups.size(), 2U);
  EXPECT_NE(identity_of(plan.counting.cpu.groups[0]), identity_of(plan.counting.cpu.groups[1]));
}

}  // namespace
}  // namespace pex::plan
