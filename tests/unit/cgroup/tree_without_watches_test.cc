#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cgroup/tree.h"
#include "support/inotify_limit.h"
#include "watched_tree.h"

namespace pex::cgroup::tree_without_watches_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Pair;

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
}  // namespace pex::cgroup::tree_without_watches_test
