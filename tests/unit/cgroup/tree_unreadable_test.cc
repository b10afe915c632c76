#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "cgroup/inventory.h"
#include "cgroup/tree.h"
#include "support/few_descriptors.h"
#include "support/ordinary_user.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

class UnreadableTest : public TreeTest {
 protected:
  UnreadableTest() {
    ::chmod(host_.root().c_str(), 0755);
    host_.make("open/x");
    host_.make("closed/x");
    close("closed");
  }
  ~UnreadableTest() override { open("closed"); }

  void close(std::string_view path) { ::chmod(host_.path(path).c_str(), 0); }
  void open(std::string_view path) { ::chmod(host_.path(path).c_str(), 0755); }

  bool update_as_ordinary_user(Tree& tree, Tree::Clock::time_point now = kStart) {
    const test::OrdinaryUser user;
    return must_update(tree, now);
  }

  Tree tree_{host_.root(), selection({"/**"})};
};

TEST_F(UnreadableTest, CostsWhatIsBelowIt) {
  update_as_ordinary_user(tree_);

  EXPECT_THAT(tree_.directories(), ElementsAre(Key("/closed"), Key("/open"), Key("/open/x")));
  ASSERT_THAT(tree_.unreadable(), ElementsAre(Key("/closed")));
  EXPECT_EQ(tree_.unreadable().at("/closed").code, EACCES);
  EXPECT_EQ(tree_.unreadable().at("/closed").attempted,
            "read cgroup directory '" + host_.path("closed") + "'");
  EXPECT_TRUE(tree_.is_watched()) << "to raise a limit of inotify would not help here";
}

TEST_F(UnreadableTest, IsReportedWhenItComesLater) {
  update_as_ordinary_user(tree_);

  host_.make("open/late/x");
  close("open/late");
  EXPECT_TRUE(update_as_ordinary_user(tree_));
  open("open/late");

  EXPECT_THAT(tree_.unreadable(), ElementsAre(Key("/closed"), Key("/open/late")));
  EXPECT_EQ(tree_.directories().count("/open/late"), 1U);
  EXPECT_EQ(tree_.directories().count("/open/late/x"), 0U);
}

TEST_F(UnreadableTest, IsForgottenWhenItGoes) {
  update_as_ordinary_user(tree_);

  open("closed");
  host_.remove("closed");
  EXPECT_TRUE(update_as_ordinary_user(tree_));

  EXPECT_THAT(tree_.unreadable(), IsEmpty());
  EXPECT_THAT(tree_.directories(), ElementsAre(Key("/open"), Key("/open/x")));
}

TEST_F(UnreadableTest, IsForgottenWhenItGoesWithWhatItIsIn) {
  host_.make("open/deep/closed");
  close("open/deep/closed");
  update_as_ordinary_user(tree_);
  ASSERT_EQ(tree_.unreadable().size(), 2U);

  open("open/deep/closed");
  host_.remove("open/deep");
  EXPECT_TRUE(update_as_ordinary_user(tree_));

  EXPECT_THAT(tree_.unreadable(), ElementsAre(Key("/closed")));
}

TEST_F(UnreadableTest, IsReadWhenItMayBeAMinuteLater) {
  update_as_ordinary_user(tree_);

  open("closed");
  EXPECT_TRUE(update_as_ordinary_user(tree_, kStart + kMinute));

  EXPECT_THAT(tree_.unreadable(), IsEmpty());
  EXPECT_EQ(tree_.directories().count("/closed/x"), 1U);
}

TEST_F(TreeTest, MakesUpLaterForWhatItCouldNotReadForWantOfDescriptors) {
  host_.make("a");
  Tree tree = watched(selection({"/**"}));
  host_.make("b/x");
  {
    const test::FewDescriptors none{0};
    EXPECT_EQ(tree.update(kStart).error().code, EMFILE);
  }
  EXPECT_EQ(tree.directories().count("/a"), 1U);
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b"), Key("/b/x")));
}

TEST(RemedyForDirectoryTest, IsTheLimitOfTheProcessOrThatOfTheMachineIfDescriptorsLack) {
  EXPECT_EQ(remedy_for_directory(EMFILE).text(), "raise RLIMIT_NOFILE, or ulimit -n");
  EXPECT_EQ(remedy_for_directory(ENFILE).text(), "raise fs.file-max");
}

