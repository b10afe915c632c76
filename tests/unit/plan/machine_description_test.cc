#include "plan/machine/machine_description.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::plan {
namespace {

class MachineDescriptionTest : public testing::Test {
 protected:
  MachineDescription describe() {
    return describe_machine(
        {.sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = {}});
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0-3\n"}};
};

TEST_F(MachineDescriptionTest, HasNoPmuWithoutACorePmu) { EXPECT_EQ(describe().pmu, ""); }

TEST_F(MachineDescriptionTest, HasTheNameOfThePmuOrThatOfItsMicroarchitecture) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  EXPECT_EQ(describe().pmu, "cpu");

  tree_.write("sys/bus/event_source/devices/cpu/caps/pmu_name", "skylake\n");
  EXPECT_EQ(describe().pmu, "skylake");
}

TEST_F(MachineDescriptionTest, ListsEachCorePmuOfAHybridMachine) {
  tree_.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  tree_.write("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "2-3\n");

  EXPECT_EQ(describe().pmu, "cpu_atom,cpu_core");
}

}  // namespace
}  // namespace pex::plan
