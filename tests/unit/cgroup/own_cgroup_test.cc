#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cgroup/hierarchy.h"
#include "real_cgroups.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using Version = Hierarchy::Version;

TEST(OwnCgroupTest, IsTheDirectoryThatListsTheThreadWhereTheMountShowsIt) {
  struct Row {
    const char* name;
    const char* cgroups;              ///< what the kernel shows of this thread, if it does
    std::vector<const char*> mounts;  ///< "part point", of version 2
    std::vector<const char*> others;  ///< directories that list other threads
    const char* entered;              ///< the directory that lists this thread
    const char* asked = "cg";         ///< in which mount
    bool is_found = true;
  };
  const Row rows[] = {
      {"below the root", "0::/a/b\n", {"/ cg"}, {}, "cg/a/b"},
      {"the root", "0::/\n", {"/ cg"}, {}, "cg"},
      {"in the part that is mounted", "0::/docker/x/a\n", {"/docker/x cg"}, {}, "cg/a"},
      {"outside of it", "0::/docker/xy/a\n", {"/docker/x cg"}, {}, "cg/a", "cg", false},
      {"without a table of mounts", "0::/a\n", {}, {}, "cg/a"},
      {"not shown", nullptr, {"/ cg"}, {}, "cg", "cg", false},
      {"nothing shown", "", {"/ cg"}, {}, "cg", "cg", false},
      {"no path", "0::\n", {"/ cg"}, {}, "cg", "cg", false},
      {"nonsense", "nonsense", {"/ cg"}, {}, "cg", "cg", false},
      {"no absolute path", "0::a\n", {"/ cg"}, {}, "cg", "cg", false},
      {"another hierarchy", "3:cpu:/\n", {"/ cg"}, {}, "cg", "cg", false},
      {"thread not listed", "0::/a\n", {"/ cg"}, {"cg/a"}, "cg/b", "cg", false},
      {"of a namespace in its own mount", "0::/a\n", {"/../.. cg", "/ own"}, {"cg/pod/a"}, "own/a"},
      {"of a namespace in the mount of the host",
       "0::/a\n",
       {"/../.. cg"},
       {"cg/pods/1/a", "cg/pods/2", "cg/a"},
       "cg/pods/3/a"},
      {"the root of its namespace", "0::/\n", {"/.. cg"}, {}, "cg/pod"},
      {"outside of its namespace", "0::/../b\n", {"/../.. cg"}, {}, "cg/pods/b"},
      {"outside of what the mount shows",
       "0::/../b\n",
       {"/ own/sub"},
       {},
       "own/b",
       "own/sub",
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    test::TempTree tree;
    if (row.cgroups) tree.write("proc/thread-self/cgroup", row.cgroups);
    std::string mounts;
    for (const std::string mount : row.mounts) {
      const std::size_t space = mount.find(' ');
      mounts += "30 23 0:26 " + mount.substr(0, space) + " " + tree.path(mount.substr(space + 1)) +
                " rw - cgroup2 none rw\n";
    }
    if (!mounts.empty()) tree.write("proc/self/mountinfo", mounts);
    for (const std::string other : row.others) tree.write(other + "/cgroup.threads", "1\n");
    tree.write(std::string(row.entered) + "/cgroup.threads",
               "1\n" + std::to_string(::gettid()) + "\n");

    const auto own = OwnCgroup({.procfs = tree.path("proc"), .cgroupfs = {}},
                               {tree.path(row.asked), Version::kV2})();

    const std::uint64_t entered = inode_at(tree.path(row.entered));
    EXPECT_EQ(own, row.is_found ? std::optional{entered} : std::nullopt);
  }
}

TEST(OwnCgroupTest, OfVersion1IsThatOfPerfEvent) {
  test::TempTree tree{{"proc/thread-self/cgroup", "5:cpu:/a\n4:perf_event:/b\n0::/c\n"}};
  tree.write("proc/self/mountinfo", "30 23 0:26 / " + tree.path("perf") +
                                        " rw - cgroup none rw,perf_event\n" + "31 23 0:27 / " +
                                        tree.path("unified") + " rw - cgroup2 none rw\n");
  tree.write("perf/b/tasks", std::to_string(::gettid()) + "\n");
  tree.write("unified/c/cgroup.threads", std::to_string(::gettid()) + "\n");

  EXPECT_EQ(
      OwnCgroup({.procfs = tree.path("proc"), .cgroupfs = {}}, {tree.path("perf"), Version::kV1})(),
      inode_at(tree.path("perf/b")));
}

TEST(OwnCgroupTest, IsSearchedAgainOnceTheKernelShowsAnotherPath) {
  test::TempTree tree{{"proc/thread-self/cgroup", "0::/a\n"}};
  const std::string thread = std::to_string(::gettid()) + "\n";
  for (const std::string cgroup : {"a", "b"})
    tree.write("cg/" + cgroup + "/cgroup.threads", thread);
  OwnCgroup own({.procfs = tree.path("proc"), .cgroupfs = {}}, {tree.path("cg"), Version::kV2});
  EXPECT_EQ(own(), inode_at(tree.path("cg/a")));

  tree.write("cg/a/cgroup.threads", "");
  EXPECT_EQ(own(), inode_at(tree.path("cg/a")));

  tree.write("proc/thread-self/cgroup", "0::/b\n");
  EXPECT_EQ(own(), inode_at(tree.path("cg/b")));
}

using RealOwnCgroupTest = RealCgroupsTest;

TEST_F(RealOwnCgroupTest, IsWhereTheProcessIs) {
  make("/a");

  in_child("/a", [&] { return OwnCgroup({}, hierarchy_)() == id("/a"); });
}

TEST_F(RealOwnCgroupTest, IsTheSameForAnotherThread) {
  make("/a");

  in_child("/a", [&] {
    std::optional<std::uint64_t> own;
    std::thread([&] { own = OwnCgroup({}, hierarchy_)(); }).join();
    return own == id("/a");
  });
}

TEST_F(RealOwnCgroupTest, OfANamespaceIsFoundInTheMountOfTheHost) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a cgroup namespace";
  make("/a");
  make("/b");
  make("/a/c");

  in_child("/a/c", [&] {
    return ::unshare(CLONE_NEWCGROUP) == 0 && OwnCgroup({}, hierarchy_)() == id("/a/c");
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
           OwnCgroup({}, {point.root(), hierarchy_.version})() == id("/a/c") &&
           OwnCgroup({}, hierarchy_)() == id("/a/c");
  });
}

}  // namespace
}  // namespace pex::cgroup
