

#include "plan/availability.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kCounters = 4;

/// A PMU with as many counters.
class ReserveTest : public testing::Test {
 protected:
  ReserveTest() { kernel_.starve_groups_larger_than(kCounters); }

  test::PlanOrErrors plan(const std::string& groups, int reserve, const Plan* in_force = nullptr,
                          const std::string& machine = "intel_server") {
    const config::Loaded loaded = config::load_text(
        "groups:\n" + groups + "pmu: {reserve: " + std::to_string(reserve) + "}\n", "c.yaml");
    EXPECT_FALSE(loaded.diagnostics.has_errors());
    return test::plan_of(loaded.config, test::machine(machine), kernel_, in_force);
  }
  static std::vector<std::string> counted(const Plan& plan) {
    return test::groups_of(plan.counting.cpu);
  }

  test::ScriptedKernel kernel_{test::machine("").cgroupfs};
};

const std::string kThreeGroups =
    "  - {name: a, events: [cycles, instructions], scope: cpu}\n"
    "  - {name: b, events: [branches], scope: cpu}\n"
    "  - {name: c, events: [branch-misses], scope: cpu}\n";

TEST_F(ReserveTest, GroupsAreCountedInTheirOrderAsLongAsCountersStayFree) {
  EXPECT_THAT(counted(plan(kThreeGroups, 1)),
              ElementsAre("a: cycles, instructions", "b: branches"));
  EXPECT_THAT(counted(plan(kThreeGroups, 2)), ElementsAre("a: cycles, instructions"));
  EXPECT_THAT(counted(plan(kThreeGroups, 0)),
              ElementsAre("a: cycles, instructions", "b: branches", "c: branch-misses"));
}

TEST_F(ReserveTest, AGroupThatDoesNotFitIsReportedWithTheKey) {
  const Plan planned = plan(kThreeGroups, 1);

  const EventAvailability& left_out = planned.events.back();
  EXPECT_FALSE(left_out.available);
  EXPECT_EQ(left_out.reason.attempted,
            "group 'c' does not fit on the PMU with the groups before it and 1 free counter "
            "(pmu.reserve)");
}

TEST_F(ReserveTest, AGroupIsNotSplit) {
  EXPECT_THAT(counted(plan("  - {name: a, events: [cycles, instructions, branches, branch-misses], "
                           "scope: cpu}\n",
                           1)),
              IsEmpty());
}

TEST_F(ReserveTest, AGroupWithBothScopesTakesItsCountersTwice) {
  const std::string group = "  - {name: a, events: [cycles, instructions], scope: [cpu, cgroup]}\n";

  EXPECT_THAT(counted(plan(group, 0)), ElementsAre("a: cycles, instructions"));
  EXPECT_THAT(counted(plan(group, 1)), IsEmpty());
}

TEST_F(ReserveTest, SoftwareEventsTakeNoCounter) {
  EXPECT_THAT(counted(plan("  - {name: a, events: [page-faults, task-clock], scope: cpu}\n", 4)),
              ElementsAre("a: page-faults, task-clock"));
}

TEST_F(ReserveTest, EachKindOfCoresHasItsOwn) {
  EXPECT_THAT(counted(plan("  - {name: a, events: [cycles, instructions, branches], scope: cpu}\n",
                           1, nullptr, "intel_hybrid")),
              ElementsAre("a on cpu_atom: cycles, instructions, branches",
                          "a on cpu_core: cycles, instructions, branches"));
}

TEST_F(ReserveTest, AReloadWithALargerOneLeavesOutWhatNoLongerFits) {
  const Plan before = plan(kThreeGroups, 1);

  EXPECT_THAT(counted(plan(kThreeGroups, 2, &before)), ElementsAre("a: cycles, instructions"));
  EXPECT_EQ(counted(plan(kThreeGroups, 1, &before)), counted(before));
}

TEST_F(ReserveTest, NothingIsHeldAfterwards) {
  (void)plan(kThreeGroups, 2);

  EXPECT_EQ(kernel_.still_open(), 0U);
}

}  // namespace
}  // namespace pex::plan
