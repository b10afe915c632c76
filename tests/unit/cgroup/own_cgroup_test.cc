#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>

#include "cgroup/hierarchy.h"
#include "real_cgroups.h"
#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

using Version = Hierarchy::Version;

class OwnCgroupTest : public testing::Test {
 protected:
  /// What the kernel shows of this thread, and of the mounts: the part of the hierarchy at a point
  /// of the tree.
  void show(const std::string& cgroups) { tree_.write("proc/thread-self/cgroup", cgroups); }
  void mount(const std::string& part, const std::string& point, const char* type = "cgroup2",
             const char* options = "rw") {
    mounts_ += "30 23 0:26 " + part + " " + tree_.path(point) + " rw - " + type + " none " +
               options + "\n";
    tree_.write("proc/self/mountinfo", mounts_);
  }
  /// This thread is in the cgroup of that directory.
  void enter(const std::string& directory, const char* file = "cgroup.threads") {
    tree_.write(directory + "/" + file, "1\n" + std::to_string(::gettid()) + "\n");
  }

  std::uint64_t inode(const std::string& directory) const {
    return inode_at(tree_.path(directory));
  }
  std::optional<std::uint64_t> own(const std::string& mount, Version version = Version::kV2) const {
    return own_cgroup_id({.procfs = tree_.path("proc"), .cgroupfs = {}},
                         {tree_.path(mount), version});
  }

  test::TempTree tree_;

 private:
  std::string mounts_;
};

TEST_F(OwnCgroupTest, IsThatOfTheProcessFileSystem) {
  show("0::/a/b\n");
  mount("/", "cg");
  enter("cg/a/b");

  EXPECT_EQ(own("cg"), inode("cg/a/b"));
}

TEST_F(OwnCgroupTest, MayBeTheRoot) {
  show("0::/\n");
  mount("/", "cg");
  enter("cg");

  EXPECT_EQ(own("cg"), inode("cg"));
}

TEST_F(OwnCgroupTest, OfVersion1IsThatOfPerfEvent) {
  show("5:cpu:/a\n4:perf_event:/b\n0::/c\n");
  mount("/", "perf", "cgroup", "rw,perf_event");
  mount("/", "unified");
  enter("perf/b", "tasks");
  enter("unified/c");

  EXPECT_EQ(own("perf", Version::kV1), inode("perf/b"));
}

TEST_F(OwnCgroupTest, IsInThePartThatIsMounted) {
  show("0::/docker/x/a\n");
  mount("/docker/x", "cg");
  enter("cg/a");

  EXPECT_EQ(own("cg"), inode("cg/a"));
}

TEST_F(OwnCgroupTest, IsNothingOutsideOfThePartThatIsMounted) {
  show("0::/docker/xy/a\n");
  mount("/docker/x", "cg");
  enter("cg/a");

  EXPECT_EQ(own("cg"), std::nullopt);
}

TEST_F(OwnCgroupTest, IsFoundWithoutATableOfMounts) {
  show("0::/a\n");
  enter("cg/a");

  EXPECT_EQ(own("cg"), inode("cg/a"));
}

TEST_F(OwnCgroupTest, IsNothingIfItIsNotShown) {
  mount("/", "cg");
  enter("cg");
  EXPECT_EQ(own("cg"), std::nullopt);

  for (const char* text : {"", "0::\n", "nonsense", "0::a\n", "3:cpu:/\n"}) {
    show(text);
    EXPECT_EQ(own("cg"), std::nullopt) << text;
  }
}

TEST_F(OwnCgroupTest, IsNothingWhereTheDirectoryDoesNotListTheThread) {
  show("0::/a\n");
  mount("/", "cg");
  tree_.write("cg/a/cgroup.threads", "1\n");

  EXPECT_EQ(own("cg"), std::nullopt);
}

TEST_F(OwnCgroupTest, OfANamespaceIsInItsOwnMount) {
  show("0::/a\n");
  mount("/../..", "host");
  mount("/", "own");
  tree_.make_directory("host/kubepods/pod/a");
  enter("own/a");

  EXPECT_EQ(own("host"), inode("own/a"));
}

TEST_F(OwnCgroupTest, OfANamespaceIsSearchedInTheMountOfTheHost) {
  show("0::/a\n");
  mount("/../..", "host");
  tree_.write("host/kubepods/pod1/a/cgroup.threads", "17\n");
  tree_.make_directory("host/kubepods/pod2");
  tree_.make_directory("host/a");
  enter("host/kubepods/pod3/a");

  EXPECT_EQ(own("host"), inode("host/kubepods/pod3/a"));
}

TEST_F(OwnCgroupTest, MayBeTheRootOfItsNamespace) {
  show("0::/\n");
  mount("/..", "host");
  enter("host/pod");

  EXPECT_EQ(own("host"), inode("host/pod"));
}

TEST_F(OwnCgroupTest, MayBeOutsideOfItsNamespace) {
  show("0::/../b\n");
  mount("/../..", "host");
  enter("host/kubepods/b");

  EXPECT_EQ(own("host"), inode("host/kubepods/b"));
}

TEST_F(OwnCgroupTest, IsNothingOutsideOfAMountThatShowsOnlyItsNamespace) {
  show("0::/../b\n");
  mount("/", "own/sub");
  enter("own/b");

  EXPECT_EQ(own("own/sub"), std::nullopt);
}

using RealOwnCgroupTest = RealCgroupsTest;

TEST_F(RealOwnCgroupTest, IsWhereTheProcessIs) {
  make("/a");

  in_child("/a", [&] { return own_cgroup_id({}, hierarchy_) == id("/a"); });
}

TEST_F(RealOwnCgroupTest, IsTheSameForAnotherThread) {
  make("/a");

  in_child("/a", [&] {
    std::optional<std::uint64_t> own;
    std::thread([&] { own = own_cgroup_id({}, hierarchy_); }).join();
    return own == id("/a");
  });
}

TEST_F(RealOwnCgroupTest, OfANamespaceIsFoundInTheMountOfTheHost) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a cgroup namespace";
  make("/a");
  make("/b");
  make("/a/c");

  in_child("/a/c", [&] {
    return ::unshare(CLONE_NEWCGROUP) == 0 && own_cgroup_id({}, hierarchy_) == id("/a/c");
  });
}

TEST_F(RealOwnCgroupTest, OfANamespaceIsNotConfusedByMountsThatShowOnlyThat) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a cgroup namespace";
  if (hierarchy_.version != Version::kV2) GTEST_SKIP() << "mounts version 2";
  make("/a");
  make("/a/c");
  const test::TempTree point;

  in_child("/a/c", [&] {
    return ::unshare(CLONE_NEWCGROUP | CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", point.root().c_str(), "cgroup2", 0, nullptr) == 0 &&
           own_cgroup_id({}, {point.root(), hierarchy_.version}) == id("/a/c") &&
           own_cgroup_id({}, hierarchy_) == id("/a/c");
  });
}

}  // namespace
}  // namespace pex::cgroup
