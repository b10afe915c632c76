#include "host/mounts.h"

#include <cerrno>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::FieldsAre;
using ::testing::HasSubstr;

TEST(ParseMountsTest, FindsTheFieldsHoweverManyOptionalOnesThereAre) {
  const std::vector<Mount> mounts = parse_mounts(
      "36 35 98:0 / /none rw,noatime - ext3 /dev/root rw,errors=continue\n"
      "37 35 98:0 /part /one rw master:1 - ext3 /dev/root rw\n"
      "38 35 98:0 / /three rw shared:2 master:1 unbindable - cgroup2 cgroup rw,nsdelegate\n");

  EXPECT_THAT(mounts, ElementsAre(FieldsAre("/", "/none", "ext3", "rw,errors=continue", "36"),
                                  FieldsAre("/part", "/one", "ext3", "rw", "37"),
                                  FieldsAre("/", "/three", "cgroup2", "rw,nsdelegate", "38")));
}

TEST(ParseMountsTest, UndoesOctalEscapes) {
  const std::vector<Mount> mounts =
      parse_mounts(R"(36 35 98:0 /a\134b /with\040blank\011tab\012break\134 rw - ext3 /dev/root rw)"
                   "\n"
                   R"(37 35 98:0 / /not\08\04 rw - ext3 /dev/root rw)");

  EXPECT_THAT(mounts, ElementsAre(FieldsAre("/a\\b", "/with blank\ttab\nbreak\\", _, _, _),
                                  FieldsAre("/", "/not\\08\\04", _, _, _)));
}

TEST(ParseMountsTest, TakesASourceThatIsEmpty) {
  EXPECT_THAT(parse_mounts("36 35 0:3 / /run rw - tmpfs  rw,mode=755\n"),
              ElementsAre(FieldsAre("/", "/run", "tmpfs", "rw,mode=755", "36")));
}

TEST(ParseMountsTest, LeavesOutLinesOfAnotherForm) {
  for (const char* line :
       {"", "\n\n", "-", "36 35 98:0 / /point rw", "36 35 98:0 / /point rw -",
        "36 35 98:0 / /point rw - ext3", "36 35 98:0 / /point rw - ext3 /dev/root",
        "36 35 98:0 / /point - ext3 /dev/root rw", "36 35 98:0  /point rw - ext3 /dev/root rw",
        "36 35 98:0 /  rw - ext3 /dev/root rw", "a b c"}) {
    EXPECT_TRUE(parse_mounts(line).empty()) << "'" << line << "'";
  }
}

TEST(ParseMountsTest, KeepsTheGoodLinesAroundABrokenOne) {
  EXPECT_THAT(parse_mounts("36 35 98:0 / /a rw - ext3 s rw\n"
                           "broken\n"
                           "37 35 98:0 / /b rw - ext3 s rw"),
              ElementsAre(Field(&Mount::point, "/a"), Field(&Mount::point, "/b")));
}

TEST(MountTest, HasAnOptionOnlyAsAWhole) {
  const Mount mount{"/", "/sys/fs/cgroup/cpu", "cgroup", "rw,cpu,perf_event"};

  EXPECT_TRUE(mount.has_option("perf_event"));
  EXPECT_TRUE(mount.has_option("rw"));
  EXPECT_FALSE(mount.has_option("perf"));
  EXPECT_FALSE(mount.has_option("cpuacct"));
}

TEST(ReadMountsTest, ReadsTheTableOfThisProcessOrNamesTheOptionToSet) {
  test::TempTree tree;
  const HostRoots roots{.procfs = tree.path("proc"), .cgroupfs = {}};

  const Error error = read_mounts(roots).error();
  EXPECT_EQ(error.code, ENOENT);
  EXPECT_THAT(error.attempted, HasSubstr(tree.path("proc/self/mountinfo")));
  EXPECT_THAT(error.remedy.text(), HasSubstr("HostRoots"));

  tree.write("proc/self/mountinfo", "36 35 0:12 / /a rw - cgroup2 none rw\n");
  EXPECT_THAT(*read_mounts(roots), ElementsAre(Field(&Mount::fs_type, "cgroup2")));
}

TEST(MountOfFileTest, IsTheInnermostThatHasTheFileAndOfThoseTheLast) {
  test::TempTree tree{{"conf/a.yaml"}, {"conf.d/a.yaml"}};
  const std::string line = " - ext4 /dev/root rw\n";
  tree.write("proc/self/mountinfo", "1 0 8:1 / / rw" + line +                                 //
                                        "2 1 8:1 /old " + tree.path("conf") + " rw" + line +  //
                                        "3 1 8:1 /new " + tree.path("conf") + " rw" + line +  //
                                        "4 1 8:1 / " + tree.root() + " rw" + line);
  const HostRoots roots{.procfs = tree.path("proc"), .cgroupfs = {}};

  EXPECT_EQ(mount_of_file(roots, tree.path("conf/a.yaml"))->id, "3");
  EXPECT_EQ(mount_of_file(roots, tree.path("conf/a.yaml"))->root, "/new");
  EXPECT_EQ(mount_of_file(roots, tree.path("conf.d/a.yaml"))->id, "4");
  const std::optional<Mount> before = Mount{.root = "/old", .point = tree.path("conf"), .id = "3"};
  EXPECT_THAT(renamed_since(before, roots, tree.path("conf/a.yaml"), "the file")->attempted,
              HasSubstr("its directory was replaced or deleted where it is mounted from, and is "
                        "called '/new' there"));
  EXPECT_FALSE(renamed_since({}, roots, tree.path("conf/a.yaml"), "the file"));
  EXPECT_FALSE(mount_of_file(roots, "/proc")) << "only the mount of the root has it";
  EXPECT_FALSE(mount_of_file(roots, tree.path("conf/none.yaml")));
}

}  // namespace
}  // namespace pex::host
