#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>

#include "cgroup/tree.h"
#include "watched_tree.h"

namespace pex::cgroup {

std::function<void(const std::string& directory)> on_watch;

}  // namespace pex::cgroup

/// Takes the place of the function of the C library. A Tree watches each directory before it lists
/// it; only here can a test change something in between.
extern "C" int inotify_add_watch(int inotify, const char* directory, std::uint32_t mask) noexcept {
  const long watch = ::syscall(SYS_inotify_add_watch, inotify, directory, mask);
  const int code = errno;
  if (pex::cgroup::on_watch) pex::cgroup::on_watch(directory);
  errno = code;
  return static_cast<int>(watch);
}

namespace pex::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

/// "/a" comes, and something happens in it after it is watched and before it is listed.
class TreeWalkTest : public TreeTest {
 protected:
  Tree walk_while(const std::function<void()>& it_happens) {
    Tree tree = watched(selection({"/a/*"}));
    host_.make("a/before");
    on_watch = [&](const std::string& directory) {
      if (directory == host_.path("a")) it_happens();
    };
    must_update(tree);
    on_watch = nullptr;
    return tree;
  }
};

TEST_F(TreeWalkTest, KnowsOnceWhatIsMadeMeanwhile) {
  Tree tree = walk_while([&] { host_.make("a/x"); });
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before"), Key("/a/x")));

  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeWalkTest, MissesWhatIsRemovedMeanwhile) {
  Tree tree = walk_while([&] { host_.remove("a/before"); });
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));

  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeWalkTest, MissesWhatIsMadeAndRemovedMeanwhile) {
  Tree tree = walk_while([&] {
    host_.make("a/x");
    host_.remove("a/x");
  });

  EXPECT_FALSE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeWalkTest, MissesTheFirstOfWhatIsCreatedAgainMeanwhile) {
  Tree tree = walk_while([&] {
    host_.remove("a/before");
    host_.make("a/before");
  });

  EXPECT_FALSE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Pair("/a/before", selected("a/before"))));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeWalkTest, KnowsThatWhatWasMadeMeanwhileIsGone) {
  Tree tree = walk_while([&] { host_.make("a/x"); });
  ASSERT_EQ(tree.directories().count("/a/x"), 1U);

  host_.remove("a/x");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 0U);  // it was found, and could be held
}

TEST_F(TreeWalkTest, KnowsTheLastOfWhatWasMadeMeanwhileAndAgainThereafter) {
  Tree tree = walk_while([&] { host_.make("a/x"); });

  host_.remove("a/x");
  host_.make("a/x");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(),
              ElementsAre(Key("/a"), Key("/a/before"), Pair("/a/x", selected("a/x"))));
}

TEST_F(TreeWalkTest, MissesOnceWhatWasMadeMeanwhileAndIsToBeForgotten) {
  Tree tree = walk_while([&] { host_.make("a/x"); });

  host_.remove("a/x");
  tree.forget("/a/x");
  must_update(tree);

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeWalkTest, DoesNotMindThatTheDirectoryItselfIsRemoved) {
  Tree tree = walk_while([&] { host_.remove("a"); });

  must_update(tree);
  EXPECT_THAT(tree.directories(), IsEmpty());
}

TEST_F(TreeTest, FollowsAgainWhatItMissedBeforeItWalkedTheWholeTree) {
  host_.make("a/b");
  Tree tree = watched(selection({"/**"}));
  host_.make("c");
  host_.make("a/b/x");
  on_watch = [&](const std::string& directory) {
    if (directory == host_.path("c") && host_.has("a")) host_.remove("a");
  };
  must_update(tree, kStart + kMinute);
  on_watch = nullptr;
  ASSERT_THAT(tree.directories(), ElementsAre(Key("/c")));

  host_.make("a/b/x");
  EXPECT_TRUE(must_update(tree, kStart + kMinute));
  host_.remove("a/b/x");
  EXPECT_TRUE(must_update(tree, kStart + kMinute));

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/b"), Key("/c")));
}

}  // namespace
}  // namespace pex::cgroup
