#include "cgroup/tree.h"

#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::UnorderedElementsAre;
using Directories = Tree::Directories;

TEST_F(TreeTest, ReportsAfterItsFirstWalkWhetherThereIsAnything) {
  Tree tree{host_.root(), selection({"/*"})};
  EXPECT_FALSE(must_update(tree));

  host_.make("a");
  Tree other{host_.root(), selection({"/*"})};
  EXPECT_TRUE(must_update(other));
}

/// "+a" makes it, with the parents that are missing, "-a" removes it, and "*a" is a file.
void act(const std::vector<std::string>& steps, CgroupTree& host) {
  for (const std::string& step : steps) {
    if (step.front() == '+') host.make(step.substr(1));
    if (step.front() == '-') host.remove(step.substr(1));
    if (step.front() == '*') host.write(step.substr(1));
  }
}

TEST(TreeChangesTest, KnowsWhatIsThereAndMissesEachSelectedOneThatCameAndWentInWhatItKnew) {
  const Selection all = selection({"/**"});
  struct Row {
    Selection selection;
    std::vector<std::string> before;
    std::vector<std::string> steps;
    std::vector<std::string> known;
    std::uint64_t missed = 0;
  };
  const Row rows[] = {
      {selection({"/a/*", "/c"}),
       {},
       {"+a/x/deep", "+a/y", "+b/x", "+c"},
       {"/a", "/a/x", "/a/y", "/c"}},
      {all, {"+a"}, {"+b", "-a"}, {"/b"}},
      {all, {}, {"+a/b/c", "+a/d"}, {"/a", "/a/b", "/a/b/c", "/a/d"}},
      {all, {"+a/b/c", "+a/d"}, {"-a"}, {}},
      {all, {"+a/x", "+a-", "+a.b", "+a0", "+aa"}, {"-a"}, {"/a-", "/a.b", "/a0", "/aa"}},
      {all, {"+a/x"}, {"-a", "+a"}, {"/a"}},
      {selection({"/a/*"}),
       {"+a/x", "+closed"},
       {"*a/file", "*a/x/file", "+b", "+closed/x", "+a/x/deep", "-b", "-a/x/deep"},
       {"/a", "/a/x"}},
      {all, {}, {"+a", "-a"}, {}, 1},
      {all, {"+a"}, {"-a", "+a", "-a", "+a", "-a", "+a", "-a"}, {}, 3},
      {all, {}, {"+a", "-a", "+a"}, {"/a"}, 1},
      {all, {}, {"+a/x", "-a"}, {}, 1},
      {selection({"/*/x"}), {}, {"+a", "-a", "+b", "-b", "+b"}, {"/b"}, 0},
      {selection({"/a*"}, {"/ab"}), {}, {"+b", "-b", "+ab", "-ab", "+ac", "-ac"}, {}, 1},
  };
  for (const Row& row : rows) {
    for (const auto later : {0s, 60s}) {  // by inotify alone, and by a walk
      SCOPED_TRACE(testing::PrintToString(row.steps) + " after " + std::to_string(later.count()));
      CgroupTree host;
      act(row.before, host);
      Tree tree{host.root(), row.selection};
      must_update(tree);
      EXPECT_TRUE(tree.is_watched());
      EXPECT_GE(tree.descriptor(), 0);
      const Directories before = tree.directories();

      act(row.steps, host);

      EXPECT_EQ(must_update(tree, kStart + later), tree.directories() != before);
      Directories known;
      for (const std::string& path : row.known) {
        known[path] = {host.inode(path), row.selection.matches(path)};
      }
      EXPECT_EQ(tree.directories(), known);
      EXPECT_EQ(tree.take_missed(), row.missed);
      EXPECT_FALSE(must_update(tree, kStart + later));
      EXPECT_EQ(tree.take_missed(), 0U);
    }
  }
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
