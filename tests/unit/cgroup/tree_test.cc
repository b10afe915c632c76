#include "cgroup/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "host/roots.h"
#include "support/temp_tree.h"

namespace {

/// What happens as soon as a directory is watched, and so before it is listed.
std::function<void(const std::string& directory)> on_watch;

}  // namespace

/// Stands before the one of the C library. A Tree watches each directory before it lists it; what
/// others do in between can be had in no other way.
extern "C" int inotify_add_watch(int inotify, const char* directory, std::uint32_t mask) noexcept {
  const long watch = ::syscall(SYS_inotify_add_watch, inotify, directory, mask);
  const int code = errno;
  if (on_watch) on_watch(directory);
  errno = code;
  return static_cast<int>(watch);
}

namespace pex::cgroup {

/// For GoogleTest, which finds it beside the class only.
static void PrintTo(const Tree::Directory& directory, std::ostream* out) {
  *out << (directory.is_selected ? "selected " : "entered ") << directory.inode;
}

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Directories = Tree::Directories;

const Tree::Clock::time_point kStart{1h};
constexpr auto kMinute = 60s;

Selection selection(std::initializer_list<const char*> include,
                    std::initializer_list<const char*> exclude = {}) {
  Selection wanted;
  for (const char* pattern : include) wanted.include.push_back(*Pattern::parse(pattern));
  for (const char* pattern : exclude) wanted.exclude.push_back(*Pattern::parse(pattern));
  return wanted;
}

std::uint64_t inode_at(const std::string& directory) {
  struct stat status {};
  return ::lstat(directory.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// As long as it lives, temporary files are made in memory, where there is room: thousands of
/// directories take seconds on some disks.
class InMemory {
 public:
  InMemory() {
    if (const char* usual = std::getenv("TMPDIR")) usual_ = usual;
    if (::access(kMemory, W_OK) == 0) ::setenv("TMPDIR", kMemory, 1);
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  ~InMemory() { usual_ ? ::setenv("TMPDIR", usual_->c_str(), 1) : ::unsetenv("TMPDIR"); }

 private:
  static constexpr const char* kMemory = "/dev/shm";
  std::optional<std::string> usual_;
};

/// Like that of cgroups it does not use an inode number again, as most file systems do at once:
/// what is removed is kept open.
class CgroupTree {
 public:
  const std::string& root() const { return tree_.root(); }
  std::string path(std::string_view below) const { return tree_.path(below); }
  std::uint64_t inode(std::string_view below) const { return inode_at(path(below)); }
  bool has(std::string_view below) const { return inode(below) != 0; }

  void make(std::string_view directory) { tree_.make_directory(directory); }
  void write(std::string_view file) { tree_.write(file, ""); }
  void rename(std::string_view from, std::string_view to) { tree_.rename(from, to); }
  void remove(const std::string& directory) {
    bury(path(directory));
    for (const auto& below : fs::recursive_directory_iterator(path(directory))) {
      if (below.is_directory()) bury(below.path().string());
    }
    tree_.remove(directory);
  }

  /// From now on they may be used again: nobody remembers them.
  void let_inodes_go() { removed_.clear(); }

 private:
  static test::TempTree in_memory() {
    const InMemory here;
    return {};
  }
  void bury(const std::string& directory) {
    removed_.emplace_back(::open(directory.c_str(), O_PATH | O_CLOEXEC));
  }

  test::TempTree tree_ = in_memory();
  std::vector<UniqueFd> removed_;
};

bool must_update(Tree& tree, Tree::Clock::time_point now = kStart) {
  const Result<bool> changed = tree.update(now);
  EXPECT_TRUE(changed) << describe(changed.error());
  return changed && *changed;
}

class TreeTest : public testing::Test {
 protected:
  /// Has looked at what is there so far.
  Tree looked(Selection selection) {
    Tree tree{host_.root(), std::move(selection)};
    must_update(tree);
    return tree;
  }

  Tree::Directory selected(std::string_view path) const { return {host_.inode(path), true}; }
  Tree::Directory entered(std::string_view path) const { return {host_.inode(path), false}; }

  CgroupTree host_;
};

// --- what is known -------------------------------------------------------------------------------

TEST_F(TreeTest, FindsWhatIsSelectedAndWhatHasToBeEnteredForIt) {
  for (const char* path : {"a/x/deep", "a/y", "b/x", "c"}) host_.make(path);
  host_.write("a/file");

  Tree tree = looked(selection({"/a/*", "/c"}));

  EXPECT_THAT(tree.directories(),
              ElementsAre(Pair("/a", entered("a")), Pair("/a/x", selected("a/x")),
                          Pair("/a/y", selected("a/y")), Pair("/c", selected("c"))));
  EXPECT_TRUE(tree.is_watched());
  EXPECT_GE(tree.descriptor(), 0);
}

TEST_F(TreeTest, SaysAtItsFirstLookWhetherThereIsAnything) {
  Tree tree{host_.root(), selection({"/*"})};
  EXPECT_FALSE(must_update(tree));

  host_.make("a");
  Tree other{host_.root(), selection({"/*"})};
  EXPECT_TRUE(must_update(other));
}

TEST_F(TreeTest, FollowsWhatComesAndGoes) {
  host_.make("a");
  Tree tree = looked(selection({"/**"}));

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
  Tree tree = looked(selection({"/**"}));
  EXPECT_THAT(tree.take_changed_paths(), UnorderedElementsAre("/a", "/c", "/c/d"));

  host_.make("b/e");
  host_.remove("c");
  must_update(tree);
  EXPECT_THAT(tree.take_changed_paths(), UnorderedElementsAre("/b", "/b/e", "/c", "/c/d"));
  must_update(tree, kStart + kMinute);  // looks at everything
  EXPECT_THAT(tree.take_changed_paths(), IsEmpty());
}

TEST_F(TreeTest, NamesThePathsThatALookAtEverythingFindsChanged) {
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
  Tree tree = looked(selection({"/**"}));

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
  Tree tree = looked(selection({"/**"}));

  host_.remove("a");
  must_update(tree);

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a-"), Key("/a.b"), Key("/a0"), Key("/aa")));
}

TEST_F(TreeTest, TakesADirectoryMadeAnewForAnotherAndWatchesIt) {
  host_.make("a/x");
  Tree tree = looked(selection({"/**"}));

  host_.remove("a");
  host_.make("a");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/a", selected("a"))));
  host_.make("a/y");
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/y")));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, SaysThatNothingHasChangedWhereNothingOfInterestHas) {
  host_.make("a/x");
  host_.make("closed");
  Tree tree = looked(selection({"/a/*"}));
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
  EXPECT_FALSE(must_update(tree, kStart + kMinute));  // looked at everything, and found the same
  EXPECT_EQ(tree.directories(), before);
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, LooksAtEverythingOnceAMinute) {
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

// --- what is missed ------------------------------------------------------------------------------

TEST_F(TreeTest, MissesOnceWhatCameAndWentBeforeItLooked) {
  Tree tree = looked(selection({"/*"}));

  host_.make("a");
  host_.remove("a");
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 1U);
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, MissesAsManyAsCameAndWentUnderOnePath) {
  host_.make("a");
  Tree tree = looked(selection({"/*"}));

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
  Tree tree = looked(selection({"/*"}));

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
  Tree tree = looked(selection({"/*/x"}));

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
  Tree tree = looked(selection({"/a*"}, {"/ab"}));

  for (const char* path : {"b", "ab", "ac"}) {
    host_.make(path);
    host_.remove(path);
  }
  must_update(tree);

  EXPECT_EQ(tree.take_missed(), 1U);  // "/ac"
}

TEST_F(TreeTest, DoesNotKnowOfWhatWasInsideOfOneThatWasAsShortLived) {
  Tree tree = looked(selection({"/**"}));

  host_.make("a/x");
  host_.remove("a");
  must_update(tree);

  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeTest, MissesWhatCameAndWentBeforeItLooksAtEverything) {
  Tree tree = looked(selection({"/*"}));

  host_.make("a");
  host_.remove("a");
  must_update(tree, kStart + kMinute);

  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeTest, MissesOnceWhatItWasToForget) {
  host_.make("a/x");
  host_.make("b");
  Tree tree = looked(selection({"/**"}));

  host_.remove("a");
  tree.forget("/a");

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/b")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeTest, IsToldOnceThatWhatItWasToForgetIsGone) {
  host_.make("a");
  Tree tree = looked(selection({"/*"}));

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

TEST_F(TreeTest, KnowsWhatIsMadeAnewAfterItWasToForget) {
  host_.make("a");
  Tree tree = looked(selection({"/*"}));

  host_.remove("a");
  tree.forget("/a");
  host_.make("a");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Pair("/a", selected("a"))));
  EXPECT_EQ(tree.take_missed(), 1U);
}

// --- what happens while it looks -----------------------------------------------------------------

/// "/a" comes, and something happens in it after it is watched and before it is listed.
class TreeLooksTest : public TreeTest {
 protected:
  Tree look_at_a_while(const std::function<void()>& it_happens) {
    Tree tree = looked(selection({"/a/*"}));
    host_.make("a/before");
    on_watch = [&](const std::string& directory) {
      if (directory == host_.path("a")) it_happens();
    };
    must_update(tree);
    on_watch = nullptr;
    return tree;
  }
};

TEST_F(TreeLooksTest, KnowsOnceWhatIsMadeMeanwhile) {
  Tree tree = look_at_a_while([&] { host_.make("a/x"); });
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before"), Key("/a/x")));

  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeLooksTest, MissesWhatIsRemovedMeanwhile) {
  Tree tree = look_at_a_while([&] { host_.remove("a/before"); });
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));

  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeLooksTest, MissesWhatIsMadeAndRemovedMeanwhile) {
  Tree tree = look_at_a_while([&] {
    host_.make("a/x");
    host_.remove("a/x");
  });

  EXPECT_FALSE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeLooksTest, MissesTheFirstOfWhatIsMadeAnewMeanwhile) {
  Tree tree = look_at_a_while([&] {
    host_.remove("a/before");
    host_.make("a/before");
  });

  EXPECT_FALSE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Pair("/a/before", selected("a/before"))));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeLooksTest, KnowsThatWhatWasMadeMeanwhileIsGone) {
  Tree tree = look_at_a_while([&] { host_.make("a/x"); });
  ASSERT_EQ(tree.directories().count("/a/x"), 1U);

  host_.remove("a/x");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 0U);  // it was found, and could be held
}

