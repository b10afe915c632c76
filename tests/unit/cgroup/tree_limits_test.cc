#include "cgroup/tree.h"
#include "support/inotify_limit.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Pair;
using Directories = Tree::Directories;

class TreeLimitsTest : public TreeTest {
 protected:
  Tree limited(std::size_t directories, std::size_t watches = 1000) {
    Tree tree{host_.root(), selection({"/**"}), Tree::Limits{directories, watches}};
    must_update(tree);
    return tree;
  }
  void make(const std::string& directory, int children) {
    for (int i = 10; i < 10 + children; ++i) host_.make(directory + "/" + std::to_string(i));
  }
  static std::size_t known_below(const Tree& tree, const std::string& directory) {
    std::size_t known = 0;
    for (const auto& [path, each] : tree.directories()) {
      known += path.starts_with(directory + "/") ? 1 : 0;
    }
    return known;
  }
};

TEST_F(TreeLimitsTest, OfTheManyOfOneTenantAsManyAreKnownAsOthersLeave) {
  make("a", 30);
  make("b", 3);

  Tree tree = limited(20);

  EXPECT_EQ(known_below(tree, "/b"), 3U);
  EXPECT_EQ(known_below(tree, "/a"), 15U);
  EXPECT_EQ(tree.directories().size(), 20U);
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{15, 0, "/a", {}}));
}

TEST_F(TreeLimitsTest, OneThatIsCreatedWhileItsParentIsReadIsSkippedOnce) {
  Tree tree = limited(5);
  host_.make("a");
  on_watch = [&](const std::string& directory) {
    if (directory.ends_with("/a")) make("a", 3);
    if (directory.ends_with("/10")) make("a/10", 4);
  };
  must_update(tree);
  on_watch = nullptr;
  const Tree::Skipped skipped = tree.skipped();
  ASSERT_EQ(skipped.beyond_limit, 3U);

  must_update(tree);  // inotify has reported them as well
  EXPECT_EQ(tree.skipped(), skipped);

  host_.remove("a/10/13");
  host_.make("a/10/13");
  must_update(tree);
  EXPECT_EQ(tree.skipped(), skipped);
}

TEST_F(TreeLimitsTest, OneThatComesLaterIsKnownAndOneOfTheLargestTenantGivesWay) {
  make("a", 30);
  Tree tree = limited(20);
  ASSERT_EQ(known_below(tree, "/a"), 19U);
  (void)tree.take_changed_paths();

  host_.make("b/x");
  EXPECT_TRUE(must_update(tree));

  EXPECT_EQ(tree.directories().count("/b/x"), 1U);
  EXPECT_EQ(known_below(tree, "/a"), 17U);
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{13, 0, "/a", {}}));
  EXPECT_THAT(tree.take_changed_paths(), testing::SizeIs(4));
  host_.make("b/x/y");  // is followed
  EXPECT_TRUE(must_update(tree));
  EXPECT_EQ(tree.directories().count("/b/x/y"), 1U);
}

TEST_F(TreeLimitsTest, MoreOfOneTenantChangesNothingForAnother) {
  host_.make("b/x");
  make("a", 17);
  Tree tree = limited(20);
  const Directories before = tree.directories();

  make("a", 40);
  make("a/10", 40);

  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(known_below(tree, "/b"), 1U);
  EXPECT_EQ(tree.directories(), before);
  must_update(tree, kStart + kMinute);
  EXPECT_EQ(tree.directories(), before);
}

TEST_F(TreeLimitsTest, ThoseThatAreKnownStayKnownWhenTheWholeTreeIsWalked) {
  make("b", 10);
  Tree tree = limited(11);
  make("a", 30);
  must_update(tree);
  const Directories before = tree.directories();
  ASSERT_EQ(known_below(tree, "/a"), 4U);

  for (int minutes = 1; minutes < 4; ++minutes) {
    EXPECT_FALSE(must_update(tree, kStart + minutes * kMinute));
    EXPECT_EQ(tree.directories(), before);
  }
}

TEST_F(TreeLimitsTest, WhereThereIsRoomAgainTheNextWalkFindsTheOthers) {
  make("a", 5);
  Tree tree = limited(4);
  ASSERT_EQ(tree.skipped().beyond_limit, 2U);

  host_.remove("a/10");
  host_.remove("a/11");
  must_update(tree);
  must_update(tree, kStart + kMinute);

  EXPECT_EQ(tree.directories().size(), 4U);
  EXPECT_EQ(tree.skipped(), Tree::Skipped{});
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeLimitsTest, WhatComesAndGoesBeyondTheLimitLeavesNothingBehind) {
  make("a", 5);
  Tree tree = limited(4);
  for (int round = 0; round < 5; ++round) {
    host_.make("a/x/y");
    must_update(tree);
    EXPECT_EQ(tree.skipped(), (Tree::Skipped{3, 0, "/a", {}}));
    host_.remove("a/x");
    must_update(tree);
    EXPECT_EQ(tree.skipped(), (Tree::Skipped{2, 0, "/a", {}}));
  }
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeLimitsTest, WhatIsNotWatchedIsFoundWithinAMinute) {
  make("a", 30);
  host_.make("b/x");
  Tree tree = limited(1000, 10);
  EXPECT_EQ(tree.watched(), 10U);
  EXPECT_GT(tree.unwatched(), 0U);
  EXPECT_TRUE(tree.is_watched());
  EXPECT_EQ(tree.directories().size(), 33U);

  host_.make("b/x/y");  // watched, as its tenant has few
  EXPECT_TRUE(must_update(tree));
  for (int i = 10; i < 40; ++i) host_.make("a/" + std::to_string(i) + "/z");
  must_update(tree);
  EXPECT_LT(tree.directories().size(), 64U);
  must_update(tree, kStart + kMinute);

  EXPECT_EQ(tree.directories().size(), 64U);
  EXPECT_EQ(tree.watched(), 10U);
}

