#include "cgroup/hierarchy.h"

#include <cerrno>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Optional;
using Version = Hierarchy::Version;

TEST(ChooseHierarchyTest, FindsTheTreeThatCarriesPerfEvent) {
  struct Row {
    const char* machine;
    const char* mountinfo;
    const char* mount;  ///< null: none
    Version version = Version::kV2;
  };
  const Row rows[] = {
      {"v2", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
       "/sys/fs/cgroup"},
      {"v1",
       "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
       "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
       "33 31 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n",
       "/sys/fs/cgroup/perf_event", Version::kV1},
      {"hybrid with perf_event on v1",
       "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
       "33 31 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n",
       "/sys/fs/cgroup/perf_event", Version::kV1},
      {"hybrid with perf_event left to v2",
       "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
       "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup/unified"},
      {"a part mounted before the whole",
       "30 23 0:26 /system.slice/x /container/cgroup rw - cgroup2 cgroup2 rw\n"
       "31 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup"},
      {"a part mounted after the whole",
       "31 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
       "30 23 0:26 /system.slice/x /container/cgroup rw - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup"},
      {"the same tree twice",
       "31 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
       "32 23 0:26 / /run/cgroup rw - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup"},
      {"a container that was given the host's tree beside its own part",
       "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
       "31 23 0:26 /../../.. /host/cgroup ro - cgroup2 cgroup2 rw\n"
       "32 23 0:26 /.. /slice ro - cgroup2 cgroup2 rw\n",
       "/host/cgroup"},
      {"only a part of v2", "30 23 0:26 /system.slice/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup"},
      {"a part of v1 and all of v2",
       "31 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
       "30 23 0:30 /x /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n",
       "/sys/fs/cgroup/perf_event", Version::kV1},
      {"v1 without perf_event", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
       nullptr},
      {"no cgroups", "31 23 0:28 / /tmp rw - tmpfs tmpfs rw,perf_event\n", nullptr},
      {"nothing mounted", "", nullptr},
  };

  for (const Row& row : rows) {
    const std::optional<Hierarchy> hierarchy = choose_hierarchy(host::parse_mounts(row.mountinfo));

    ASSERT_EQ(hierarchy.has_value(), row.mount != nullptr) << row.machine;
    if (!hierarchy) continue;
    EXPECT_EQ(hierarchy->mount, row.mount) << row.machine;
    EXPECT_EQ(hierarchy->version, row.version) << row.machine;
  }
}