TEST_F(TreeLooksTest, KnowsTheLastOfWhatWasMadeMeanwhileAndAnewThereafter) {
  Tree tree = look_at_a_while([&] { host_.make("a/x"); });

  host_.remove("a/x");
  host_.make("a/x");

  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(),
              ElementsAre(Key("/a"), Key("/a/before"), Pair("/a/x", selected("a/x"))));
}

TEST_F(TreeLooksTest, MissesOnceWhatWasMadeMeanwhileAndIsToBeForgotten) {
  Tree tree = look_at_a_while([&] { host_.make("a/x"); });

  host_.remove("a/x");
  tree.forget("/a/x");
  must_update(tree);

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/a/before")));
  EXPECT_EQ(tree.take_missed(), 1U);
}

TEST_F(TreeLooksTest, DoesNotMindThatTheDirectoryItselfIsRemoved) {
  Tree tree = look_at_a_while([&] { host_.remove("a"); });

  must_update(tree);
  EXPECT_THAT(tree.directories(), IsEmpty());
}

TEST_F(TreeTest, FollowsAgainWhatItMissedWhileItWasGoingToLookAtEverything) {
  host_.make("a/b");
  Tree tree = looked(selection({"/**"}));
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

// --- what inotify cannot tell --------------------------------------------------------------------

int most_queued() {
  int most = 0;
  std::ifstream(host::HostRoots{}.sysctl("fs/inotify/max_queued_events")) >> most;
  EXPECT_GT(most, 0);
  return most;
}

/// What happens from now on is not told. Files are quicker than directories.
void overflow(int most, CgroupTree& host) {
  host.write("file");
  for (int changes = 0; changes <= most; changes += 4) {
    host.rename("file", "other");
    host.rename("other", "file");
  }
}

TEST_F(TreeTest, LooksAtEverythingWhenChangesWereLost) {
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  for (const char* path : {"gone", "anew/x", "stays"}) host_.make(path);
  Tree tree = looked(selection({"/**"}));

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

TEST_F(TreeTest, DoesNotWaitToBeToldOfARemovalThatWasLost) {
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  host_.make("a");
  Tree tree = looked(selection({"/*"}));
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

TEST(TreeWithoutWatchesTest, LooksAtEverythingUntilAllCanBeWatched) {
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

TEST(TreeWithoutWatchesTest, LooksAtEverythingUntilThereIsInotify) {
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

// --- what cannot be read -------------------------------------------------------------------------

/// As long as it lives, this process may not read what has mode 0; only root may.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    if (is_root_) become(65534);
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() {
    if (is_root_) become(0);
  }

 private:
  static void become(uid_t user) { EXPECT_EQ(::seteuid(user), 0); }

  const bool is_root_ = ::geteuid() == 0;
};

class UnreadableTest : public TreeTest {
 protected:
  UnreadableTest() {
    ::chmod(host_.root().c_str(), 0755);
    host_.make("open/x");
    host_.make("closed/x");
    close("closed");
  }
  ~UnreadableTest() override { open("closed"); }

  void close(std::string_view path) { ::chmod(host_.path(path).c_str(), 0); }
  void open(std::string_view path) { ::chmod(host_.path(path).c_str(), 0755); }

  bool update_as_ordinary_user(Tree& tree, Tree::Clock::time_point now = kStart) {
    const OrdinaryUser user;
    return must_update(tree, now);
  }

  Tree tree_{host_.root(), selection({"/**"})};
};

TEST_F(UnreadableTest, CostsWhatIsBelowIt) {
  update_as_ordinary_user(tree_);

  EXPECT_THAT(tree_.directories(), ElementsAre(Key("/closed"), Key("/open"), Key("/open/x")));
  ASSERT_THAT(tree_.unreadable(), ElementsAre(Key("/closed")));
  EXPECT_EQ(tree_.unreadable().at("/closed").code, EACCES);
  EXPECT_EQ(tree_.unreadable().at("/closed").attempted,
            "read cgroup directory '" + host_.path("closed") + "'");
}

TEST_F(UnreadableTest, IsToldOfWhenItComesLater) {
  update_as_ordinary_user(tree_);

  host_.make("open/late/x");
  close("open/late");
  EXPECT_TRUE(update_as_ordinary_user(tree_));
  open("open/late");

  EXPECT_THAT(tree_.unreadable(), ElementsAre(Key("/closed"), Key("/open/late")));
  EXPECT_EQ(tree_.directories().count("/open/late"), 1U);
  EXPECT_EQ(tree_.directories().count("/open/late/x"), 0U);
}

TEST_F(UnreadableTest, IsForgottenWhenItGoes) {
  update_as_ordinary_user(tree_);

  open("closed");
  host_.remove("closed");
  EXPECT_TRUE(update_as_ordinary_user(tree_));

  EXPECT_THAT(tree_.unreadable(), IsEmpty());
  EXPECT_THAT(tree_.directories(), ElementsAre(Key("/open"), Key("/open/x")));
}

TEST_F(UnreadableTest, IsForgottenWhenItGoesWithWhatItIsIn) {
  host_.make("open/deep/closed");
  close("open/deep/closed");
  update_as_ordinary_user(tree_);
  ASSERT_EQ(tree_.unreadable().size(), 2U);

  open("open/deep/closed");
  host_.remove("open/deep");
  EXPECT_TRUE(update_as_ordinary_user(tree_));

  EXPECT_THAT(tree_.unreadable(), ElementsAre(Key("/closed")));
}

TEST_F(UnreadableTest, IsReadWhenItMayBeAMinuteLater) {
  update_as_ordinary_user(tree_);

  open("closed");
  EXPECT_TRUE(update_as_ordinary_user(tree_, kStart + kMinute));

  EXPECT_THAT(tree_.unreadable(), IsEmpty());
  EXPECT_EQ(tree_.directories().count("/closed/x"), 1U);
}

/// Only a limit of inotify makes it unwatched: to raise one would not help here.
TEST_F(UnreadableTest, DoesNotMakeTheOthersUnwatched) {
  update_as_ordinary_user(tree_);

  EXPECT_TRUE(tree_.is_watched());
}

TEST_F(TreeTest, MakesUpLaterForWhatItCouldNotReadForWantOfDescriptors) {
  host_.make("a");
  Tree tree = looked(selection({"/**"}));
  host_.make("b/x");
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);

  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<bool> failed = tree.update(kStart);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, EMFILE);
  EXPECT_EQ(tree.directories().count("/a"), 1U);
  EXPECT_TRUE(must_update(tree));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a"), Key("/b"), Key("/b/x")));
}

/// Makes directories inside of each other until their path is too long for any system call.
void make_too_deep(const std::string& top) {
  const std::string name(250, 'd');
  UniqueFd in{::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int depth = 0; depth < 20; ++depth) {
    ASSERT_EQ(::mkdirat(in.get(), name.c_str(), 0755), 0);
    in.reset(::openat(in.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(in);
  }
}

TEST_F(TreeTest, APathThatIsTooLongCostsWhatIsBelowIt) {
  host_.make("a/x");
  host_.make("deep");
  make_too_deep(host_.path("deep"));

  Tree tree = looked(selection({"/**"}));

  EXPECT_EQ(tree.directories().count("/a/x"), 1U);
  EXPECT_EQ(tree.skipped().path_too_long, 1U);
  EXPECT_THAT(tree.unreadable(), IsEmpty());
  EXPECT_TRUE(tree.is_watched());
}

TEST_F(TreeTest, APathOfExactlyTheLengthAllowedIsKnownAndOneByteMoreIsSkippedAndCounted) {
  const std::string above(200, 'd');
  std::string path;
  while (path.size() + 2 * above.size() < Tree::kMaxPathBytes) path += "/" + above;
  host_.make(path);
  const std::size_t left = Tree::kMaxPathBytes - path.size() - 1;
  host_.make(path + "/" + std::string(left, 'x'));
  Tree tree = looked(selection({"/**"}));
  EXPECT_EQ(tree.directories().count(path + "/" + std::string(left, 'x')), 1U);
  EXPECT_EQ(tree.skipped(), Tree::Skipped{});

  host_.make(path + "/" + std::string(left + 1, 'y') + "/below");
  EXPECT_FALSE(must_update(tree));
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{0, 1, {}, path}));
  must_update(tree, kStart + kMinute);  // looks at everything
  EXPECT_EQ(tree.skipped(), (Tree::Skipped{0, 1, {}, path}));

  host_.remove(path + "/" + std::string(left + 1, 'y'));
  EXPECT_FALSE(must_update(tree, kStart + kMinute));
  EXPECT_EQ(tree.skipped().path_too_long, 0U);
  EXPECT_EQ(tree.take_missed(), 0U);
}

TEST_F(TreeTest, APathIsAsLongAsItIsPublished) {
  const std::string no_utf8(130, '\xff');  // five bytes each
  host_.make(no_utf8 + "/" + no_utf8);

  Tree tree = looked(selection({"/**"}));

  EXPECT_THAT(tree.directories(), ElementsAre(Key("/" + no_utf8)));
  EXPECT_EQ(tree.skipped().path_too_long, 1U);
}

TEST_F(TreeTest, WhatIsMountedOverTheTreeIsNotTakenForIt) {
  const test::TempTree other{{"b/"}};
  host_.make("cg/a");
  fs::create_directory_symlink(host_.path("cg"), host_.path("link"));
  Tree tree{host_.path("link"), selection({"/*"})};
  must_update(tree);
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat(host_.path("cg").c_str(), &here), 0);
  ASSERT_EQ(::stat(other.root().c_str(), &there), 0);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "temporary files and /dev/shm are one device";

  fs::remove(host_.path("link"));
  fs::create_directory_symlink(other.root(), host_.path("link"));
  const Result<bool> over = tree.update(kStart + kMinute);

  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().attempted, "not looking for new cgroups in '" + host_.path("link") +
                                        "': another file system is mounted there now");
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));

  fs::remove(host_.path("link"));
  fs::create_directory_symlink(host_.path("cg"), host_.path("link"));
  EXPECT_FALSE(must_update(tree, kStart + kMinute));
  EXPECT_THAT(tree.directories(), ElementsAre(Key("/a")));
}

