#include "host/trusted_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

/// "/tmp" of all users is trusted for what we made there, as it has the sticky bit.
class TrustedPathTest : public testing::Test {
 protected:
  TrustedPathTest() {
    tree_.write("a/b/program", "");
    EXPECT_TRUE(is_trusted_path(program_)) << "what others may change is not of this test";
  }
  void set_mode(const char* path, mode_t mode) {
    ASSERT_EQ(::chmod(tree_.path(path).c_str(), mode), 0);
  }
  void give_away(const char* path) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    constexpr uid_t kNobody = 65534;
    ASSERT_EQ(::lchown(tree_.path(path).c_str(), kNobody, kNobody), 0);
  }

  test::TempTree tree_;
  const std::string program_ = tree_.path("a/b/program");
};

TEST_F(TrustedPathTest, IsNotOneOfAFileThatOthersMayWrite) {
  set_mode("a/b/program", 0666);
  EXPECT_FALSE(is_trusted_path(program_));
}

TEST_F(TrustedPathTest, IsNotOneBelowADirectoryThatOthersMayWrite) {
  set_mode("a", 0777);
  EXPECT_FALSE(is_trusted_path(program_));
  set_mode("a", 01777);
  EXPECT_TRUE(is_trusted_path(program_)) << "b is ours, and a directory";
}

/// Others can move it there from a directory of their own.
TEST_F(TrustedPathTest, IsNotOneOfAFileOrLinkOfOursInADirectoryOfEverybodyWithTheStickyBit) {
  tree_.write("all/file", "");
  ASSERT_EQ(::symlink(program_.c_str(), tree_.path("all/link").c_str()), 0);
  EXPECT_TRUE(is_trusted_path(tree_.path("all/link")));

  set_mode("all", 01777);

  EXPECT_FALSE(is_trusted_path(tree_.path("all/file")));
  EXPECT_FALSE(is_trusted_path(tree_.path("all/link")));
}

TEST_F(TrustedPathTest, IsNotOneOfAFileOfSomebodyElse) {
  give_away("a/b/program");
  EXPECT_FALSE(is_trusted_path(program_));
}

TEST_F(TrustedPathTest, IsNotOneBelowADirectoryOfSomebodyElse) {
  give_away("a");
  EXPECT_FALSE(is_trusted_path(program_));
}

TEST_F(TrustedPathTest, FollowsLinksAndWhatIsAboveThem) {
  tree_.make_directory("c");
  ASSERT_EQ(::symlink("../a/b/program", tree_.path("c/relative").c_str()), 0);
  ASSERT_EQ(::symlink(tree_.path("c/relative").c_str(), tree_.path("absolute").c_str()), 0);

  EXPECT_TRUE(is_trusted_path(tree_.path("absolute")));
  set_mode("c", 0777);
  EXPECT_FALSE(is_trusted_path(tree_.path("absolute"))) << "others can change where a link leads";
  EXPECT_TRUE(is_trusted_path(program_));
}

TEST_F(TrustedPathTest, IsNotOneThroughAFileOfAProcessWhichNeedNotBeWhereItsTextLeads) {
  const int held = ::open(tree_.path("a").c_str(), O_PATH | O_CLOEXEC);

  EXPECT_TRUE(is_trusted_path("/proc/self/status"));
  EXPECT_FALSE(is_trusted_path("/proc/self/fd/" + std::to_string(held) + "/b/program"));
  EXPECT_FALSE(is_trusted_path("/proc/self/root/" + program_));
  EXPECT_FALSE(is_trusted_path("/proc/self/exe"));
  ::close(held);
}

TEST_F(TrustedPathTest, IsNotOneThatLeadsNowhere) {
  ASSERT_EQ(::symlink("loop", tree_.path("loop").c_str()), 0);

  EXPECT_FALSE(is_trusted_path(tree_.path("loop")));
  EXPECT_FALSE(is_trusted_path(tree_.path("a/none")));
  EXPECT_FALSE(is_trusted_path("a/b/program"));
  EXPECT_FALSE(is_trusted_path(""));
}

}  // namespace
}  // namespace pex::host