TEST(ChooseHierarchyTest, FindsWhereVersion1AccountsForCpuTime) {
  const std::string perf_event =
      "33 31 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n";
  struct Row {
    const char* machine;
    std::string mountinfo;
    const char* accounting;
  };
  const Row rows[] = {
      {"cpuacct by itself",
       perf_event + "32 31 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
       "/sys/fs/cgroup/cpuacct"},
      {"cpu and cpuacct in one, mounted first",
       "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + perf_event,
       "/sys/fs/cgroup/cpu,cpuacct"},
      {"all in one", "30 23 0:30 / /cgroup rw - cgroup cgroup rw,cpuset,cpuacct,perf_event\n",
       "/cgroup"},
      {"none", perf_event + "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", ""},
      {"only a part of it",
       perf_event + "32 31 0:29 /x /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n", ""},
      {"hybrid, with cpu time left to v2",
       perf_event + "32 31 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", ""},
      {"v2", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", ""},
      {"v2 with cpuacct left on v1",
       "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
       "32 31 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
       ""},
      {"another file system with such an option",
       perf_event + "32 31 0:29 / /mnt rw - tmpfs tmpfs rw,cpuacct\n", ""},
  };

  for (const Row& row : rows) {
    const std::optional<Hierarchy> hierarchy = choose_hierarchy(host::parse_mounts(row.mountinfo));

    ASSERT_TRUE(hierarchy) << row.machine;
    EXPECT_EQ(hierarchy->accounting, row.accounting) << row.machine;
  }
}

TEST(ChooseHierarchyTest, AccountsInTheTreeOfTheHostWhereItCountsInThat) {
  const std::optional<Hierarchy> hierarchy = choose_hierarchy(host::parse_mounts(
      "30 23 0:30 / /sys/fs/cgroup/perf_event ro - cgroup cgroup rw,perf_event\n"
      "31 23 0:29 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
      "32 23 0:30 /../.. /host/cgroup/perf_event ro - cgroup cgroup rw,perf_event\n"
      "33 23 0:29 /../.. /host/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"));

  ASSERT_TRUE(hierarchy);
  EXPECT_EQ(hierarchy->mount, "/host/cgroup/perf_event");
  EXPECT_EQ(hierarchy->accounting, "/host/cgroup/cpu,cpuacct");
}

TEST(FindHierarchyTest, ReadsFromTheMountTableIfThereIsOne) {
  test::TempTree tree;
  const auto find = [&] { return find_hierarchy({.procfs = tree.path("proc"), .cgroupfs = {}}); };
  ASSERT_FALSE(find());
  EXPECT_EQ(find().error().code, ENOENT);

  tree.write("proc/self/mountinfo", "31 23 0:28 / /tmp rw - tmpfs tmpfs rw\n");
  EXPECT_EQ(*find(), std::nullopt);

  tree.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_THAT(*find(), Optional(Field(&Hierarchy::mount, "/sys/fs/cgroup")));
}

TEST(FindHierarchyTest, TakesTheTreeThatIsGivenAndReportsItsVersion) {
  const test::TempTree tree{{"v2/cgroup.controllers", "cpu\n"}, {"v1/cgroup.procs", ""}};

  const Result<std::optional<Hierarchy>> v2 =
      find_hierarchy({.procfs = "/absent", .cgroupfs = tree.path("v2")});
  const Result<std::optional<Hierarchy>> v1 =
      find_hierarchy({.procfs = "/absent", .cgroupfs = tree.path("v1")});

  ASSERT_TRUE(v2 && v1);
  EXPECT_EQ((*v2)->mount, tree.path("v2"));
  EXPECT_EQ((*v2)->version, Version::kV2);
  EXPECT_EQ((*v1)->version, Version::kV1);
  EXPECT_EQ((*v1)->accounting, "");  // nobody says which one belongs to it
}

TEST(FindHierarchyTest, KnowsTheCpuTimesOfAMountThatIsGiven) {
  test::TempTree tree{{"perf/cgroup.procs", ""}, {"perf/below/cgroup.procs", ""}};
  tree.write("proc/self/mountinfo",
             "30 23 0:26 / " + tree.path("perf") + " rw - cgroup cgroup rw,perf_event\n" +
                 "31 23 0:27 / /cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  const auto accounting_of = [&](const std::string& directory) {
    const Result<std::optional<Hierarchy>> found =
        find_hierarchy({.procfs = tree.path("proc"), .cgroupfs = tree.path(directory)});
    return found && *found ? (*found)->accounting : "no hierarchy";
  };

  EXPECT_EQ(accounting_of("perf"), "/cpu,cpuacct");
  EXPECT_EQ(accounting_of("perf/below"), "") << "its paths are others";
}

TEST(FindHierarchyTest, NamesTheOptionWhenTheGivenTreeIsNotThere) {
  const test::TempTree tree{{"file", ""}};
  struct Row {
    const char* given;
    int code;
  };
  const Row rows[] = {{"absent", ENOENT}, {"file", ENOTDIR}};

  for (const Row& row : rows) {
    const Result<std::optional<Hierarchy>> hierarchy =
        find_hierarchy({.cgroupfs = tree.path(row.given)});

    ASSERT_FALSE(hierarchy) << row.given;
    EXPECT_EQ(hierarchy.error().code, row.code);
    EXPECT_THAT(hierarchy.error().attempted, HasSubstr(tree.path(row.given)));
    EXPECT_THAT(hierarchy.error().remedy.text(), HasSubstr("HostRoots"));
  }
}

}  // namespace
}  // namespace pex::cgroup