// --- what is beyond the limits -------------------------------------------------------------------

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

TEST_F(TreeLimitsTest, ThoseThatAreKnownStayKnownWhenEverythingIsLookedAt) {
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

TEST_F(TreeLimitsTest, WhereThereIsRoomAgainTheNextLookAtEverythingFindsTheOthers) {
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

TEST_F(TreeLimitsTest, WhereNothingIsWatchedSoManyDirectoriesAreLookedAtInASecond) {
  make("a", 99);
  Tree tree = limited(100);
  const int most = most_queued();
  if (most > 200'000) GTEST_SKIP() << "inotify queues " << most << " changes, too many to overflow";
  // The first look took all of what may be looked at at once.
  overflow(most, host_);
  host_.make("b");

  must_update(tree, kStart);
  EXPECT_EQ(tree.directories().count("/b"), 0U);
  must_update(tree, kStart + 10ms);
  EXPECT_EQ(tree.directories().count("/b"), 1U);
}

// --- whatever happens ----------------------------------------------------------------------------

/// What a Tree should know, from the file system and the selection alone.
Directories all_there_is(const CgroupTree& host, const Selection& selection,
                         const std::string& path = "") {
  Directories all;
  for (const auto& entry : fs::directory_iterator(host.path(path))) {
    if (!entry.is_directory()) continue;
    const std::string child = path + "/" + entry.path().filename().string();
    const bool is_selected = selection.matches(child);
    const bool is_entered = selection.may_match_below(child);
    if (is_selected || is_entered) all[child] = {host.inode(child), is_selected};
    if (is_entered) all.merge(all_there_is(host, selection, child));
  }
  return all;
}

Directories found_by_another(const CgroupTree& host, const Selection& selection) {
  Tree fresh{host.root(), selection};
  must_update(fresh);
  return fresh.directories();
}

/// Few names, so that paths are used again, and such that sort close to what is below the first.
constexpr const char* kNames[] = {"a", "a-", "a0"};

Selection any_selection() {
  const std::vector<Selection> some = {
      selection({"/**"}),
      selection({"/*/*"}),
      selection({"/a/**", "/*/a0"}),
      selection({"/**"}, {"/a/**"}),
      selection({"/**"}, {"/a", "/*/a-"}),
      selection({"re:/(a|a0)/.*"}),
      selection({"/a-/a/*", "/a0"}),
  };
  return some[*rc::gen::inRange<std::size_t>(0, some.size())];
}

struct Step {
  enum class Kind { kMake, kRemove, kMakeAnew, kWriteFile };
  Kind kind = Kind::kMake;
  std::string path;
};
using Steps = std::vector<Step>;

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kKinds[] = {"make", "remove", "make anew", "write a file in"};
  return out << kKinds[static_cast<int>(step.kind)] << ' ' << step.path;
}

/// Makes the parents that are missing; removes and makes anew only what is there.
void act(const Step& step, CgroupTree& host) {
  const bool is_there = host.has(step.path);
  if (step.kind == Step::Kind::kMake) host.make(step.path);
  if (step.kind == Step::Kind::kRemove && is_there) host.remove(step.path);
  if (step.kind == Step::Kind::kMakeAnew && is_there) {
    host.remove(step.path);
    host.make(step.path);
  }
  if (step.kind == Step::Kind::kWriteFile && is_there) host.write(step.path + "/file");
}

/// What happens before the tree is looked at, and while it is.
struct Round {
  Steps before;
  Steps meanwhile;
  bool is_much_later = false;
};

std::ostream& operator<<(std::ostream& out, const Round& round) {
  for (const Step& step : round.before) out << step << "; ";
  out << (round.is_much_later ? "look everywhere; " : "look; ");
  for (const Step& step : round.meanwhile) out << step << "; ";
  return out;
}

std::string join(const std::vector<std::string>& components) {
  std::string path;
  for (const std::string& each : components) path += "/" + each;
  return path;
}

rc::Gen<std::string> any_path() {
  const auto name =
      rc::gen::elementOf(std::vector<std::string>(std::begin(kNames), std::end(kNames)));
  const auto components = rc::gen::container<std::vector<std::string>>(name);
  return rc::gen::map(rc::gen::resize(3, rc::gen::nonEmpty(components)), join);
}

rc::Gen<Steps> some_steps(int most) {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>(
      {{6, Kind::kMake}, {3, Kind::kRemove}, {2, Kind::kMakeAnew}, {1, Kind::kWriteFile}});
  const auto step =
      rc::gen::build<Step>(rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::path, any_path()));
  return rc::gen::resize(most, rc::gen::container<Steps>(step));
}

rc::Gen<std::vector<Round>> any_rounds() {
  const auto round = rc::gen::build<Round>(
      rc::gen::set(&Round::before, some_steps(6)), rc::gen::set(&Round::meanwhile, some_steps(6)),
      rc::gen::set(&Round::is_much_later, rc::gen::weightedElement<bool>({{5, false}, {1, true}})));
  return rc::gen::container<std::vector<Round>>(round);
}

RC_GTEST_PROP(TreeStressTest, KnowsAfterAnyChangesWhatAnotherFindsThereForTheFirstTime, ()) {
  const Selection wanted = any_selection();
  CgroupTree host;
  Tree tree{host.root(), wanted};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    for (const Step& step : round.before) act(step, host);
    if (round.is_much_later) now += kMinute;
    const Directories before = tree.directories();
    const bool changed = must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.directories() == all_there_is(host, wanted));
    RC_ASSERT(changed == (tree.directories() != before));
  }
  RC_ASSERT(tree.directories() == found_by_another(host, wanted));
  RC_ASSERT(tree.unreadable().empty());
}

