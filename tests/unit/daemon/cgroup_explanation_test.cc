#include "daemon/commands/cgroup_explanation.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

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
