#include "cgroup/tree_watch.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

TEST(TreeWatchTest, SeesNothingWhereNothingHappens) {
  const test::TempTree tree{{"a/"}};
  TreeWatch watch;

  EXPECT_FALSE(watch.changed());
  watch.add(tree.path("a"));
  EXPECT_FALSE(watch.changed());
}

TEST(TreeWatchTest, SeesDirectoriesComeGoAndMoveOnceEach) {
  test::TempTree tree{{"a/"}};
  TreeWatch watch;
  watch.add(tree.path("a"));

  tree.make_directory("a/b");
  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
  tree.rename("a/b", "a/c");
  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
  tree.remove("a/c");
  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
}

TEST(TreeWatchTest, DoesNotSeeWhatHappensFurtherDownUntilToldToLookThere) {
  test::TempTree tree{{"a/b/"}};
  TreeWatch watch;
  watch.add(tree.path("a"));

  tree.make_directory("a/b/c");
  EXPECT_FALSE(watch.changed());
  watch.add(tree.path("a/b"));
  tree.make_directory("a/b/d");
  EXPECT_TRUE(watch.changed());
}

TEST(TreeWatchTest, DoesNotMindBeingToldTwice) {
  test::TempTree tree{{"a/"}};
  TreeWatch watch;
  watch.add(tree.path("a"));
  watch.add(tree.path("a"));

  tree.make_directory("a/b");

  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
}

TEST(TreeWatchTest, TakesManyChangesAtOnce) {
  test::TempTree tree{{"a/"}};
  TreeWatch watch;
  watch.add(tree.path("a"));

  for (int i = 0; i < 1000; ++i) tree.make_directory("a/" + std::to_string(i));

  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
}

TEST(TreeWatchTest, WatchesADirectoryThatWasMadeAnew) {
  test::TempTree tree{{"a/"}};
  TreeWatch watch;
  watch.add(tree.path("a"));
  tree.remove("a");
  EXPECT_TRUE(watch.changed());

  tree.make_directory("a");
  watch.add(tree.path("a"));
  EXPECT_FALSE(watch.changed());
  tree.make_directory("a/b");

  EXPECT_TRUE(watch.changed());
}

TEST(TreeWatchTest, DoesNotMindADirectoryThatHasJustGone) {
  const test::TempTree tree;
  TreeWatch watch;

  watch.add(tree.path("gone"));

  EXPECT_FALSE(watch.changed());
}

TEST(TreeWatchTest, SaysYesEveryTimeWhenSomethingCannotBeWatched) {
  const test::TempTree tree{{"file", ""}};
  TreeWatch watch;

  watch.add(tree.path("file"));

  EXPECT_TRUE(watch.changed());
  EXPECT_TRUE(watch.changed());
}

}  // namespace
}  // namespace pex::cgroup
