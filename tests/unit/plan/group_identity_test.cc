#include <gtest/gtest.h>

#include <string>

#include "plan/group_fitter.h"
#include "support/planning.h"

namespace pex::plan {
namespace {

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
