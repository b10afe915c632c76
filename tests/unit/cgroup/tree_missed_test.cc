#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cgroup/tree.h"
#include "watched_tree.h"

namespace pex::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

TEST_F(TreeTest, MissesOnceWhatCameAndWentBeforeItsUpdate) {
  Tree tree = watched(selection({"/*"}));

  host_.make("a");
  host_.remove("a");
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 1U);
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, MissesAsManyAsCameAndWentUnderOnePath) {
  host_.make("a");
  Tree tree = watched(selection({"/*"}));

  host_.remove("a");
  for (int i = 0; i < 3; ++i) {
    host_.make("a");
    host_.remove("a");
  }

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), IsEmpty());
  EXPECT_EQ(tree.take_missed(), 3U);
}

TEST_F(TreeTest, MissesOnceAndKnowsWhatCameWentAndCameAgain) {
  Tree tree = watched(selection({"/*"}));

  host_.make("a");
  host_.remove("a");
  host_.make("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/a", selected("a"))));
  EXPECT_EQ(tree.take_missed(), 1U);

  host_.remove("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), IsEmpty());
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, MissesNoneOfThoseThatAreOnlyEntered) {
  Tree tree = watched(selection({"/*/x"}));

  host_.make("a");
  host_.remove("a");
  host_.make("b");
  host_.remove("b");
  host_.make("b");
  must_update(tree);

  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/b", entered("b"))));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, MissesNoneThatIsNotSelected) {
  Tree tree = watched(selection({"/a*"}, {"/ab"}));

  for (const char* path : {"b", "ab", "ac"}) {
    host_.make(path);
    host_.remove(path);
  }
  must_update(tree);

  EXPECT_EQ(tree.take_missed(), 1U);  // "/ac"
}

TEST_F(TreeTest, DoesNotKnowOfWhatWasInsideOfOneThatWasAsShortLived) {
  Tree tree = watched(selection({"/**"}));

  host_.make("a/x");
  host_.remove("a");
  must_update(tree);

  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeTest, MissesWhatCameAndWentBeforeItWalksTheWholeTree) {
  Tree tree = watched(selection({"/*"}));

  host_.make("a");
  host_.remove("a");
  must_update(tree, kStart + kMinute);

  EXPECT_EQ(tree.take_missed(), 1U);
}

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
