#include "cgroup/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "watched_tree.h"

namespace pex::cgroup {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Directories = Tree::Directories;

TEST_F(TreeTest, FindsWhatIsSelectedAndWhatHasToBeEnteredForIt) {
  for (const char* path : {"a/x/deep", "a/y", "b/x", "c"}) host_.make(path);
  host_.write("a/file");

  Tree tree = watched(selection({"/a/*", "/c"}));

  EXPECT_THAT(tree.directories(),
              ElementsAre(Pair("/a", entered("a")), Pair("/a/x", selected("a/x")),
                          Pair("/a/y", selected("a/y")), Pair("/c", selected("c"))));
  EXPECT_TRUE(tree.is_watched());
  EXPECT_GE(tree.descriptor(), 0);
}

TEST_F(TreeTest, ReportsAfterItsFirstWalkWhetherThereIsAnything) {
  Tree tree{host_.root(), selection({"/*"})};
  EXPECT_FALSE(must_update(tree));

  host_.make("a");
  Tree other{host_.root(), selection({"/*"})};
  EXPECT_TRUE(must_update(other));
}

TEST_F(TreeTest, FollowsWhatComesAndGoes) {
  host_.make("a");
  Tree tree = watched(selection({"/**"}));

  host_.make("b");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b")));
  host_.remove("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/b")));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, NamesThePathsThatHaveChangedWithAllBelowThem) {
  host_.make("a");
  host_.make("c/d");
  Tree tree = watched(selection({"/**"}));
  EXPECT_THAT(tree.take_changed_paths(), UnorderedElementsAre("/a", "/c", "/c/d"));

  host_.make("b/e");
  host_.remove("c");
  must_update(tree);
  EXPECT_THAT(tree.take_changed_paths(), UnorderedElementsAre("/b", "/b/e", "/c", "/c/d"));
  must_update(tree, kStart + kMinute);  // walks the whole tree
  EXPECT_THAT(tree.take_changed_paths(), IsEmpty());
}

TEST_F(TreeTest, NamesThePathsThatAWalkFindsChanged) {
  host_.make("one/a");
  host_.make("one/b");
  host_.make("two/b");
  host_.make("two/c");
  fs::create_directory_symlink(host_.path("one"), host_.path("link"));
  Tree tree{host_.path("link"), selection({"/*"})};
  must_update(tree);
  (void)tree.take_changed_paths();

  fs::remove(host_.path("link"));
  fs::create_directory_symlink(host_.path("two"), host_.path("link"));
  must_update(tree, kStart + kMinute);

  EXPECT_THAT(tree.take_changed_paths(), UnorderedElementsAre("/a", "/b", "/c"));
}

TEST_F(TreeTest, FollowsNestedDirectoriesThatAreMadeAndRemovedAtOnce) {
  Tree tree = watched(selection({"/**"}));

  host_.make("a/b/c");
  host_.make("a/d");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/b"), Key("/a/b/c"), Key("/a/d")));
  host_.make("a/b/c/e");
  EXPECT_TRUE(must_update(tree));
  EXPECT_EQ(tree.directories().count("/a/b/c/e"), 1U);
  host_.remove("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), IsEmpty());
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, KeepsSiblingsOfWhatGoesWhateverTheirOrder) {
  for (const char* path : {"a/x", "a-", "a.b", "a0", "aa"}) host_.make(path);
  Tree tree = watched(selection({"/**"}));

  host_.remove("a");
  must_update(tree);

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a-"), Key("/a.b"), Key("/a0"), Key("/aa")));
}

TEST_F(TreeTest, TakesADirectoryCreatedAgainForAnotherAndWatchesIt) {
  host_.make("a/x");
  Tree tree = watched(selection({"/**"}));

  host_.remove("a");
  host_.make("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/a", selected("a"))));
  host_.make("a/y");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/y")));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, ReportsThatNothingHasChangedWhereNothingOfInterestHas) {
  host_.make("a/x");
  host_.make("closed");
  Tree tree = watched(selection({"/a/*"}));
  const Directories before = tree.directories();

  EXPECT_FALSE(must_update(tree));
  host_.write("a/file");
  host_.write("a/x/file");
  host_.make("b");
  host_.make("closed/x");
  host_.make("a/x/deep");
  EXPECT_FALSE(must_update(tree));
  host_.remove("b");
  host_.remove("a/x/deep");
  EXPECT_FALSE(must_update(tree));
  EXPECT_FALSE(must_update(tree, kStart + kMinute));  // walked the whole tree, and found the same
  EXPECT_EQ(tree.directories(), before);
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, WalksTheWholeTreeOnceAMinute) {
  host_.make("one/a");
  host_.make("two/b");
  fs::create_directory_symlink(host_.path("one"), host_.path("link"));
  Tree tree{host_.path("link"), selection({"/*"})};
  must_update(tree);

  fs::remove(host_.path("link"));  // nothing in a watched directory changes
  fs::create_directory_symlink(host_.path("two"), host_.path("link"));

  EXPECT_FALSE(must_update(tree, kStart + kMinute - 1s));
  EXPECT_TRUE(must_update(tree, kStart + kMinute));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/b")));
}

TEST_F(TreeTest, KeepsWhatItKnowsWhileTheRootCannotBeRead) {
  host_.make("cg/a");
  Tree tree{host_.path("cg"), selection({"/*"})};
  must_update(tree);

  host_.rename("cg", "away");
  host_.make("away/b");
  const Result<bool> failed = tree.update(kStart + kMinute);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ENOENT);
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));
  host_.rename("away", "cg");
  EXPECT_TRUE(must_update(tree, kStart + kMinute + 1s));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b")));
}

}  // namespace
}  // namespace pex::cgroup
