#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/commands/commands.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
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

}  // namespace
}  // namespace pex::daemon