RC_GTEST_PROP(TreeStressTest, KnowsSoonWhatIsThereWhateverHappensWhileItLooks, ()) {
  const Selection wanted = any_selection();
  CgroupTree host;
  Tree tree{host.root(), wanted};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    for (const Step& step : round.before) act(step, host);
    if (round.is_much_later) now += kMinute;
    auto next = round.meanwhile.begin();
    on_watch = [&](const std::string&) {
      if (next != round.meanwhile.end()) act(*next++, host);
    };
    must_update(tree, now);
    on_watch = nullptr;
    while (next != round.meanwhile.end()) act(*next++, host);
    must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.directories() == all_there_is(host, wanted));
  }
}

bool knows(const Tree& tree, const CgroupTree& host, const std::string& path) {
  const auto known = tree.directories().find(path);
  return known != tree.directories().end() && known->second.inode == host.inode(path);
}

/// How many it has to miss when `top` is removed now: those that are not known, in a directory that
/// is, and so is watched.
std::uint64_t to_be_missed(const Tree& tree, const CgroupTree& host, const std::string& top) {
  std::vector<std::string> going{top};
  for (const auto& entry : fs::recursive_directory_iterator(host.path(top))) {
    if (entry.is_directory()) going.push_back(entry.path().string().substr(host.root().size()));
  }
  return static_cast<std::uint64_t>(
      std::count_if(going.begin(), going.end(), [&](const std::string& path) {
        const std::string parent = path.substr(0, path.rfind('/'));
        return tree.selection().matches(path) && !knows(tree, host, path) &&
               (parent.empty() || knows(tree, host, parent));
      }));
}

