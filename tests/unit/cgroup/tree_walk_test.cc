#include <sys/inotify.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "cgroup/tree.h"
#include "support/test_headers.h"
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

TEST_F(TreeWalkTest, KnowsWhatIsMadeAndMissesOnceWhatIsRemovedMeanwhile) {
  struct Row {
    const char* name;
    std::function<void()> happens;
    std::vector<std::string> known;
    std::uint64_t missed;
  };
  const auto make = [&](const char* path) { host_.make(path); };
  const auto remove = [&](const char* path) { host_.remove(path); };
  const Row rows[] = {
      {"made", [&] { make("a/x"); }, {"/a", "/a/before", "/a/x"}, 0},
      {"removed", [&] { remove("a/before"); }, {"/a"}, 1},
      {"both", [&] { make("a/x"), remove("a/x"); }, {"/a", "/a/before"}, 1},
      {"again", [&] { remove("a/before"), make("a/before"); }, {"/a", "/a/before"}, 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Tree tree = walk_while(row.happens);

    EXPECT_FALSE(must_update(tree));
    Tree::Directories known;
    for (const std::string& path : row.known) known[path] = {host_.inode(path), path != "/a"};
    EXPECT_EQ(tree.directories(), known);
    EXPECT_EQ(tree.take_missed(), row.missed);
    host_.remove("a");
  }
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

// --- what is to be forgotten --------------------------------------------------------------------

TEST_F(TreeTest, MissesOnceWhatItWasToForget) {
  host_.make("a/x");
  host_.make("b");
  Tree tree = watched(selection({"/**"}));

  host_.remove("a");
  tree.forget("/a");

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/b")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeTest, ReportsOnceThatWhatItWasToForgetIsGone) {
  host_.make("a");
  Tree tree = watched(selection({"/*"}));

  host_.remove("a");
  tree.forget("/a");
  must_update(tree);
  EXPECT_THAT(tree.directories(), IsEmpty());
  EXPECT_EQ(tree.take_missed(), 1U);

  host_.make("a");
  EXPECT_TRUE(must_update(tree));
  host_.remove("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), IsEmpty());
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, DoesNotTakeARemovalForThatOfAMissedOneInADirectoryThatWasReplaced) {
  host_.make("a");
  Tree tree = watched(selection({"/**"}));
  host_.make("b");
  host_.make("a/x");  // reported after "b"
  on_watch = [this](const std::string& directory) {
    if (!directory.ends_with("/b") || !host_.has("/a/x")) return;
    host_.remove("a");
    host_.make("a");
  };
  must_update(tree, kStart + kMinute);  // walks: "a" has another watch, which knew no "a/x"
  on_watch = nullptr;

  host_.make("a/x");
  must_update(tree, kStart + kMinute);
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/x"), Key("/b")));
  host_.remove("a/x");
  must_update(tree, kStart + kMinute);

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b")));
}

TEST_F(TreeTest, KnowsWhatIsCreatedAgainAfterItWasToForget) {
  host_.make("a");
  Tree tree = watched(selection({"/*"}));

  host_.remove("a");
  tree.forget("/a");
  host_.make("a");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/a", selected("a"))));
  EXPECT_EQ(tree.take_missed(), 1U);
}

}  // namespace
}  // namespace pex::cgroup
