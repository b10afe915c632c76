#include "cgroup/discovery/discovery.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/temp_tree.h"

namespace pex::cgroup::discovery_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Found = DiscoveryResult;
using Update = Result<std::shared_ptr<const Found>>;

constexpr std::size_t kPlenty = 100;
const Discovery::Clock::time_point kFirstUpdate = Discovery::Clock::now();

Selection selection(std::initializer_list<const char*> include,
                    std::initializer_list<const char*> exclude = {}) {
  Selection wanted;
  for (const char* pattern : include) wanted.include.push_back(*Pattern::parse(pattern));
  for (const char* pattern : exclude) wanted.exclude.push_back(*Pattern::parse(pattern));
  wanted.leaves = false;
  return wanted;
}

std::vector<std::string> paths(const Found& found) {
  std::vector<std::string> all;
  for (const auto& cgroup : found.cgroups) all.push_back(cgroup->path);
  return all;
}

std::shared_ptr<const Found> must_update(Discovery& discovery, std::size_t capacity = kPlenty,
                                         Discovery::Clock::time_point now = kFirstUpdate) {
  const Update found = discovery.update(capacity, now);
  EXPECT_TRUE(found) << describe(found.error());
  return found ? *found : std::make_shared<const Found>();
}

TEST(DiscoveryTest, FindsWhatIsSelectedByPath) {
  const test::TempTree tree{{"system.slice/web.service/"},     {"system.slice/db.service/inner/"},
                            {"system.slice/x.mount/"},         {"system.slice/cgroup.procs", ""},
                            {"system.slice/file.service", ""}, {"user.slice/a.service/"}};
  Discovery discovery{{tree.root()},
                      selection({"/system.slice/*", "/user.slice"}, {"/**/*.mount"})};

  const auto found = must_update(discovery);

  EXPECT_THAT(paths(*found),
              ElementsAre("/system.slice/db.service", "/system.slice/web.service", "/user.slice"));
  EXPECT_EQ(found->left_out, 0U);
}

TEST(DiscoveryTest, FindsBelowWhatItExcludes) {
  const test::TempTree tree{{"a/b/c/"}};
  Discovery discovery{{tree.root()}, selection({"/**"}, {"/a", "/a/b"})};

  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b/c"));
}

TEST(DiscoveryTest, HoldsEveryCgroupByItsDirectory) {
  const test::TempTree tree{{"a/"}};
  Discovery discovery{{tree.root()}, selection({"/a"})};

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
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto first = must_update(discovery);

  EXPECT_EQ(must_update(discovery), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kFirstUpdate + 59s), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kFirstUpdate + 61s),
            first);  // looked again, found the same
}