RC_GTEST_PROP(TreeStressTest, MissesEachThatCameAndWentInADirectoryThatItKnew, ()) {
  CgroupTree host;
  Tree tree{host.root(), any_selection()};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    std::uint64_t expected = 0;
    for (const Step& step : round.before) {
      const bool removes = step.kind == Step::Kind::kRemove || step.kind == Step::Kind::kMakeAnew;
      if (removes && host.has(step.path)) expected += to_be_missed(tree, host, step.path);
      act(step, host);
    }
    if (round.is_much_later) now += kMinute;
    must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.take_missed() == expected);
  }
}

Step any_step(std::mt19937& random) {
  constexpr Step::Kind kKinds[] = {Step::Kind::kMake, Step::Kind::kMake, Step::Kind::kRemove,
                                   Step::Kind::kMakeAnew};
  const auto below = [&](std::size_t bound) { return random() % bound; };
  Step step{kKinds[below(std::size(kKinds))], ""};
  for (std::size_t depth = 1 + below(3); depth > 0; --depth) {
    step.path += std::string("/") + kNames[below(std::size(kNames))];
  }
  return step;
}

TEST(TreeStressTest, KnowsInTheEndWhatIsThereHoweverMuchHappensWhileItLooks) {
  const Selection wanted = selection({"/**"});
  CgroupTree host;
  Tree tree{host.root(), wanted};
  must_update(tree);
  on_watch = [](const std::string&) { std::this_thread::sleep_for(20us); };  // for others to act

  for (unsigned round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    std::atomic<bool> done = false;
    std::thread others([&] {
      std::mt19937 random(round);
      for (int steps = 0; steps < 50; ++steps) act(any_step(random), host);
      done = true;
    });
    while (!done) must_update(tree);
    others.join();

    must_update(tree);
    host.let_inodes_go();
    EXPECT_EQ(tree.directories(), all_there_is(host, wanted)) << "round " << round;
  }
  on_watch = nullptr;
  EXPECT_EQ(tree.directories(), found_by_another(host, wanted));
}

}  // namespace
}  // namespace pex::cgroup
