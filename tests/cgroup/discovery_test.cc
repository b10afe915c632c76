#include "cgroup/discovery.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Found = Discovery::Found;
using Update = Result<std::shared_ptr<const Found>>;

constexpr std::size_t kPlenty = 100;
const Discovery::Clock::time_point kStart = Discovery::Clock::now();

Selection selection(std::initializer_list<const char*> include,
                    std::initializer_list<const char*> exclude = {}) {
  Selection wanted;
  for (const char* pattern : include) wanted.include.emplace_back(pattern);
  for (const char* pattern : exclude) wanted.exclude.emplace_back(pattern);
  return wanted;
}

std::vector<std::string> paths(const Found& found) {
  std::vector<std::string> all;
  for (const auto& cgroup : found.cgroups) all.push_back(cgroup->path);
  return all;
}

std::shared_ptr<const Found> must_update(Discovery& discovery, std::size_t capacity = kPlenty,
                                         Discovery::Clock::time_point now = kStart) {
  const Update found = discovery.update(capacity, now);
  EXPECT_TRUE(found) << describe(found.error());
  return found ? *found : std::make_shared<const Found>();
}

TEST(SelectionTest, WantsWhatIsIncludedAndNotExcluded) {
  const Selection wanted = selection({"/a/*", "/b/**"}, {"/a/x*", "/b/*/secret"});

  EXPECT_TRUE(wanted.matches("/a/y"));
  EXPECT_TRUE(wanted.matches("/b/c/d"));
  EXPECT_FALSE(wanted.matches("/a/x1"));
  EXPECT_FALSE(wanted.matches("/b/c/secret"));
  EXPECT_FALSE(wanted.matches("/c"));
  EXPECT_TRUE(wanted.may_match_below("/b/c/secret"));
  EXPECT_FALSE(wanted.may_match_below("/a/y"));
}

TEST(DiscoveryTest, FindsWhatIsSelectedByPath) {
  const test::TempTree tree{{"system.slice/web.service/"},     {"system.slice/db.service/inner/"},
                            {"system.slice/x.mount/"},         {"system.slice/cgroup.procs", ""},
                            {"system.slice/file.service", ""}, {"user.slice/a.service/"}};
  Discovery discovery{tree.root(), selection({"/system.slice/*", "/user.slice"}, {"/**/*.mount"})};

  const auto found = must_update(discovery);

  EXPECT_THAT(paths(*found),
              ElementsAre("/system.slice/db.service", "/system.slice/web.service", "/user.slice"));
  EXPECT_EQ(found->left_out, 0u);
}

TEST(DiscoveryTest, FindsBelowWhatItExcludes) {
  const test::TempTree tree{{"a/b/c/"}};
  Discovery discovery{tree.root(), selection({"/**"}, {"/a", "/a/b"})};

  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b/c"));
}

TEST(DiscoveryTest, HoldsEveryCgroupByItsDirectory) {
  const test::TempTree tree{{"a/"}};
  Discovery discovery{tree.root(), selection({"/a"})};

  const auto found = must_update(discovery);

  ASSERT_EQ(found->cgroups.size(), 1u);
  const Cgroup& cgroup = *found->cgroups.front();
  struct stat held {};
  struct stat named {};
  ASSERT_EQ(::fstat(cgroup.directory.get(), &held), 0);
  ASSERT_EQ(::stat(tree.path("a").c_str(), &named), 0);
  EXPECT_EQ(held.st_ino, named.st_ino);
  EXPECT_EQ(cgroup.id, named.st_ino);
  EXPECT_EQ(::fcntl(cgroup.directory.get(), F_GETFD), FD_CLOEXEC);
}

TEST(DiscoveryTest, GivesTheSameResultWhileNothingChanges) {
  const test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  const auto first = must_update(discovery);

  EXPECT_EQ(must_update(discovery), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kStart + 59s), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kStart + 61s), first);  // looked again, found the same
}

TEST(DiscoveryTest, SeesCgroupsComeAndGo) {
  test::TempTree tree{{"slice/a/"}};
  Discovery discovery{tree.root(), selection({"/slice/*", "/late/**"})};
  must_update(discovery);

  tree.make_directory("slice/b");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/slice/a", "/slice/b"));
  tree.remove("slice/a");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/slice/b"));
  tree.make_directory("late");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/slice/b"));
  tree.make_directory("late/c/d");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/late/c", "/late/c/d", "/slice/b"));
}

