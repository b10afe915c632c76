

#include "daemon/commands/cgroup_explanation.h"
#include "daemon/commands/commands.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ListCgroupsTest : public testing::Test {
 protected:
  ListCgroupsTest() { options_.all_cgroups = true; }

  std::string list() {
    Log log{LogLevel::kError, LogFormat::kLogfmt};
    const Printed printed = printed_by([&] { return list_cgroups(options_, kernel_, log); });
    EXPECT_EQ(printed.status, kOk);
    return printed.out;
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"},
                       {"cgroup/cgroup.procs", ""},
                       {"config.yaml",
                        "groups: [{name: soft, events: [cs], scope: cgroup}]\n"
                        "cgroups: {include: [/wanted]}\n"}};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_ = options_in(tree_);
};

TEST_F(ListCgroupsTest, AdvisesAPatternForThoseThatItPrinted) {
  tree_.make_directory("cgroup/other");

  EXPECT_THAT(list(), AllOf(HasSubstr("not selected  /other (no pattern"),
                            HasSubstr("cgroups.include selects no cgroup that exists now. Remedy: "
                                      "if one of those above should be counted")));
}

TEST_F(ListCgroupsTest, AdvisesAPatternForThePathThatItWasAskedFor) {
  tree_.make_directory("cgroup/other");
  options_.cgroup_paths = {"/other"};
  for (const bool is_all : {false, true}) {
    options_.all_cgroups = is_all;

    EXPECT_THAT(list(), AllOf(HasSubstr("not selected  /other (no pattern"),
                              HasSubstr("if one of those above should be counted"),
                              Not(HasSubstr("no cgroup exists now"))));
  }
}

TEST_F(ListCgroupsTest, DoesNotReferToCgroupsAboveWhereThereAreNone) {
  EXPECT_THAT(list(), AllOf(HasSubstr("\nno cgroup exists now. Remedy: set --path.cgroupfs if "
                                      "their hierarchy is mounted elsewhere\n"),
                            Not(HasSubstr("above"))));
}

TEST(CgroupExplanationTest, APathIsFoundHoweverItIsWritten) {
  const auto below = [](const char* written) { return path_below("/sys/fs/cgroup", written); };

  for (const char* written :
       {"/a/b", "a/b", "/a/b/", "/a//b", "//a/./b/.", "/c/../a/b", "/sys/fs/cgroup/a/b",
        "/sys/fs//cgroup/a/b/", "/sys/fs/x/../cgroup/a/b"}) {
    EXPECT_EQ(below(written), "/a/b") << written;
  }
  for (const char* written : {"/", "", ".", "/a/..", "/sys/fs/cgroup", "/sys/fs/cgroup/"}) {
    EXPECT_EQ(below(written), "/") << written;
  }
  EXPECT_EQ(below("/..a"), "/..a");
  EXPECT_EQ(path_below("cg/", "./cg/a"), "/a");
}

TEST(CgroupExplanationTest, APathAboveTheRootIsNotThere) {
  const test::TempTree tree{{"mount/a/"}, {"other/"}};
  const plan::LoadedPlan planned;
  const collect::TargetSet targets;
  const CgroupExplanation explanation{planned, tree.path("mount"), targets, {}};
  const auto is_there = [&](const std::string& written) {
    return explanation.of(path_below(tree.path("mount"), written)).has_value();
  };

  EXPECT_TRUE(is_there("/a"));
  EXPECT_FALSE(is_there("/.."));
  EXPECT_FALSE(is_there("/../other"));
  EXPECT_FALSE(is_there("/a/../../other"));
  EXPECT_FALSE(is_there(tree.path("other")));
}

}  // namespace
}  // namespace pex::daemon
