#include "plan/machine/machine_description.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::plan {
namespace {

class MachineDescriptionTest : public testing::Test {
 protected:
  MachineDescriptionTest() {
    kernel_.only_tried(true);
    kernel_.starve_groups_larger_than(4);
  }

  MachineDescription describe(const std::vector<int>& left_out_cpus = {}) {
    return describe_machine(
        {.sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = {}}, kernel_,
        left_out_cpus);
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0-3\n"}};
  test::ScriptedKernel kernel_;
};

TEST_F(MachineDescriptionTest, HasNoPmuAndNoCountersWithoutACorePmu) {
  const MachineDescription machine = describe();

  EXPECT_EQ(machine.pmu, "");
  EXPECT_EQ(machine.general_counters, "");
  EXPECT_EQ(machine.fixed_counters, "");
}

TEST_F(MachineDescriptionTest, HasTheNameAndTheFreeCountersOfThePmu) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");

  EXPECT_EQ(describe().pmu, "cpu");
  tree_.write("sys/bus/event_source/devices/cpu/caps/pmu_name", "skylake\n");
  const MachineDescription machine = describe();

  EXPECT_EQ(machine.pmu, "skylake");
  EXPECT_EQ(machine.general_counters, "4");
  EXPECT_EQ(machine.fixed_counters, "0");
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(MachineDescriptionTest, ListsEachCorePmuOfAHybridMachine) {
  tree_.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  tree_.write("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "2-3\n");

  const MachineDescription machine = describe();

  EXPECT_EQ(machine.pmu, "cpu_atom,cpu_core");
  EXPECT_EQ(machine.general_counters, "4,4");
}

TEST_F(MachineDescriptionTest, DoesNotKnowTheCountersWhereNothingMayBeOpened) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  for (const char* event : {"branch-misses", "cache-misses", "instructions"}) {
    kernel_.refuse(event, EACCES);
  }

  const MachineDescription machine = describe();

  EXPECT_EQ(machine.pmu, "cpu");
  EXPECT_EQ(machine.general_counters, "");
}

TEST_F(MachineDescriptionTest, OpensNothingOnCpusThatAreLeftOut) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");

  EXPECT_EQ(describe({0, 1}).general_counters, "4");
  for (const std::string& group : kernel_.opened_groups()) {
    EXPECT_TRUE(group.starts_with("cpu2 ")) << group;
  }
}

}  // namespace
}  // namespace pex::plan