TEST(DiscoveryTest, KeepsTheSameObjectForTheSameCgroup) {
  test::TempTree tree{{"a/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  const auto before = must_update(discovery);

  tree.make_directory("b");
  const auto after = must_update(discovery);

  ASSERT_EQ(after->cgroups.size(), 2u);
  EXPECT_NE(after, before);
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
}

TEST(DiscoveryTest, TakesADirectoryMadeAnewForANewCgroup) {
  test::TempTree tree{{"a/cgroup.procs", ""}};
  Discovery discovery{tree.root(), selection({"/*"})};
  const auto before = must_update(discovery);

  tree.remove("a");
  tree.write("a/cgroup.procs", "");
  const auto after = must_update(discovery);

  ASSERT_EQ(after->cgroups.size(), 1u);
  EXPECT_NE(after->cgroups[0], before->cgroups[0]);
  EXPECT_NE(after->cgroups[0]->id, before->cgroups[0]->id);
  EXPECT_TRUE(still_exists(*after->cgroups[0]));
  EXPECT_FALSE(still_exists(*before->cgroups[0]));
}

TEST(DiscoveryTest, TakesTheFirstByPathWhenThereAreTooMany) {
  const test::TempTree tree{{"a/"}, {"b/"}, {"c/"}, {"d/"}, {"other/x/"}};
  Discovery discovery{tree.root(), selection({"/?"})};

  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/a", "/b"));
  EXPECT_EQ(found->left_out, 2u);
}

TEST(DiscoveryTest, KeepsThoseAlreadyFoundWhenMoreComeThanThereIsRoomFor) {
  test::TempTree tree{{"m/"}, {"n/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  must_update(discovery, 3);

  tree.make_directory("a");
  tree.make_directory("b");
  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/a", "/m", "/n"));
  EXPECT_EQ(found->left_out, 1u);
}

TEST(DiscoveryTest, LetsOneInWhenAnotherGoes) {
  test::TempTree tree{{"a/"}, {"b/"}, {"c/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  must_update(discovery, 2);

  tree.remove("a");
  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/b", "/c"));
  EXPECT_EQ(found->left_out, 0u);
}

TEST(DiscoveryTest, FollowsItsCapacity) {
  const test::TempTree tree{{"a/"}, {"b/"}, {"c/"}};
  Discovery discovery{tree.root(), selection({"/*"})};

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));
  EXPECT_THAT(paths(*must_update(discovery, 3)), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/a", "/b"));
  const auto none = must_update(discovery, 0);

  EXPECT_THAT(none->cgroups, IsEmpty());
  EXPECT_EQ(none->left_out, 3u);
}

TEST(DiscoveryTest, ClosesTheDirectoriesItNoLongerSelects) {
  const test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  auto found = must_update(discovery);
  const std::weak_ptr<const Cgroup> dropped = found->cgroups[1];

  found = must_update(discovery, 1);

  EXPECT_TRUE(dropped.expired());
}

TEST(DiscoveryTest, LooksAgainAfterAMinuteWhateverTheWatchSays) {
  const test::TempTree tree{{"one/a/"}, {"two/b/"}};
  std::filesystem::create_directory_symlink(tree.path("one"), tree.path("link"));
  Discovery discovery{tree.path("link"), selection({"/*"})};
  must_update(discovery);

  std::filesystem::remove(tree.path("link"));  // nothing in a watched directory changes
  std::filesystem::create_directory_symlink(tree.path("two"), tree.path("link"));

  EXPECT_THAT(paths(*must_update(discovery, kPlenty, kStart + 59s)), ElementsAre("/a"));
  EXPECT_THAT(paths(*must_update(discovery, kPlenty, kStart + 60s)), ElementsAre("/b"));
}

TEST(DiscoveryTest, FailsWhenTheRootCannotBeRead) {
  const test::TempTree tree{{"file", ""}};
  struct Row {
    const char* root;
    int code;
  };
  const Row rows[] = {{"absent", ENOENT}, {"file", ENOTDIR}};

  for (const Row& row : rows) {
    Discovery discovery{tree.path(row.root), selection({"/**"})};

    const Update found = discovery.update(kPlenty, kStart);

    ASSERT_FALSE(found) << row.root;
    EXPECT_EQ(found.error().code, row.code);
    EXPECT_EQ(found.error().attempted, "read cgroup directory '" + tree.path(row.root) + "'");
  }
}

TEST(DiscoveryTest, HoldsOnToWhatItFoundUntilTheTreeCanBeReadAgain) {
  test::TempTree tree{{"cg/a/"}};
  Discovery discovery{tree.path("cg"), selection({"/*"})};
  const auto before = must_update(discovery);

  tree.rename("cg", "away");
  tree.make_directory("away/b");  // makes it look
  const Update while_away = discovery.update(kPlenty, kStart);
  const Update still_away = discovery.update(kPlenty, kStart + 1s);
  tree.rename("away", "cg");
  const auto after = must_update(discovery, kPlenty, kStart + 2s);

  EXPECT_FALSE(while_away);
  EXPECT_FALSE(still_away);
  ASSERT_THAT(paths(*after), ElementsAre("/a", "/b"));
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
}

TEST(DiscoveryTest, ToleratesDirectoriesThatVanishWhileItLooks) {
  test::TempTree tree{{"slice/stays/"}};
  Discovery discovery{tree.root(), selection({"/**"})};
  std::atomic<bool> done = false;
  std::thread restless([&] {
    while (!done) {
      tree.make_directory("slice/comes/and/goes");
      tree.remove("slice/comes");
    }
  });

  std::shared_ptr<const Found> last;
  for (int changes = 0; changes < 500 && !HasFailure();) {
    const Update found = discovery.update(kPlenty, kStart);
    EXPECT_TRUE(found) << describe(found.error());
    if (!found) break;
    EXPECT_THAT(paths(**found), ::testing::Contains("/slice/stays"));
    changes += *found != last ? 1 : 0;
    last = *found;
  }
  done = true;
  restless.join();

  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/slice", "/slice/stays"));
}

TEST(StillExistsTest, IsFalseOnceItsFilesAreGone) {
  test::TempTree tree{{"a/cgroup.procs", ""}};
  Cgroup cgroup{"/a", 0, UniqueFd{::open(tree.path("a").c_str(), O_RDONLY | O_DIRECTORY)}};

  EXPECT_TRUE(still_exists(cgroup));
  tree.remove("a");
  EXPECT_FALSE(still_exists(cgroup));
}

TEST(DiscoveryTest, ADirectoryThatMayNotBeReadCostsOnlyWhatIsBelowIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  const test::TempTree tree{{"open/a/"}, {"closed/b/"}};
  ::chmod(tree.root().c_str(), 0755);
  ::chmod(tree.path("closed").c_str(), 0700);
  Discovery discovery{tree.root(), selection({"/*/*"})};

  ASSERT_EQ(::seteuid(65534), 0);
  const auto found = discovery.update(kPlenty, kStart);
  ASSERT_EQ(::seteuid(0), 0);

  ASSERT_TRUE(found);
  EXPECT_THAT(paths(**found), ElementsAre("/open/a"));
  ASSERT_EQ((*found)->unreadable.size(), 1U);
  EXPECT_EQ((*found)->unreadable[0].code, EACCES);
}

TEST(DiscoveryTest, WantOfDescriptorsKeepsNoOneThatIsGoneAndIsMadeUpForLater) {
  test::TempTree tree{{"gone/"}};
  Discovery discovery{tree.root(), selection({"/*"})};
  ASSERT_TRUE(discovery.update(kPlenty, kStart));
  tree.remove("gone");
  for (const char* name : {"a", "b", "c"}) tree.make_directory(name);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest_free);

  const rlimit one_more{static_cast<rlim_t>(lowest_free) + 1, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  const auto scarce = discovery.update(kPlenty, kStart);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  const auto plenty = discovery.update(kPlenty, kStart);

  ASSERT_TRUE(scarce && plenty);
  EXPECT_THAT(paths(**scarce), ElementsAre("/a"));
  ASSERT_EQ((*scarce)->unreadable.size(), 2U);
  EXPECT_EQ((*scarce)->unreadable[0].code, EMFILE);
  EXPECT_THAT(paths(**plenty), ElementsAre("/a", "/b", "/c"));
}

}  // namespace
}  // namespace pex::cgroup
