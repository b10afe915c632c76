#include "records/target_tree.h"

#include <string_view>

#include "support/test_headers.h"

namespace pex::collect {
namespace {

using Target = TargetTree::Target;

/// Gives each target a number, the lowest that is free.
class NumberedTree : public TargetTree {
 public:
  Target open(std::string_view path) {
    Target target = kNone + 1;
    while (open_.contains(target)) ++target;
    open_.insert(target);
    TargetTree::open(target, path);
    return target;
  }
  void close(Target target) {
    open_.erase(target);
    TargetTree::close(target);
  }

 private:
  std::set<Target> open_;
};

TEST(TargetTreeTest, EverythingIsBelowTheRoot) {
  NumberedTree tree;
  const Target a = tree.open("/a");
  const Target root = tree.open("/");

  EXPECT_EQ(tree.nearest("/").target, root);
  EXPECT_EQ(tree.nearest("/b/c").target, root);
  EXPECT_EQ(tree.above(a), root);
  EXPECT_EQ(tree.above(root), TargetTree::kNone);
  EXPECT_TRUE(tree.is_at(root, "/"));
}

TEST(TargetTreeTest, AnAnswerIsOutdatedOnceAnotherTargetMayBeNearer) {
  NumberedTree tree;
  const Target a = tree.open("/a");
  (void)tree.open("/d");
  const TargetTree::Nearest of_a = tree.nearest("/a/b/c");
  const TargetTree::Nearest of_d = tree.nearest("/d/e");
  const TargetTree::Nearest of_none = tree.nearest("/f");

  const Target b = tree.open("/a/b");

  EXPECT_EQ(of_a.target, a);
  EXPECT_TRUE(tree.is_outdated(of_a));
  EXPECT_FALSE(tree.is_outdated(of_d));
  EXPECT_FALSE(tree.is_outdated(of_none));
  EXPECT_EQ(tree.nearest("/a/b/c").target, b);
}

TEST(TargetTreeTest, AnAnswerIsOutdatedOnceItsTargetIsClosed) {
  NumberedTree tree;
  const Target a = tree.open("/a");
  const Target b = tree.open("/a/b");
  const TargetTree::Nearest of_a = tree.nearest("/a");
  const TargetTree::Nearest of_b = tree.nearest("/a/b/c");

  tree.close(b);

  EXPECT_FALSE(tree.is_outdated(of_a));
  EXPECT_TRUE(tree.is_outdated(of_b));
  EXPECT_EQ(tree.nearest("/a/b/c").target, a);
}

TEST(TargetTreeTest, ThePathOfAClosedTargetIsNotReadAgain) {
  NumberedTree tree;
  std::vector<std::string> paths(3, "/a long path that has memory of its own");
  const std::string same = paths.front();
  const Target first = tree.open(paths[0]);
  const Target second = tree.open(paths[1]);
  const Target third = tree.open(paths[2]);

  tree.close(first);
  paths[0].assign(same.size(), '-');
  EXPECT_EQ(tree.nearest(same).target, third);
  tree.close(third);
  paths[2].assign(same.size(), '-');

  EXPECT_EQ(tree.nearest(same).target, second);
}

TEST(TargetTreeTest, ReusesNumbersAndOutdatesTheAnswersOfBefore) {
  NumberedTree tree;
  const Target before = tree.open("/a");
  const TargetTree::Nearest answer = tree.nearest("/a");
  tree.close(before);

  const Target after = tree.open("/b");

  EXPECT_EQ(after, before);
  EXPECT_TRUE(tree.is_outdated(answer));
}

TEST(TargetTreeTest, PathsOfAnyFormHaveAnAnswer) {
  NumberedTree tree;
  const Target root = tree.open("/");

  EXPECT_EQ(tree.nearest("//").target, root);
  EXPECT_EQ(tree.nearest("/a//b/").target, root);
  EXPECT_EQ(tree.nearest("").target, root);
  EXPECT_EQ(tree.nearest("a/b").target, TargetTree::kNone);
}

constexpr std::array kSomePaths = {"/", "/a", "/a/b", "/a/b/c", "/a/bc", "/a/b/c/d", "/ab", "/b/a"};

/// A target in a list, in the order of opening.
struct ListedTarget {
  Target target;
  std::string_view path;
};

bool is_at_or_above(std::string_view path, std::string_view other) {
  return path == "/" || path == other ||
         (other.starts_with(path) && other.substr(path.size()).starts_with('/'));
}

/// The deepest one at or above; of several at one path the last one.
Target nearest_in(const std::vector<ListedTarget>& open, std::string_view path) {
  ListedTarget found{TargetTree::kNone, ""};
  for (const ListedTarget& each : open) {
    if (is_at_or_above(each.path, path) && each.path.size() >= found.path.size()) found = each;
  }
  return found.target;
}

RC_GTEST_PROP(TargetTreeTest, AnswersAsAListDoesAndKeptAnswersAreRightOrOutdated, ()) {
  struct Kept {
    std::string_view path;
    TargetTree::Nearest answer;
  };
  NumberedTree tree;
  std::vector<ListedTarget> open;
  std::vector<Kept> kept;

  for (const int draw : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1 << 20))) {
    const std::string_view path = kSomePaths[static_cast<std::size_t>(draw) % kSomePaths.size()];
    const int step = draw >> 10 & 3;
    if (step <= 1) {
      open.push_back({tree.open(path), path});
    } else if (step == 2 && !open.empty()) {
      const auto which = open.begin() + (draw >> 12) % static_cast<int>(open.size());
      tree.close(which->target);
      open.erase(which);
    }
    for (const char* each : kSomePaths) {
      RC_ASSERT(tree.nearest(each).target == nearest_in(open, each));
      if (draw % 4 == 0) kept.push_back({each, tree.nearest(each)});
    }
    for (const Kept& each : kept) {
      RC_ASSERT(tree.is_outdated(each.answer) || each.answer.target == nearest_in(open, each.path));
    }
    for (std::size_t at = 0; at < open.size(); ++at) {
      std::vector<ListedTarget> others;
      for (std::size_t other = 0; other < open.size(); ++other) {
        if (other < at || (other > at && open[other].path != open[at].path)) {
          others.push_back(open[other]);
        }
      }
      RC_ASSERT(tree.above(open[at].target) == nearest_in(others, open[at].path));
    }
  }
}

/// Many paths, so that they meet in the table, and go in any order.
RC_GTEST_PROP(TargetTreeTest, EveryPathThatIsOpenIsFoundWhateverWasClosed, ()) {
  constexpr std::size_t kPaths = 300;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kPaths; ++i) paths.push_back("/" + std::to_string(i));
  NumberedTree tree;
  std::vector<Target> open(kPaths, TargetTree::kNone);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t i : *rc::gen::container<std::vector<std::size_t>>(
             kPaths, rc::gen::inRange<std::size_t>(0, kPaths))) {
      if (open[i] == TargetTree::kNone) {
        open[i] = tree.open(paths[i]);
      } else {
        tree.close(std::exchange(open[i], TargetTree::kNone));
      }
    }
    for (std::size_t i = 0; i < kPaths; ++i) RC_ASSERT(tree.nearest(paths[i]).target == open[i]);
  }
}

}  // namespace
}  // namespace pex::collect