TEST(DiscoveryTest, SeesCgroupsComeAndGo) {
  test::TempTree tree{{"slice/a/"}};
  Discovery discovery{{tree.root()}, selection({"/slice/*", "/late/**"})};
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

TEST(DiscoveryTest, ACgroupThatAnotherSelectionHasTooStaysTheSameObject) {
  test::TempTree tree{{"a/b/c/"}, {"a/d/"}, {"e/f/"}};
  Discovery discovery{{tree.root()}, selection({"/a/*"})};
  const auto before = must_update(discovery);

  discovery.select(selection({"/a/b", "/e/*"}));
  const auto after = must_update(discovery);

  ASSERT_THAT(paths(*after), ElementsAre("/a/b", "/e/f"));
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
  tree.write("e/g/cgroup.procs", "");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b", "/e/f", "/e/g"));
}

TEST(DiscoveryTest, ASelectionOfLeavesAloneLeavesOutWhatHasOthersBelowIt) {
  const test::TempTree tree{{"a/b/"}};
  Selection all = selection({"/**"});
  Discovery discovery{{tree.root()}, all};
  ASSERT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/a/b"));

  Selection leaves = all;
  leaves.leaves = true;
  discovery.select(leaves);
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b"));
  discovery.select(all);
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/a/b"));
}

TEST(DiscoveryTest, KeepsTheSameObjectForTheSameCgroup) {
  test::TempTree tree{{"a/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto before = must_update(discovery);

  tree.make_directory("b");
  const auto after = must_update(discovery);

  ASSERT_EQ(after->cgroups.size(), 2u);
  EXPECT_NE(after, before);
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
}

TEST(DiscoveryTest, TakesADirectoryCreatedAgainForANewCgroup) {
  test::TempTree tree{{"a/cgroup.procs", ""}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
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
  Discovery discovery{{tree.root()}, selection({"/?"})};

  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/a", "/b"));
  EXPECT_EQ(found->left_out, 2U);
}

TEST(DiscoveryTest, KeepsThoseAlreadyFoundWhenMoreComeThanThereIsRoomFor) {
  test::TempTree tree{{"m/"}, {"n/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 3);

  tree.make_directory("a");
  tree.make_directory("b");
  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/a", "/m", "/n"));
  EXPECT_EQ(found->left_out, 1U);
}

TEST(DiscoveryTest, LetsOneInWhenAnotherGoes) {
  test::TempTree tree{{"a/"}, {"b/"}, {"c/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 2);

  tree.remove("a");
  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/b", "/c"));
  EXPECT_EQ(found->left_out, 0U);
}

TEST(DiscoveryTest, FollowsItsCapacity) {
  const test::TempTree tree{{"a/"}, {"b/"}, {"c/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));
  EXPECT_THAT(paths(*must_update(discovery, 3)), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/a", "/b"));
  const auto none = must_update(discovery, 0);

  EXPECT_THAT(none->cgroups, IsEmpty());
  EXPECT_EQ(none->left_out, 3U);
}

TEST(DiscoveryTest, ClosesTheDirectoriesItNoLongerSelects) {
  const test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  auto found = must_update(discovery);
  const std::weak_ptr<const Cgroup> dropped = found->cgroups[1];

  found = must_update(discovery, 1);

  EXPECT_TRUE(dropped.expired());
}

TEST(DiscoveryTest, ReadsAgainAfterAMinuteWhateverTheWatchReports) {
  const test::TempTree tree{{"one/a/"}, {"two/b/"}};
  std::filesystem::create_directory_symlink(tree.path("one"), tree.path("link"));
  Discovery discovery{{tree.path("link")}, selection({"/*"})};
  must_update(discovery);

  std::filesystem::remove(tree.path("link"));  // nothing in a watched directory changes
  std::filesystem::create_directory_symlink(tree.path("two"), tree.path("link"));

  EXPECT_THAT(paths(*must_update(discovery, kPlenty, kFirstUpdate + 59s)), ElementsAre("/a"));
  EXPECT_THAT(paths(*must_update(discovery, kPlenty, kFirstUpdate + 60s)), ElementsAre("/b"));
}

TEST(DiscoveryTest, FailsWhenTheRootCannotBeRead) {
  const test::TempTree tree{{"file", ""}};
  struct Row {
    const char* root;
    int code;
  };
  const Row rows[] = {{"absent", ENOENT}, {"file", ENOTDIR}};

  for (const Row& row : rows) {
    Discovery discovery{{tree.path(row.root)}, selection({"/**"})};

    const Update found = discovery.update(kPlenty, kFirstUpdate);

    ASSERT_FALSE(found) << row.root;
    EXPECT_EQ(found.error().code, row.code);
    EXPECT_EQ(found.error().attempted, "read cgroup directory '" + tree.path(row.root) + "'");
  }
}

TEST(DiscoveryTest, HoldsOnToWhatItFoundUntilTheTreeCanBeReadAgain) {
  test::TempTree tree{{"cg/a/"}};
  Discovery discovery{{tree.path("cg")}, selection({"/*"})};
  const auto before = must_update(discovery);

  tree.rename("cg", "away");
  tree.make_directory("away/b");
  const Update while_away = discovery.update(kPlenty, kFirstUpdate + 60s);  // looks at everything
  const Update still_away = discovery.update(kPlenty, kFirstUpdate + 61s);
  tree.rename("away", "cg");
  const auto after = must_update(discovery, kPlenty, kFirstUpdate + 62s);

  EXPECT_FALSE(while_away);
  EXPECT_FALSE(still_away);
  ASSERT_THAT(paths(*after), ElementsAre("/a", "/b"));
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
}

TEST(DiscoveryTest, HoldsNoMoreThanTheCapacityWhileTheTreeCannotBeRead) {
  test::TempTree tree{{"cg/a/"}, {"cg/b/"}, {"cg/c/"}};
  Discovery discovery{{tree.path("cg")}, selection({"/*"})};
  const std::weak_ptr<const Cgroup> shed = must_update(discovery)->cgroups[2];

  tree.rename("cg", "away");
  const Update while_away = discovery.update(2, kFirstUpdate + 60s);

  EXPECT_FALSE(while_away);
  EXPECT_THAT(paths(*discovery.last()), ElementsAre("/a", "/b"));
  EXPECT_EQ(discovery.last()->left_out, 1U);
  EXPECT_TRUE(shed.expired());
  EXPECT_EQ(discovery.take_newly_left_out(), 1U);
  tree.rename("away", "cg");
  EXPECT_THAT(paths(*must_update(discovery, 3, kFirstUpdate + 62s)), ElementsAre("/a", "/b", "/c"));
}

TEST(DiscoveryTest, ToleratesDirectoriesThatVanishWhileItReads) {
  test::TempTree tree{{"slice/stays/"}};
  Discovery discovery{{tree.root()}, selection({"/**"})};
  std::atomic<bool> done = false;
  std::thread restless([&] {
    while (!done) {
      tree.make_directory("slice/comes/and/goes");
      tree.remove("slice/comes");
    }
  });

  std::shared_ptr<const Found> last;
  for (int changes = 0; changes < 500 && !HasFailure();) {
    const Update found = discovery.update(kPlenty, kFirstUpdate);
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
  Discovery discovery{{tree.root()}, selection({"/*/*"})};

  ASSERT_EQ(::seteuid(65534), 0);
  const auto found = discovery.update(kPlenty, kFirstUpdate);
  ASSERT_EQ(::seteuid(0), 0);

  ASSERT_TRUE(found);
  EXPECT_THAT(paths(**found), ElementsAre("/open/a"));
  ASSERT_EQ((*found)->unreadable.size(), 1U);
  EXPECT_EQ((*found)->unreadable[0].code, EACCES);
}

TEST(DiscoveryTest, WantOfDescriptorsKeepsNoOneThatIsGoneAndIsMadeUpForLater) {
  test::TempTree tree{{"gone/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  ASSERT_TRUE(discovery.update(kPlenty, kFirstUpdate));
  tree.remove("gone");
  for (const char* name : {"a", "b", "c"}) tree.make_directory(name);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest_free);

  const rlimit one_more{static_cast<rlim_t>(lowest_free) + 1, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  const auto scarce = discovery.update(kPlenty, kFirstUpdate);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  const auto plenty = discovery.update(kPlenty, kFirstUpdate);

  ASSERT_TRUE(scarce && plenty);
  EXPECT_THAT(paths(**scarce), ElementsAre("/a"));
  ASSERT_EQ((*scarce)->unreadable.size(), 2U);
  EXPECT_EQ((*scarce)->unreadable[0].code, EMFILE);
  EXPECT_THAT(paths(**plenty), ElementsAre("/a", "/b", "/c"));
}

// --- leaves --------------------------------------------------------------------------------------

Selection leaves_of(std::initializer_list<const char*> include,
                    std::initializer_list<const char*> exclude = {}) {
  Selection wanted = selection(include, exclude);
  wanted.leaves = true;
  return wanted;
}

TEST(DiscoveryLeavesTest, AreThoseWithNoSelectedOneBelow) {
  const test::TempTree tree{{"a/b/c/"}, {"a/d/"}, {"e/"}, {"slice/x.service/inner/"}};
  struct Row {
    Selection selection;
    std::vector<std::string> leaves;
  };
  const Row rows[] = {
      {leaves_of({"/**"}), {"/a/b/c", "/a/d", "/e", "/slice/x.service/inner"}},
      {leaves_of({"/*", "/a/b/c"}), {"/a/b/c", "/a/d", "/e", "/slice"}},
      {leaves_of({"/**"}, {"/a/b/c"}), {"/a/b", "/a/d", "/e", "/slice/x.service/inner"}},
      {leaves_of({"/**"}, {"/a/**"}), {"/a", "/e", "/slice/x.service/inner"}},
      {leaves_of({"/slice", "/slice/*.service"}), {"/slice/x.service"}},
  };

  for (const Row& row : rows) {
    Discovery discovery{{tree.root()}, row.selection};

    EXPECT_EQ(paths(*must_update(discovery)), row.leaves);
  }
}

TEST(DiscoveryLeavesTest, AreNotConfusedBySiblingsThatSortBetweenAParentAndItsChildren) {
  test::TempTree tree{{"a-b/"}, {"a.c/"}, {"a/b/"}, {"a0/"}};
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};

  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a-b", "/a.c", "/a/b", "/a0"));
  tree.remove("a/b");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/a-b", "/a.c", "/a0"));
}

TEST(DiscoveryLeavesTest, GiveWayToTheirChildrenAndComeBackWhenThoseAreGone) {
  test::TempTree tree{{"a/"}};
  Discovery discovery{{tree.root()}, leaves_of({"/**"}, {"/a/not"})};

  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a"));
  tree.make_directory("a/not");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a"));
  tree.make_directory("a/b/c");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b/c"));
  tree.remove("a/b/c");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b"));
  tree.remove("a/b");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a"));
}

TEST(DiscoveryLeavesTest, ThatReplaceAnotherOneAreAllThatItHas) {
  const std::string id(64, 'a');
  const std::string user = "/user.slice/user-1000.slice/user@1000.service";
  const std::string container = user + "/app.slice/web.service/libpod-payload-" + id;
  test::TempTree tree{{user.substr(1) + "/init.scope/", ""}};
  tree.make_directory(user + "/app.slice/sync.service/inner");
  tree.make_directory(user + "/app.slice/cron.service");
  tree.make_directory(user + "/libpod-conmon-" + id + ".scope");
  Discovery discovery{
      {tree.root()},
      leaves_of({"re:(/[^/]+[.]slice)*/[^/]+[.]service", "re:.*/libpod-.*[0-9a-f]{64}([.]scope)?"},
                {"/**/cron.service"})};
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre(user));

  tree.make_directory(container);
  EXPECT_THAT(paths(*must_update(discovery)),
              ElementsAre(user + "/app.slice/sync.service", container, user + "/init.scope"));

  tree.make_directory(user + "/app.slice/web.service/runtime");
  tree.make_directory(user + "/session.slice/bus.service");
  EXPECT_THAT(paths(*must_update(discovery)),
              ElementsAre(user + "/app.slice/sync.service", container,
                          user + "/app.slice/web.service/runtime", user + "/init.scope",
                          user + "/session.slice"));

  tree.remove(container);
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre(user));
}

TEST(DiscoveryLeavesTest, AreTheLimitedOnes) {
  const test::TempTree tree{{"a/x/"}, {"a/y/"}, {"b/"}};
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};

  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/a/x"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a/y", "/b"));
}

// --- the choice among too many -------------------------------------------------------------------

constexpr const char* kUse1 = "usage_usec 1\n";
constexpr const char* kUse5 = "usage_usec 5\nuser_usec 3\nsystem_usec 2\n";
constexpr const char* kUse9 = "usage_usec 9\n";

TEST(DiscoveryChoiceTest, TakesThoseThatHaveUsedMostCpuTime) {
  const test::TempTree tree{{"a/cpu.stat", kUse1},
                            {"b/cpu.stat", kUse9},
                            {"c/cpu.stat", kUse5},
                            {"d/cpu.stat", "usage_usec 10\n"}};  // 10 is more than 9, not before it
  Discovery discovery{{tree.root()}, selection({"/*"})};

  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/b", "/d"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a", "/c"));
}

TEST(DiscoveryChoiceTest, DoesNotWaitForAFifoInThePlaceOfACpuTime) {
  const test::TempTree tree{{"a/"}, {"b/cpu.stat", kUse1}};
  ASSERT_EQ(::mkfifo(tree.path("a/cpu.stat").c_str(), 0600), 0);
  Discovery discovery{{tree.root()}, selection({"/*"})};

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/b"));
}

TEST(DiscoveryChoiceTest, TakesTheFirstByPathOfThoseThatHaveUsedAsMuch) {
  test::TempTree tree{{"a/cpu.stat", kUse1}, {"z/"}};
  for (int i = 99; i >= 10; --i) tree.write("b" + std::to_string(i) + "/cpu.stat", kUse5);
  Discovery discovery{{tree.root()}, selection({"/*"})};

  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/b10", "/b11", "/b12"));
  EXPECT_EQ(found->left_out, 89U);
  EXPECT_TRUE(std::is_sorted(found->left_out_paths.begin(), found->left_out_paths.end()));
}

TEST(DiscoveryChoiceTest, OfVersion1GoesByTheHierarchyThatAccounts) {
  const test::TempTree tree{{"perf_event/a/cpuacct.usage", "9000\n"},
                            {"perf_event/b/"},
                            {"perf_event/c/"},
                            {"cpuacct/b/cpuacct.usage", "7000\n"},
                            {"cpuacct/c/cpuacct.usage", "8000\n"}};
  constexpr auto kV1 = Hierarchy::Version::kV1;
  Discovery discovery{{tree.path("perf_event"), kV1, tree.path("cpuacct")}, selection({"/*"})};
  Discovery without{{tree.path("perf_event"), kV1}, selection({"/*"})};

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/c"));
  EXPECT_THAT(paths(*must_update(without, 1)), ElementsAre("/a"));  // the first by path
}

TEST(DiscoveryChoiceTest, KeepsThoseItHoldsWhateverOthersUse) {
  test::TempTree tree{{"m/cpu.stat", kUse1}, {"n/cpu.stat", kUse1}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 3);

  tree.write("a/cpu.stat", kUse5);
  tree.write("z/cpu.stat", kUse9);
  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/m", "/n", "/z"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST(DiscoveryChoiceTest, GivesRoomToTheOneThatHasUsedMostUpToHalfAMinuteBefore) {
  test::TempTree tree{{"a/cpu.stat", kUse9}, {"b/cpu.stat", kUse5}, {"c/cpu.stat", kUse1}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  ASSERT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));

  tree.write("c/cpu.stat", kUse9);
  (void)must_update(discovery, 1, kFirstUpdate + 30s);
  tree.write("b/cpu.stat", "usage_usec 10\n");
  tree.remove("a");
  const auto found = must_update(discovery, 1, kFirstUpdate + 31s);

  EXPECT_THAT(paths(*found), ElementsAre("/c"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/b"));
}

TEST(DiscoveryChoiceTest, LeavesOutByPathWhereItHasToDropSome) {
  const test::TempTree tree{{"a/"}, {"b/"}, {"c/"}, {"d/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 3);

  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/a"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/b", "/c", "/d"));
}

TEST(DiscoveryChoiceTest, TakesOneCreatedAgainForANewcomer) {
  test::TempTree tree{{"a/cpu.stat", kUse1}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto before = must_update(discovery, 1);

  tree.write("b/cpu.stat", kUse9);
  tree.remove("a");
  tree.write("a/cpu.stat", kUse1);
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST(DiscoveryChoiceTest, CountsEachOnceThatComesToBeLeftOut) {
  test::TempTree tree{{"a/"}, {"b/"}, {"c/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 2U);

  tree.make_directory("d");
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 1U);
  tree.remove("a");
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 0U);
  must_update(discovery, 0);
  EXPECT_EQ(discovery.take_newly_left_out(), 1U);  // the one that had been held
}

TEST(DiscoveryChoiceTest, OfMoreThanSomebodyWouldReadItListsTheFirstAndCountsAll) {
  test::TempTree tree;
  for (int i = 1000; i < 1300; ++i) tree.make_directory(std::to_string(i));
  Discovery discovery{{tree.root()}, selection({"/*"})};

  const auto found = must_update(discovery, 1);

  EXPECT_EQ(found->left_out, 299U);
  ASSERT_EQ(found->left_out_paths.size(), DiscoveryResult::kMaxPaths);
  EXPECT_EQ(found->left_out_paths.front(), "/1001");
  EXPECT_EQ(found->left_out_paths.back(), "/1200");
  EXPECT_EQ(discovery.left_out().size(), 299U);
}

/// All that is selected below `root`, found the long way.
std::vector<std::string> selected_below(const std::string& root, const Selection& selection) {
  std::vector<std::string> every;
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    every.push_back(entry.path().string().substr(root.size()));
    if (selection.matches(every.back())) all.push_back(every.back());
  }
  const auto has_any_below = [&](const std::string& path) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& other) { return other.starts_with(path + "/"); });
  };
  const auto is_rest = [&](const std::string& path) {
    return selection.judge(path).reason == Verdict::Reason::kNotIncluded &&
           has_any_below(path.substr(0, path.rfind('/'))) &&
           std::any_of(all.begin(), all.end(),
                       [&](const std::string& other) { return path.starts_with(other + "/"); });
  };
  std::vector<std::string> wanted;
  for (const std::string& path : every) {
    const bool is_selected = std::find(all.begin(), all.end(), path) != all.end();
    const bool is_leaf = (is_selected || is_rest(path)) && !has_any_below(path);
    if (selection.leaves ? is_leaf : is_selected) wanted.push_back(path);
  }
  std::sort(wanted.begin(), wanted.end());
  return wanted;
}

/// Removes a directory so that its inode number is not used again, as with cgroups: kept open here.
void bury(test::TempTree& tree, const std::string& path, std::vector<UniqueFd>& removed) {
  const auto keep = [&](const std::string& directory) {
    removed.emplace_back(::open(directory.c_str(), O_PATH | O_CLOEXEC));
  };
  keep(tree.path(path));
  for (const auto& below : std::filesystem::recursive_directory_iterator(tree.path(path))) {
    if (below.is_directory()) keep(below.path().string());
  }
  tree.remove(path);
}

TEST(DiscoveryChoiceTest, WhateverComesAndGoesEachThatIsSelectedIsHeldOrLeftOut) {
  std::mt19937 random{20260901};
  const auto any = [&random](int below) { return static_cast<int>(random() % below); };
  for (const bool leaves : {false, true}) {
    test::TempTree tree;
    Selection selected = selection({"/*", "/a*/**", "/b/?"}, {"/a1", "/b/a"});
    selected.leaves = leaves;
    Discovery discovery{{tree.root()}, selected};
    std::vector<UniqueFd> removed;
    for (int round = 0; round < 400; ++round) {
      for (int changes = any(4); changes > 0; --changes) {
        static constexpr const char* kNames[] = {"a", "a1", "a-", "b", "c"};
        std::string path;
        for (int depth = 1 + any(3); depth > 0; --depth) path += std::string("/") + kNames[any(5)];
        if (any(2) == 0) {
          tree.make_directory(path);
        } else if (std::filesystem::exists(tree.path(path))) {
          bury(tree, path, removed);
        }
      }
      const auto capacity = static_cast<std::size_t>(any(10) < 8 ? 5 : any(12));
      const auto found = must_update(discovery, capacity, kFirstUpdate + round * 1s);

      const std::vector<std::string> held = paths(*found);
      std::vector<std::string> both = discovery.left_out();
      EXPECT_EQ(both.size(), found->left_out);
      both.insert(both.end(), held.begin(), held.end());
      std::sort(both.begin(), both.end());
      ASSERT_EQ(both, selected_below(tree.root(), selected)) << "round " << round;
      ASSERT_EQ(held.size(), std::min(capacity, both.size())) << "round " << round;
    }
  }
}

// --- fair shares ---------------------------------------------------------------------------------

void make_children(test::TempTree& tree, const std::string& directory, int children) {
  for (int i = 100; i < 100 + children; ++i) {
    tree.make_directory(directory + "/" + std::to_string(i));
  }
}

std::size_t held_below(const Found& found, const std::string& directory) {
  const std::vector<std::string> all = paths(found);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(),
                    [&](const std::string& path) { return path.starts_with(directory + "/"); }));
}

TEST(DiscoverySharesTest, DivideTheRoomAmongTheSubtreesOfEachDirectory) {
  test::TempTree tree;
  make_children(tree, "kubepods/a", 40);
  make_children(tree, "kubepods/b", 10);
  make_children(tree, "system", 6);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};

  const auto found = must_update(discovery, 32);

  EXPECT_EQ(held_below(*found, "/system"), 6U);
  EXPECT_EQ(held_below(*found, "/kubepods/b"), 10U);
  EXPECT_EQ(held_below(*found, "/kubepods/a"), 16U);
}

TEST(DiscoverySharesTest, OneThatComesAfterAnotherHasTakenAllIsHeldAtOnce) {
  test::TempTree tree;
  make_children(tree, "hex", 300);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  must_update(discovery, 256);
  (void)discovery.take_newly_left_out();

  tree.make_directory("late/x");
  const auto found = must_update(discovery, 256);

  EXPECT_EQ(held_below(*found, "/late"), 1U);
  EXPECT_EQ(held_below(*found, "/hex"), 255U);
  const Discovery::Displaced displaced = discovery.take_displaced();
  EXPECT_EQ(displaced.cgroups, 1U);
  EXPECT_EQ(displaced.rich, "/hex");
  EXPECT_EQ(displaced.poor, "/late");
  EXPECT_EQ(discovery.take_newly_left_out(), 0U);
  EXPECT_EQ(discovery.take_displaced().cgroups, 0U);
}

TEST(DiscoverySharesTest, SoManyGiveWayAtOnceAndOneInEachSecondAfterThat) {
  constexpr auto kAtOnce = static_cast<std::size_t>(Discovery::kExchangesAtOnce);
  test::TempTree tree;
  make_children(tree, "a", 100);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  must_update(discovery, 100);

  make_children(tree, "b", 100);

  EXPECT_EQ(held_below(*must_update(discovery, 100), "/b"), kAtOnce);
  EXPECT_EQ(held_below(*must_update(discovery, 100), "/b"), kAtOnce);
  EXPECT_EQ(held_below(*must_update(discovery, 100, kFirstUpdate + 1s), "/b"), kAtOnce + 1);
  std::shared_ptr<const Found> last;
  for (int second = 2; second < 120; ++second) {
    last = must_update(discovery, 100, kFirstUpdate + second * 1s);
  }
  EXPECT_EQ(held_below(*last, "/b"), 50U);
  EXPECT_EQ(held_below(*last, "/a"), 50U);
}

TEST(DiscoverySharesTest, OnceTheyAreFairWhoIsHeldStays) {
  test::TempTree tree;
  make_children(tree, "a", 7);
  make_children(tree, "b", 7);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  const auto first = must_update(discovery, 7);  // four and three

  for (int second = 1; second < 100; ++second) {
    EXPECT_EQ(must_update(discovery, 7, kFirstUpdate + second * 1s), first);
  }
}

TEST(DiscoverySharesTest, NoneIsReplacedByOneThatCannotBeHeld) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  test::TempTree tree;
  make_children(tree, "a", 4);
  ::chmod(tree.root().c_str(), 0755);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  const auto before = must_update(discovery, 4);

  tree.make_directory("b/x");
  ::chmod(tree.path("b/x").c_str(), 0700);
  ASSERT_EQ(::seteuid(65534), 0);
  const auto found = discovery.update(4, kFirstUpdate);
  ASSERT_EQ(::seteuid(0), 0);

  ASSERT_TRUE(found);
  EXPECT_EQ(paths(**found), paths(*before));
  EXPECT_EQ(discovery.take_displaced().cgroups, 0U);
}

TEST(DiscoverySharesTest, WhereThereIsLessRoomTheLargestSharesGiveIt) {
  test::TempTree tree;
  make_children(tree, "a", 10);
  make_children(tree, "b", 3);
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  must_update(discovery, 13);

  const auto found = must_update(discovery, 7);

  EXPECT_EQ(held_below(*found, "/a"), 4U);
  EXPECT_EQ(held_below(*found, "/b"), 3U);
  EXPECT_EQ(discovery.take_displaced().cgroups, 0U);
}

// --- those let go --------------------------------------------------------------------------------

TEST(DiscoveryTest, GivesTheRoomOfTheOneThatIsLetGoToAnother) {
  test::TempTree tree{{"a/cpu.stat", kUse1}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 1);
  tree.write("b/cpu.stat", kUse9);
  ASSERT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));

  discovery.release("/a");
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST(DiscoveryTest, LeavesOutTheOneThatIsLetGoWhereThereIsLessRoom) {
  const test::TempTree tree{{"a/cpu.stat", kUse9}, {"b/cpu.stat", kUse1}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  must_update(discovery, 2);

  discovery.release("/a");
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST(DiscoveryTest, TakesTheOneThatIsLetGoBackWhereNoOtherWantsItsRoom) {
  const test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto before = must_update(discovery);

  discovery.release("/a");
  const auto after = must_update(discovery);

  EXPECT_THAT(paths(*after), ElementsAre("/a", "/b"));
  EXPECT_EQ(after->cgroups[0]->id, before->cgroups[0]->id);
  EXPECT_EQ(must_update(discovery), after);
}

TEST(DiscoveryTest, DoesNotMindToLetGoWhatItDoesNotHold) {
  const test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto before = must_update(discovery, 1);

  discovery.release("/b");
  discovery.release("/absent");

  EXPECT_EQ(must_update(discovery, 1), before);
}

// --- what is missed ------------------------------------------------------------------------------

TEST(DiscoveryTest, MissesWhatCameAndWentBetweenTwoUpdates) {
  test::TempTree tree{{"a/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const auto before = must_update(discovery);

  tree.make_directory("b");
  tree.remove("b");

  EXPECT_EQ(must_update(discovery), before);
  EXPECT_EQ(discovery.take_missed(), 1U);
  EXPECT_EQ(discovery.take_missed(), 0U);
}

/// Where Discovery has to choose, it asks all it could take for their use before it holds any. This
/// one has the greatest, and something happens before Discovery has its answer: the kernel sends a
/// signal to the thread that reads its use (F_NOTIFY in fcntl(2)), whose handler waits meanwhile.
class WhileItChooses {
 public:
  WhileItChooses(test::TempTree& tree, const std::string& cgroup, std::function<void()> it_happens)
      : it_happens_(std::move(it_happens)) {
    ::sem_init(&asked_, 0, 0);
    ::sem_init(&happened_, 0, 0);
    tree.write(cgroup + "/cpu.stat", kUse9);
    directory_.reset(::open(tree.path(cgroup).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct sigaction handled {};
    handled.sa_handler = [](int) { when_asked(); };
    EXPECT_EQ(::sigaction(SIGRTMIN, &handled, &handled_before_), 0);
    const f_owner_ex here{F_OWNER_TID, ::gettid()};
    EXPECT_EQ(::fcntl(directory_.get(), F_SETSIG, SIGRTMIN), 0);
    EXPECT_EQ(::fcntl(directory_.get(), F_NOTIFY, DN_ACCESS), 0) << "CONFIG_DNOTIFY";
    EXPECT_EQ(::fcntl(directory_.get(), F_SETOWN_EX, &here), 0);
    thread_ = std::thread([this] {
      ::sem_wait(&asked_);
      if (is_asked_) it_happens_();
      ::sem_post(&happened_);
    });
    only_ = this;
  }
  WhileItChooses(const WhileItChooses&) = delete;
  WhileItChooses& operator=(const WhileItChooses&) = delete;
  ~WhileItChooses() {
    EXPECT_TRUE(is_asked_);
    ::sem_post(&asked_);  // where nobody has asked, the thread must not wait for ever
    thread_.join();
    only_ = nullptr;
    ::sigaction(SIGRTMIN, &handled_before_, nullptr);
  }

 private:
  static void when_asked() {
    only_->is_asked_ = true;
    ::sem_post(&only_->asked_);
    while (::sem_wait(&only_->happened_) != 0) {
    }
  }

  static inline WhileItChooses* only_ = nullptr;
  std::function<void()> it_happens_;
  UniqueFd directory_;
  struct sigaction handled_before_ {};
  sem_t asked_;
  sem_t happened_;
  std::atomic<bool> is_asked_ = false;
  std::thread thread_;
};

TEST(DiscoveryTest, MissesOnceTheOneThatGoesBeforeItCanBeHeldAndGivesItsRoomToAnother) {
  test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};

  const WhileItChooses happens{tree, "a", [&] { tree.remove("a"); }};
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, IsEmpty());
  EXPECT_THAT(found->unreadable, IsEmpty());
  EXPECT_EQ(discovery.take_missed(), 1U);
  EXPECT_EQ(must_update(discovery, 1), found);
  EXPECT_EQ(discovery.take_missed(), 0U);
}

TEST(DiscoveryTest, KeepsTheOneThatIsCreatedAgainBeforeItCanBeHeld) {
  test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, selection({"/*"})};
  const UniqueFd first{::open(tree.path("a").c_str(), O_PATH)};  // so its inode is not used again

  const WhileItChooses happens{tree, "a", [&] {
                                 tree.remove("a");
                                 tree.make_directory("a");
                               }};
  const auto chosen = must_update(discovery, 1);
  const auto found = must_update(discovery, 1);

  ASSERT_THAT(paths(*found), ElementsAre("/a"));
  EXPECT_EQ(found->cgroups[0], chosen->cgroups[0]);
  struct stat named {};
  ASSERT_EQ(::stat(tree.path("a").c_str(), &named), 0);
  EXPECT_EQ(found->cgroups[0]->id, named.st_ino);
}

TEST(DiscoveryLeavesTest, ComeBackWhenTheirLastChildGoesBeforeItCanBeHeld) {
  test::TempTree tree{{"a/x/"}, {"b/"}, {"c/"}};
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};

  const WhileItChooses happens{tree, "a/x", [&] {
                                 tree.remove("a/x");
                                 tree.remove("c");
                               }};
  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/b"));

  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/a", "/b"));
}

TEST(DiscoveryLeavesTest, AreRightInTheEndHoweverMuchHappensWhileItReads) {
  test::TempTree tree{{"a/"}, {"b/"}};
  Discovery discovery{{tree.root()}, leaves_of({"/**"})};
  must_update(discovery);

  for (int round = 0; round < 100 && !testing::Test::HasFailure(); ++round) {
    std::atomic<bool> done = false;
    std::thread others([&] {
      for (int i = 0; i < 5; ++i) {
        const std::string name = "a/" + std::to_string(round) + "." + std::to_string(i);
        tree.make_directory(name + "/inner");
        tree.remove(name);
      }
      done = true;
    });
    while (!done) must_update(discovery);
    others.join();

    EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/b")) << "round " << round;
  }
}

TEST(DiscoveryTest, ReportsOnceADirectoryThatMayNotBeRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  const test::TempTree tree{{"open/"}, {"closed/b/"}};
  ::chmod(tree.root().c_str(), 0755);
  ::chmod(tree.path("closed").c_str(), 0700);
  Discovery discovery{{tree.root()}, selection({"/**"})};

  ASSERT_EQ(::seteuid(65534), 0);
  const auto found = discovery.update(kPlenty, kFirstUpdate);
  ASSERT_EQ(::seteuid(0), 0);

  ASSERT_TRUE(found);
  EXPECT_THAT(paths(**found), ElementsAre("/open"));
  EXPECT_EQ((*found)->unreadable.size(), 1U);
}

}  // namespace
}  // namespace pex::cgroup::discovery_test
