#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "cgroup/tree.h"
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

constexpr int kNoNamespace = 77;

bool write_to(const std::string& file, const std::string& text) {
  return static_cast<bool>(std::ofstream(file) << text << std::flush);
}

/// A limit of inotify that holds for this process alone (namespaces(7), user_namespaces(7)).
std::string own_limit(const std::string& name) { return host::HostRoots{}.sysctl("user/" + name); }

bool enter_namespace_with(const std::string& limit, const std::string& value) {
  const std::string own = std::to_string(::getuid());
  const std::string map = host::HostRoots{}.procfs + "/self/uid_map";
  return ::unshare(CLONE_NEWUSER) == 0 && write_to(map, "0 " + own + " 1") &&
         write_to(own_limit(limit), value);
}

/// Runs `body` in a process of its own, so that the other tests keep their limits.
int exit_code_where(const std::string& limit, const std::string& value,
                    const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter_namespace_with(limit, value)) std::_Exit(kNoNamespace);
    body();
    std::fflush(nullptr);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(TreeWithoutWatchesTest, WalksTheWholeTreeUntilAllCanBeWatched) {
  const int code = exit_code_where("max_inotify_watches", "2", [] {
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
    EXPECT_TRUE(write_to(own_limit("max_inotify_watches"), "99"));
    EXPECT_TRUE(must_update(tree));
    EXPECT_TRUE(tree.is_watched());
    host.make("b/y");
    EXPECT_TRUE(must_update(tree));
    EXPECT_EQ(tree.directories().count("/b/y"), 1U);
    EXPECT_EQ(tree.take_missed(), 0U);
  });

  if (code == kNoNamespace) GTEST_SKIP() << "no user namespace with limits of its own here";
  EXPECT_EQ(code, 0);
}

TEST(TreeWithoutWatchesTest, WalksTheWholeTreeUntilThereIsInotify) {
  const int code = exit_code_where("max_inotify_instances", "0", [] {
    CgroupTree host;
    host.make("a");
    Tree tree{host.root(), selection({"/*"})};
    must_update(tree);
    EXPECT_FALSE(tree.is_watched());
    EXPECT_EQ(tree.descriptor(), -1);

    host.make("b");
    EXPECT_TRUE(must_update(tree));
    EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b")));

    EXPECT_TRUE(write_to(own_limit("max_inotify_instances"), "9"));
    EXPECT_FALSE(must_update(tree));
    EXPECT_TRUE(tree.is_watched());
    EXPECT_GE(tree.descriptor(), 0);
    host.remove("b");
    EXPECT_TRUE(must_update(tree));
    EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));
  });

  if (code == kNoNamespace) GTEST_SKIP() << "no user namespace with limits of its own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace pex::cgroup::tree_without_watches_test
