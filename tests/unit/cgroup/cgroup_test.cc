#include "cgroup/cgroup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

constexpr uid_t kUser = 1000;

class NamesOfRootTest : public testing::Test {
 protected:
  void give(const std::string& directory) {
    if (::chown(tree_.path(directory).c_str(), kUser, kUser) != 0) GTEST_SKIP() << "not root";
  }
  std::size_t of(const std::string& path) const { return names_of_root(tree_.root(), path); }

  test::TempTree tree_{{"system.slice/ci.service/a/b/"}};
};

TEST_F(NamesOfRootTest, AreAllWhereEveryDirectoryIsOfRoot) {
  EXPECT_EQ(of("/system.slice"), kAllNames);
  EXPECT_EQ(of("/system.slice/ci.service/a/b"), kAllNames);
}

TEST_F(NamesOfRootTest, EndInTheDirectoryOfAUser) {
  give("system.slice/ci.service");
  EXPECT_EQ(of("/system.slice/ci.service"), kAllNames);
  EXPECT_EQ(of("/system.slice/ci.service/new"), 2U);
}

TEST_F(NamesOfRootTest, EndInTheOutermostDirectoryOfAUser) {
  give("system.slice/ci.service");
  give("system.slice/ci.service/a");
  EXPECT_EQ(of("/system.slice/ci.service/a/b"), 2U);
}

TEST_F(NamesOfRootTest, OfWhatIsGoneEndWithTheFirstDirectoryWhoseOwnerIsNotKnown) {
  give("system.slice/ci.service");
  EXPECT_EQ(of("/system.slice/ci.service/gone/kubepods/pod"), 2U);
  EXPECT_EQ(of("/system.slice/gone/kubepods/pod"), 2U) << "it may have been a user's";
  EXPECT_EQ(of("/system.slice/gone"), kAllNames);
}

TEST_F(NamesOfRootTest, EndWhereAGroupOrEveryoneMayWrite) {
  for (const mode_t mode : {0757, 0775}) {
    ASSERT_EQ(::chmod(tree_.path("system.slice/ci.service").c_str(), mode), 0);
    if (::chown(tree_.path("system.slice/ci.service").c_str(), 0, kUser) != 0) GTEST_SKIP();
    EXPECT_EQ(of("/system.slice/ci.service/new"), 2U);
  }
}

TEST_F(NamesOfRootTest, AreAlsoThoseOfTheOwnerOfTheTree) {
  give("");
  give("system.slice");
  EXPECT_EQ(of("/system.slice/ci.service/a"), kAllNames);
}

}  // namespace
}  // namespace pex::cgroup
