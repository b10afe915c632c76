#include "plan/cgroup_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::plan {
namespace {

using test::HasError;
using ::testing::Field;
using ::testing::HasSubstr;

class CgroupTreeTest : public testing::Test {
 protected:
  Result<> checked() {
    host::HostRoots roots;
    roots.procfs = host_.path("proc");
    roots.cgroupfs = host_.path("cg");
    return check_tree(**cgroup::find_hierarchy(roots), roots, kernel_, 0);
  }

  test::TempTree host_{
      {"cg/"},
      {"proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"}};
  test::ScriptedKernel kernel_{host_.path("cg")};
};

TEST_F(CgroupTreeTest, IsRightWhereTheKernelCountsAndNothingStaysOpen) {
  EXPECT_TRUE(checked());
  EXPECT_EQ(kernel_.opened_groups(), std::vector<std::string>{"cpu0 / dummy"});
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(CgroupTreeTest, IsRefusedWhereItIsNoCgroupFileSystem) {
  kernel_.refuse("cpu0 / dummy", EBADF);  // as Linux 6.18 says of /tmp

  const Result<> refused = checked();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().attempted,
            "count cgroups in '" + host_.path("cg") + "': it is not in a cgroup file system");
  EXPECT_EQ(refused.error().remedy.text(),
            "set HostRoots to '/sys/fs/cgroup/unified', or leave it out");
}

TEST_F(CgroupTreeTest, IsRefusedWhereTheHierarchyIsThatOfOtherControllers) {
  kernel_.refuse("cpu0 / dummy", ENOENT);  // as Linux 6.18 says of /sys/fs/cgroup/memory

  EXPECT_THAT(checked(),
              HasError(Field(&Error::attempted, HasSubstr("without the perf_event controller"))));
}

TEST_F(CgroupTreeTest, IsNotBlamedForWhatTheExporterMayNotDo) {
  kernel_.refuse("dummy", EACCES);

  EXPECT_TRUE(checked());
}

TEST_F(CgroupTreeTest, WithoutAnyHierarchyNamesNoneToBeUsed) {
  host_.write("proc/self/mountinfo", "");
  kernel_.refuse("cpu0 / dummy", EBADF);

  EXPECT_THAT(checked().error().remedy.text(), HasSubstr("mount cgroup2"));
}

TEST(TreeLimitsTest, AreTheDirectoriesOfTheConfigurationAndHalfOfTheInotifyWatchesOfAUser) {
  test::TempTree host{{"proc/sys/fs/inotify/max_user_watches", "1001\n"}};
  host::HostRoots roots;
  roots.procfs = host.path("proc");

  const cgroup::Tree::Limits limits = tree_limits({.max_directories = 7}, roots);

  EXPECT_EQ(limits.directories, 7U);
  EXPECT_EQ(limits.watches, 500U);
}

}  // namespace
}  // namespace pex::plan
