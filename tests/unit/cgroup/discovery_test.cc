#include "cgroup/discovery/discovery.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <random>

#include "support/few_descriptors.h"
#include "support/ordinary_user.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup::discovery_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
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

std::shared_ptr<const Found> update_as_ordinary_user(Discovery& discovery,
                                                     std::size_t capacity = kPlenty) {
  const test::OrdinaryUser user;
  return must_update(discovery, capacity);
}

/// A tree of plain directories and files.
class DiscoveryTest : public testing::Test {
 protected:
  Discovery over(std::initializer_list<test::TempTree::Entry> entries,
                 Selection selected = selection({"/*"})) {
    for (const auto& [path, content] : entries) {
      path.ends_with('/') ? tree_.make_directory(path) : tree_.write(path, content);
    }
    return Discovery{{tree_.root()}, std::move(selected)};
  }

  test::TempTree tree_;
};
using DiscoveryLeavesTest = DiscoveryTest;
using DiscoveryChoiceTest = DiscoveryTest;
using DiscoverySharesTest = DiscoveryTest;

TEST_F(DiscoveryTest, FindsWhatIsSelectedByPath) {
  Discovery discovery = over({{"system.slice/web.service/"},
                              {"system.slice/db.service/inner/"},
                              {"system.slice/x.mount/"},
                              {"system.slice/cgroup.procs", ""},
                              {"system.slice/file.service", ""},
                              {"user.slice/a.service/"}},
                             selection({"/system.slice/*", "/user.slice"}, {"/**/*.mount"}));

  const auto found = must_update(discovery);

  EXPECT_THAT(paths(*found),
              ElementsAre("/system.slice/db.service", "/system.slice/web.service", "/user.slice"));
  EXPECT_EQ(found->left_out, 0U);
}

TEST_F(DiscoveryTest, HoldsEveryCgroupByItsDirectory) {
  Discovery discovery = over({{"a/"}}, selection({"/a"}));

  const auto found = must_update(discovery);

  ASSERT_EQ(found->cgroups.size(), 1u);
  const Cgroup& cgroup = *found->cgroups.front();
  struct stat held {};
  struct stat named {};
  ASSERT_EQ(::fstat(cgroup.directory.get(), &held), 0);
  ASSERT_EQ(::stat(tree_.path("a").c_str(), &named), 0);
  EXPECT_EQ(held.st_ino, named.st_ino);
  EXPECT_EQ(cgroup.id, named.st_ino);
  EXPECT_EQ(::fcntl(cgroup.directory.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(DiscoveryTest, GivesTheSameResultWhileNothingChanges) {
  Discovery discovery = over({{"a/"}, {"b/"}});
  const auto first = must_update(discovery);

  EXPECT_EQ(must_update(discovery), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kFirstUpdate + 59s), first);
  EXPECT_EQ(must_update(discovery, kPlenty, kFirstUpdate + 61s),
            first);  // looked again, found the same
}

TEST_F(DiscoveryTest, ACgroupThatAnotherSelectionHasTooStaysTheSameObject) {
  Discovery discovery = over({{"a/b/c/"}, {"a/d/"}, {"e/f/"}}, selection({"/a/*"}));
  const auto before = must_update(discovery);

  discovery.select(selection({"/a/b", "/e/*"}));
  const auto after = must_update(discovery);

  ASSERT_THAT(paths(*after), ElementsAre("/a/b", "/e/f"));
  EXPECT_EQ(after->cgroups[0], before->cgroups[0]);
  tree_.write("e/g/cgroup.procs", "");
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b", "/e/f", "/e/g"));
}

TEST_F(DiscoveryTest, ASelectionOfLeavesAloneLeavesOutWhatHasOthersBelowIt) {
  const Selection all = selection({"/**"});
  Discovery discovery = over({{"a/b/"}}, all);
  ASSERT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/a/b"));

  Selection leaves = all;
  leaves.leaves = true;
  discovery.select(leaves);
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a/b"));
  discovery.select(all);
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/a/b"));
}

TEST_F(DiscoveryTest, TakesADirectoryCreatedAgainForANewCgroup) {
  Discovery discovery = over({{"a/cgroup.procs", ""}});
  const auto before = must_update(discovery);

  tree_.remove("a");
  tree_.write("a/cgroup.procs", "");
  const auto after = must_update(discovery);

  ASSERT_EQ(after->cgroups.size(), 1u);
  EXPECT_NE(after->cgroups[0], before->cgroups[0]);
  EXPECT_NE(after->cgroups[0]->id, before->cgroups[0]->id);
  EXPECT_TRUE(still_exists(*after->cgroups[0]));
  EXPECT_FALSE(still_exists(*before->cgroups[0]));
}

TEST_F(DiscoveryTest, FollowsItsCapacity) {
  Discovery discovery = over({{"a/"}, {"b/"}, {"c/"}});

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));
  EXPECT_THAT(paths(*must_update(discovery, 3)), ElementsAre("/a", "/b", "/c"));
  const auto two = must_update(discovery, 2);
  EXPECT_THAT(paths(*two), ElementsAre("/a", "/b"));
  EXPECT_THAT(two->left_out_paths, ElementsAre("/c"));
  const auto none = must_update(discovery, 0);
  EXPECT_THAT(none->cgroups, IsEmpty());
  EXPECT_EQ(none->left_out, 3U);
}

