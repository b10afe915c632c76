#include "cgroup/tree_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::cgroup::tree_watch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using Change = TreeWatch::Change;

const TreeWatch::Clock::time_point kStart{};

Change came(const char* path) { return {Change::Kind::kAppeared, path}; }
Change went(const char* path) { return {Change::Kind::kDisappeared, path}; }

class TreeWatchTest : public testing::Test {
 protected:
  void watch(const std::string& path) { watch_.add(tree_.path(path), path); }

  /// Those that are known.
  std::vector<Change> changes() {
    TreeWatch::Changes taken = watch_.take(kStart);
    EXPECT_FALSE(taken.are_unknown);
    for (Change& each : taken.each) each.watch = -1;  // any number
    return taken.each;
  }

  test::TempTree tree_{{"a/"}, {"file", ""}};
  TreeWatch watch_;
};

TEST_F(TreeWatchTest, SeesDirectoriesComeGoAndMoveInTheirOrder) {
  watch("/a");

  tree_.make_directory("a/b");
  EXPECT_THAT(changes(), ElementsAre(came("/a/b")));
  EXPECT_THAT(changes(), IsEmpty());
  tree_.rename("a/b", "a/c");
  EXPECT_THAT(changes(), ElementsAre(went("/a/b"), came("/a/c")));
  tree_.remove("a/c");
  tree_.make_directory("a/c");
  EXPECT_THAT(changes(), ElementsAre(went("/a/c"), came("/a/c")));
}

TEST_F(TreeWatchTest, TakesManyChangesAtOnce) {
  watch("/a");

  for (int i = 0; i < 1000; ++i) tree_.make_directory("a/" + std::to_string(i));

  EXPECT_THAT(changes(), SizeIs(1000));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(TreeWatchTest, ForgetsADirectoryThatWentAndWatchesTheOneCreatedAgain) {
  watch("/a");
  tree_.remove("a");
  tree_.make_directory("a");
  tree_.make_directory("a/b");
  EXPECT_THAT(changes(), IsEmpty());

  watch("/a");
  tree_.make_directory("a/c");

  EXPECT_THAT(changes(), ElementsAre(came("/a/c")));
}

TEST_F(TreeWatchTest, DoesNotMindADirectoryThatHasJustGone) {
  watch("/gone");

  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(TreeWatchTest, KnowsNoChangesUntilAllCouldBeWatched) {
  watch("/file");

  EXPECT_TRUE(watch_.take(kStart).are_unknown);
  EXPECT_TRUE(watch_.take(kStart).are_unknown);
  EXPECT_FALSE(watch_.is_complete());
  watch_.start_over();
  watch("/a");
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(TreeWatchTest, CountsEachDirectoryWithoutRoomOnceAndAsLongAsItIsThere) {
  for (const char* path : {"a/1", "a/2", "a/3", "b"}) tree_.make_directory(path);
  watch_ = TreeWatch{2};
  for (const char* path : {"/a/1", "/a/2", "/a/3"}) watch(path);
  EXPECT_EQ(watch_.unwatched(), 1U);

  watch("/b");  // one of /a gives way
  EXPECT_EQ(watch_.watched(), 2U);
  EXPECT_EQ(watch_.unwatched(), 2U);

  for (const char* path : {"/a/1", "/a/2", "/a/3", "/b"}) watch(path);
  EXPECT_EQ(watch_.unwatched(), 2U);

  watch_.disappeared("/a/3");
  EXPECT_EQ(watch_.unwatched(), 1U);
}

TEST_F(TreeWatchTest, ADirectoryThatHasGoneMakesRoomAtOnceAndReportsWhatItHadSeen) {
  for (const char* path : {"a/1", "a/2"}) tree_.make_directory(path);
  watch_ = TreeWatch{2};
  for (const char* path : {"/a", "/a/1"}) watch(path);
  tree_.make_directory("a/1/inner");
  tree_.remove("a/1");

  watch_.disappeared("/a/1");
  EXPECT_EQ(watch_.watched(), 1U);
  watch("/a/2");
  EXPECT_EQ(watch_.unwatched(), 0U);

  EXPECT_THAT(changes(), IsSupersetOf({came("/a/1/inner"), went("/a/1")}));
  EXPECT_EQ(watch_.watched(), 2U);
}

}  // namespace
}  // namespace pex::cgroup::tree_watch_test