/// Makes directories inside of each other until their path is too long for any system call.
void make_too_deep(const std::string& top) {
  const std::string name(250, 'd');
  UniqueFd in{::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int depth = 0; depth < 20; ++depth) {
    ASSERT_EQ(::mkdirat(in.get(), name.c_str(), 0755), 0);
    in.reset(::openat(in.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(in);
  }
}

TEST_F(TreeTest, APathThatIsTooLongCostsWhatIsBelowIt) {
  host_.make("a/x");
  host_.make("deep");
  make_too_deep(host_.path("deep"));

  Tree tree = watched(selection({"/**"}));

  EXPECT_EQ(tree.directories().count("/a/x"), 1U);
  EXPECT_EQ(tree.skipped().path_too_long, 1U);
  EXPECT_THAT(tree.unreadable(), IsEmpty());
  EXPECT_TRUE(tree.is_watched());
}

TEST_F(TreeTest, APathOfExactlyTheLengthAllowedIsKnownAndOneByteMoreIsSkippedAndCounted) {
  const std::string above(200, 'd');
  std::string path;
  while (path.size() + 2 * above.size() < Tree::kMaxPathBytes) path += "/" + above;
  host_.make(path);
  const std::size_t left = Tree::kMaxPathBytes - path.size() - 1;
  host_.make(path + "/" + std::string(left, 'x'));
  Tree tree = watched(selection({"/**"}));
  EXPECT_EQ(tree.directories().count(path + "/" + std::string(left, 'x')), 1U);
  EXPECT_EQ(tree.skipped(), Tree::Skipped{});

  host_.make(path + "/" + std::string(left + 1, 'y') + "/below");
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{0, 1, {}, path}));
  must_update(tree, kStart + kMinute);  // walks the whole tree
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{0, 1, {}, path}));

  host_.remove(path + "/" + std::string(left + 1, 'y'));
  EXPECT_FALSE(must_update(tree, kStart + kMinute));
  EXPECT_EQ(tree.skipped().path_too_long, 0U);
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, APathMayBeLimitedToFewerBytes) {
  host_.make("a/" + std::string(61, 'x'));
  host_.make("a/" + std::string(62, 'y'));
  Tree tree{host_.root(), selection({"/**"}), {.path_bytes = 64}};
  must_update(tree);

  EXPECT_EQ(tree.directories().size(), 2U);
  EXPECT_EQ(tree.skipped().path_too_long, 1U);
}

TEST_F(TreeTest, APathIsAsLongAsItIsPublished) {
  for (const char each : {'\xff', '\x01'}) {
    const std::string five_bytes(130, each);  // each of them
    host_.make(five_bytes + "/" + five_bytes);

    Tree tree = watched(selection({"/**"}));

    EXPECT_THAT(tree.directories(), ElementsAre(Key("/" + five_bytes)));
    EXPECT_EQ(tree.skipped().path_too_long, 1U);
    host_.remove(five_bytes + "/" + five_bytes);
    host_.remove(five_bytes);
  }
}

TEST_F(TreeTest, WhatIsMountedOverTheTreeIsNotTakenForIt) {
  const test::TempTree other{{"b/"}};
  host_.make("cg/a");
  fs::create_directory_symlink(host_.path("cg"), host_.path("link"));
  Tree tree{host_.path("link"), selection({"/*"})};
  must_update(tree);
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat(host_.path("cg").c_str(), &here), 0);
  ASSERT_EQ(::stat(other.root().c_str(), &there), 0);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "temporary files and /dev/shm are one device";

  fs::remove(host_.path("link"));
  fs::create_directory_symlink(other.root(), host_.path("link"));
  const Result<bool> over = tree.update(kStart + kMinute);

  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().attempted, "not looking for new cgroups in '" + host_.path("link") +
                                        "': another file system is mounted there now");
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));

  fs::remove(host_.path("link"));
  fs::create_directory_symlink(host_.path("cg"), host_.path("link"));
  EXPECT_FALSE(must_update(tree, kStart + kMinute));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));
}

}  // namespace
}  // namespace pex::cgroup