TEST_F(TreeLimitsTest, WhereNothingIsWatchedSoManyDirectoriesAreVisitedInASecond) {
  make("a", 99);
  Tree tree = limited(100);
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  // The first walk took all of what may be visited at once.
  overflow(most, host_);
  host_.make("b");

  must_update(tree, kStart);
  EXPECT_EQ(tree.directories().count("/b"), 0U);
  must_update(tree, kStart + 10ms);
  EXPECT_EQ(tree.directories().count("/b"), 1U);
}

// --- of inotify ---------------------------------------------------------------------------------

TEST_F(TreeTest, WalksTheWholeTreeWhenChangesWereLost) {
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  for (const char* path : {"gone", "anew/x", "stays"}) host_.make(path);
  Tree tree = watched(selection({"/**"}));

  overflow(most, host_);
  host_.remove("gone");
  host_.remove("anew");
  host_.make("anew");
  host_.make("new/y");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(),
              ElementsAre(Pair("/anew", selected("anew")), Pair("/new", selected("new")),
                          Pair("/new/y", selected("new/y")), Key("/stays")));
  EXPECT_TRUE(tree.is_watched());
  EXPECT_TRUE(tree.take_overflow());
  EXPECT_FALSE(tree.take_overflow());
  host_.make("anew/z");
  EXPECT_TRUE(must_update(tree));
  EXPECT_EQ(tree.directories().count("/anew/z"), 1U);
}

TEST_F(TreeTest, DoesNotWaitForTheReportOfARemovalThatWasLost) {
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  host_.make("a");
  Tree tree = watched(selection({"/*"}));
  overflow(most, host_);
  host_.remove("a");
  tree.forget("/a");
  must_update(tree);
  ASSERT_EQ(tree.take_missed(), 1U);

  host_.make("a");
  host_.remove("a");
  must_update(tree);

  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST(TreeWithoutWatchesTest, WalksTheWholeTreeUntilAllCanBeWatched) {
  const int code = test::exit_code_where("max_inotify_watches", "2", [] {
    CgroupTree host;
    host.make("a/x");
    host.make("b/x");
    Tree tree{host.root(), selection({"/*/*"})};
    must_update(tree);
    EXPECT_FALSE(tree.is_watched());

    host.make("a/y");
    host.make("b/y");  // one of the two is not watched
    EXPECT_TRUE(must_update(tree));
    EXPECT_EQ(tree.directories().count("/a/y") + tree.directories().count("/b/y"), 2U);
    host.remove("b");
    EXPECT_TRUE(must_update(tree));
    EXPECT_EQ(tree.directories().count("/b/y"), 0U);
    EXPECT_FALSE(must_update(tree));

    host.make("b/z");
    EXPECT_TRUE(test::write_to(test::own_limit("max_inotify_watches"), "99"));
    EXPECT_TRUE(must_update(tree));
    EXPECT_TRUE(tree.is_watched());
    host.make("b/y");
    EXPECT_TRUE(must_update(tree));
    EXPECT_EQ(tree.directories().count("/b/y"), 1U);
    EXPECT_EQ(tree.take_missed(), 0U);
  });

  if (code == test::kNoNamespace) GTEST_SKIP() << "no user namespace with limits of its own here";
  EXPECT_EQ(code, 0);
}

TEST(TreeWithoutWatchesTest, WalksTheWholeTreeUntilThereIsInotify) {
  const int code = test::exit_code_where("max_inotify_instances", "0", [] {
    CgroupTree host;
    host.make("a");
    Tree tree{host.root(), selection({"/*"})};
    must_update(tree);
    EXPECT_FALSE(tree.is_watched());
    EXPECT_EQ(tree.descriptor(), -1);

    host.make("b");
    EXPECT_TRUE(must_update(tree));
    EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b")));

    EXPECT_TRUE(test::write_to(test::own_limit("max_inotify_instances"), "9"));
    EXPECT_FALSE(must_update(tree));
    EXPECT_TRUE(tree.is_watched());
    EXPECT_GE(tree.descriptor(), 0);
    host.remove("b");
    EXPECT_TRUE(must_update(tree));
    EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));
  });

  if (code == test::kNoNamespace) GTEST_SKIP() << "no user namespace with limits of its own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace pex::cgroup