TEST_F(DiscoveryTest, ClosesTheDirectoriesItNoLongerSelects) {
  Discovery discovery = over({{"a/"}, {"b/"}});
  auto found = must_update(discovery);
  const std::weak_ptr<const Cgroup> dropped = found->cgroups[1];

  found = must_update(discovery, 1);

  EXPECT_TRUE(dropped.expired());
}

TEST_F(DiscoveryTest, FailsWhenTheRootCannotBeRead) {
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

TEST_F(DiscoveryTest, HoldsOnToWhatItFoundUntilTheTreeCanBeReadAgain) {
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

TEST_F(DiscoveryTest, HoldsNoMoreThanTheCapacityWhileTheTreeCannotBeRead) {
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

TEST_F(DiscoveryTest, ADirectoryThatMayNotBeReadCostsOnlyWhatIsBelowItAndIsReportedOnce) {
  const test::TempTree tree{{"open/"}, {"closed/b/"}};
  ::chmod(tree.root().c_str(), 0755);
  ::chmod(tree.path("closed").c_str(), 0);

  for (const char* pattern : {"/closed/*", "/**"}) {
    Discovery discovery{{tree.root()}, selection({"/open", pattern})};

    const auto found = update_as_ordinary_user(discovery);

    EXPECT_THAT(paths(*found), ElementsAre("/open")) << pattern;
    EXPECT_THAT(found->unreadable, ElementsAre(Field(&Error::code, EACCES))) << pattern;
  }
  ::chmod(tree.path("closed").c_str(), 0700);
}

TEST_F(DiscoveryTest, WantOfDescriptorsKeepsNoOneThatIsGoneAndIsMadeUpForLater) {
  Discovery discovery = over({{"gone/"}});
  ASSERT_TRUE(discovery.update(kPlenty, kFirstUpdate));
  tree_.remove("gone");
  for (const char* name : {"a", "b", "c"}) tree_.make_directory(name);
  {
    const test::FewDescriptors one{1};
    const auto scarce = must_update(discovery);
    EXPECT_THAT(paths(*scarce), ElementsAre("/a"));
    EXPECT_THAT(scarce->unreadable, SizeIs(2));
    EXPECT_THAT(scarce->unreadable, Each(Field(&Error::code, EMFILE)));
  }
  EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/b", "/c"));
}

// --- leaves --------------------------------------------------------------------------------------

Selection leaves_of(std::initializer_list<const char*> include,
                    std::initializer_list<const char*> exclude = {}) {
  Selection wanted = selection(include, exclude);
  wanted.leaves = true;
  return wanted;
}

TEST_F(DiscoveryLeavesTest, AreThoseWithNoSelectedOneBelow) {
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

TEST_F(DiscoveryLeavesTest, ThatReplaceAnotherOneAreAllThatItHas) {
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

// --- the choice among too many -------------------------------------------------------------------

constexpr const char* kUse1 = "usage_usec 1\n";
constexpr const char* kUse5 = "usage_usec 5\nuser_usec 3\nsystem_usec 2\n";
constexpr const char* kUse9 = "usage_usec 9\n";

TEST_F(DiscoveryChoiceTest, TakesThoseThatHaveUsedMostCpuTime) {
  Discovery discovery = over({{"a/cpu.stat", kUse1},
                              {"b/cpu.stat", kUse9},
                              {"c/cpu.stat", kUse5},
                              {"d/cpu.stat", "usage_usec 10\n"}});  // more than 9, not before it

  const auto found = must_update(discovery, 2);

  EXPECT_THAT(paths(*found), ElementsAre("/b", "/d"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a", "/c"));
}

TEST_F(DiscoveryChoiceTest, DoesNotWaitForAFifoInThePlaceOfACpuTime) {
  Discovery discovery = over({{"a/"}, {"b/cpu.stat", kUse1}});
  ASSERT_EQ(::mkfifo(tree_.path("a/cpu.stat").c_str(), 0600), 0);

  EXPECT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/b"));
}

TEST_F(DiscoveryChoiceTest, TakesTheFirstByPathOfThoseThatHaveUsedAsMuch) {
  Discovery discovery = over({{"a/cpu.stat", kUse1}, {"z/"}});
  for (int i = 99; i >= 10; --i) tree_.write("b" + std::to_string(i) + "/cpu.stat", kUse5);

  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/b10", "/b11", "/b12"));
  EXPECT_EQ(found->left_out, 89U);
  EXPECT_TRUE(std::is_sorted(found->left_out_paths.begin(), found->left_out_paths.end()));
}

TEST_F(DiscoveryChoiceTest, OfVersion1GoesByTheHierarchyThatAccounts) {
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

TEST_F(DiscoveryChoiceTest, KeepsThoseItHoldsWhateverOthersUse) {
  Discovery discovery = over({{"m/cpu.stat", kUse1}, {"n/cpu.stat", kUse1}});
  must_update(discovery, 3);

  tree_.write("a/cpu.stat", kUse5);
  tree_.write("z/cpu.stat", kUse9);
  const auto found = must_update(discovery, 3);

  EXPECT_THAT(paths(*found), ElementsAre("/m", "/n", "/z"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST_F(DiscoveryChoiceTest, GivesRoomToTheOneThatHasUsedMostUpToHalfAMinuteBefore) {
  Discovery discovery = over({{"a/cpu.stat", kUse9}, {"b/cpu.stat", kUse5}, {"c/cpu.stat", kUse1}});
  ASSERT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));

  tree_.write("c/cpu.stat", kUse9);
  (void)must_update(discovery, 1, kFirstUpdate + 30s);
  tree_.write("b/cpu.stat", "usage_usec 10\n");
  tree_.remove("a");
  const auto found = must_update(discovery, 1, kFirstUpdate + 31s);

  EXPECT_THAT(paths(*found), ElementsAre("/c"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/b"));
}

TEST_F(DiscoveryChoiceTest, TakesOneCreatedAgainForANewcomer) {
  Discovery discovery = over({{"a/cpu.stat", kUse1}});
  const auto before = must_update(discovery, 1);

  tree_.write("b/cpu.stat", kUse9);
  tree_.remove("a");
  tree_.write("a/cpu.stat", kUse1);
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST_F(DiscoveryChoiceTest, CountsEachOnceThatComesToBeLeftOut) {
  Discovery discovery = over({{"a/"}, {"b/"}, {"c/"}});
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 2U);

  tree_.make_directory("d");
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 1U);
  tree_.remove("a");
  must_update(discovery, 1);
  EXPECT_EQ(discovery.take_newly_left_out(), 0U);
  must_update(discovery, 0);
  EXPECT_EQ(discovery.take_newly_left_out(), 1U);  // the one that had been held
}

TEST_F(DiscoveryChoiceTest, OfMoreThanSomebodyWouldReadItListsTheFirstAndCountsAll) {
  for (int i = 1000; i < 1300; ++i) tree_.make_directory(std::to_string(i));
  Discovery discovery = over({});

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

TEST_F(DiscoveryChoiceTest, WhateverComesAndGoesEachThatIsSelectedIsHeldOrLeftOut) {
  std::mt19937 random{20260901};
  const auto any = [&random](int below) { return static_cast<int>(random() % below); };
  for (const bool leaves : {false, true}) {
    CgroupTree tree;
    Selection selected = selection({"/*", "/a*/**", "/b/?"}, {"/a1", "/b/a"});
    selected.leaves = leaves;
    Discovery discovery{{tree.root()}, selected};
    for (int round = 0; round < 400; ++round) {
      for (int changes = any(4); changes > 0; --changes) {
        static constexpr const char* kNames[] = {"a", "a1", "a-", "b", "c"};
        std::string path;
        for (int depth = 1 + any(3); depth > 0; --depth) path += std::string("/") + kNames[any(5)];
        if (any(2) == 0) {
          tree.make(path);
        } else if (tree.has(path)) {
          tree.remove(path);
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

TEST_F(DiscoverySharesTest, DivideTheRoomAmongTheSubtreesOfEachDirectory) {
  make_children(tree_, "kubepods/a", 40);
  make_children(tree_, "kubepods/b", 10);
  make_children(tree_, "system", 6);
  Discovery discovery = over({}, leaves_of({"/**"}));

  const auto found = must_update(discovery, 32);

  EXPECT_EQ(held_below(*found, "/system"), 6U);
  EXPECT_EQ(held_below(*found, "/kubepods/b"), 10U);
  EXPECT_EQ(held_below(*found, "/kubepods/a"), 16U);
}

TEST_F(DiscoverySharesTest, OneThatComesAfterAnotherHasTakenAllIsHeldAtOnce) {
  make_children(tree_, "hex", 300);
  Discovery discovery = over({}, leaves_of({"/**"}));
  must_update(discovery, 256);
  (void)discovery.take_newly_left_out();

  tree_.make_directory("late/x");
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

TEST_F(DiscoverySharesTest, SoManyGiveWayAtOnceAndOneInEachSecondAfterThat) {
  constexpr auto kAtOnce = static_cast<std::size_t>(Discovery::kExchangesAtOnce);
  make_children(tree_, "a", 100);
  Discovery discovery = over({}, leaves_of({"/**"}));
  must_update(discovery, 100);

  make_children(tree_, "b", 100);

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

TEST_F(DiscoverySharesTest, OnceTheyAreFairWhoIsHeldStays) {
  make_children(tree_, "a", 7);
  make_children(tree_, "b", 7);
  Discovery discovery = over({}, leaves_of({"/**"}));
  const auto first = must_update(discovery, 7);  // four and three

  for (int second = 1; second < 100; ++second) {
    EXPECT_EQ(must_update(discovery, 7, kFirstUpdate + second * 1s), first);
  }
}

TEST_F(DiscoverySharesTest, NoneIsReplacedByOneThatCannotBeHeld) {
  make_children(tree_, "a", 4);
  ::chmod(tree_.root().c_str(), 0755);
  Discovery discovery = over({}, leaves_of({"/**"}));
  const auto before = must_update(discovery, 4);

  tree_.make_directory("b/x");
  ::chmod(tree_.path("b/x").c_str(), 0);
  const auto found = update_as_ordinary_user(discovery, 4);
  ::chmod(tree_.path("b/x").c_str(), 0700);

  EXPECT_EQ(paths(*found), paths(*before));
  EXPECT_EQ(discovery.take_displaced().cgroups, 0U);
}

TEST_F(DiscoverySharesTest, WhereThereIsLessRoomTheLargestSharesGiveIt) {
  make_children(tree_, "a", 10);
  make_children(tree_, "b", 3);
  Discovery discovery = over({}, leaves_of({"/**"}));
  must_update(discovery, 13);

  const auto found = must_update(discovery, 7);

  EXPECT_EQ(held_below(*found, "/a"), 4U);
  EXPECT_EQ(held_below(*found, "/b"), 3U);
  EXPECT_EQ(discovery.take_displaced().cgroups, 0U);
}

// --- those let go --------------------------------------------------------------------------------

TEST_F(DiscoveryTest, GivesTheRoomOfTheOneThatIsLetGoToAnother) {
  Discovery discovery = over({{"a/cpu.stat", kUse1}});
  must_update(discovery, 1);
  tree_.write("b/cpu.stat", kUse9);
  ASSERT_THAT(paths(*must_update(discovery, 1)), ElementsAre("/a"));

  discovery.release("/a");
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST_F(DiscoveryTest, LeavesOutTheOneThatIsLetGoWhereThereIsLessRoom) {
  Discovery discovery = over({{"a/cpu.stat", kUse9}, {"b/cpu.stat", kUse1}});
  must_update(discovery, 2);

  discovery.release("/a");
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, ElementsAre("/a"));
}

TEST_F(DiscoveryTest, TakesTheOneThatIsLetGoBackWhereNoOtherWantsItsRoom) {
  Discovery discovery = over({{"a/"}, {"b/"}});
  const auto before = must_update(discovery);

  discovery.release("/a");
  const auto after = must_update(discovery);

  EXPECT_THAT(paths(*after), ElementsAre("/a", "/b"));
  EXPECT_EQ(after->cgroups[0]->id, before->cgroups[0]->id);
  EXPECT_EQ(must_update(discovery), after);
}

TEST_F(DiscoveryTest, DoesNotMindToLetGoWhatItDoesNotHold) {
  Discovery discovery = over({{"a/"}, {"b/"}});
  const auto before = must_update(discovery, 1);

  discovery.release("/b");
  discovery.release("/absent");

  EXPECT_EQ(must_update(discovery, 1), before);
}

// --- what is missed ------------------------------------------------------------------------------

TEST_F(DiscoveryTest, MissesWhatCameAndWentBetweenTwoUpdates) {
  Discovery discovery = over({{"a/"}});
  const auto before = must_update(discovery);

  tree_.make_directory("b");
  tree_.remove("b");

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

TEST_F(DiscoveryTest, MissesOnceTheOneThatGoesBeforeItCanBeHeldAndGivesItsRoomToAnother) {
  Discovery discovery = over({{"a/"}, {"b/"}});

  const WhileItChooses happens{tree_, "a", [&] { tree_.remove("a"); }};
  const auto found = must_update(discovery, 1);

  EXPECT_THAT(paths(*found), ElementsAre("/b"));
  EXPECT_THAT(found->left_out_paths, IsEmpty());
  EXPECT_THAT(found->unreadable, IsEmpty());
  EXPECT_EQ(discovery.take_missed(), 1U);
  EXPECT_EQ(must_update(discovery, 1), found);
  EXPECT_EQ(discovery.take_missed(), 0U);
}

TEST_F(DiscoveryTest, KeepsTheOneThatIsCreatedAgainBeforeItCanBeHeld) {
  Discovery discovery = over({{"a/"}, {"b/"}});
  const UniqueFd first{::open(tree_.path("a").c_str(), O_PATH)};  // so its inode is not used again

  const WhileItChooses happens{tree_, "a", [&] {
                                 tree_.remove("a");
                                 tree_.make_directory("a");
                               }};
  const auto chosen = must_update(discovery, 1);
  const auto found = must_update(discovery, 1);

  ASSERT_THAT(paths(*found), ElementsAre("/a"));
  EXPECT_EQ(found->cgroups[0], chosen->cgroups[0]);
  struct stat named {};
  ASSERT_EQ(::stat(tree_.path("a").c_str(), &named), 0);
  EXPECT_EQ(found->cgroups[0]->id, named.st_ino);
}

TEST_F(DiscoveryLeavesTest, ComeBackWhenTheirLastChildGoesBeforeItCanBeHeld) {
  Discovery discovery = over({{"a/x/"}, {"b/"}, {"c/"}}, leaves_of({"/**"}));

  const WhileItChooses happens{tree_, "a/x", [&] {
                                 tree_.remove("a/x");
                                 tree_.remove("c");
                               }};
  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/b"));

  EXPECT_THAT(paths(*must_update(discovery, 2)), ElementsAre("/a", "/b"));
}

TEST_F(DiscoveryLeavesTest, AreRightInTheEndHoweverMuchHappensWhileItReads) {
  Discovery discovery = over({{"a/"}, {"b/"}}, leaves_of({"/**"}));
  must_update(discovery);

  for (int round = 0; round < 100 && !testing::Test::HasFailure(); ++round) {
    std::atomic<bool> done = false;
    std::thread others([&] {
      for (int i = 0; i < 5; ++i) {
        const std::string name = "a/" + std::to_string(round) + "." + std::to_string(i);
        tree_.make_directory(name + "/inner");
        tree_.remove(name);
      }
      done = true;
    });
    while (!done) must_update(discovery);
    others.join();

    EXPECT_THAT(paths(*must_update(discovery)), ElementsAre("/a", "/b")) << "round " << round;
  }
}

}  // namespace
}  // namespace pex::cgroup::discovery_test
