// Which path the cgroup of an id has: Tree::names, and what Discovery adds to it of reports.

#include <sys/stat.h>

#include <cstdint>
#include <ostream>
#include <string_view>

#include "cgroup/discovery/discovery.h"
#include "support/few_descriptors.h"
#include "support/ordinary_user.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup::tree_names_test {
namespace {

using namespace std::chrono_literals;
using Names = std::shared_ptr<const CgroupNames>;
using Reports = std::vector<NamedCgroup>;

constexpr std::uint64_t kGone = 999'999'999'999;  ///< an id that no directory has

/// By id; "(none)" if it has no name.
std::string name(const Names& names, std::uint64_t id) {
  const std::string* const path = names->path_of(id);
  return path == nullptr ? "(none)" : *path;
}

std::size_t count(const Names& names) {
  std::size_t all = 0;
  names->for_each([&](const auto&...) { ++all; });
  return all;
}

/// The names of a tree in which nothing is selected.
class NamedTree {
 public:
  explicit NamedTree(const CgroupTree& host, Tree::Limits limits = {.directories = 1000})
      : discovery_({host.root()}, Selection{}, limits) {
    update(kStart, {{host.inode(""), "/"}});
  }

  Names update(Tree::Clock::time_point now, const Reports& reported = {},
               bool lacks_names = false) {
    failed_ = !discovery_.update(0, now, reported, lacks_names);
    return discovery_.names();
  }
  bool failed() const { return failed_; }
  Discovery& discovery() { return discovery_; }

 private:
  Discovery discovery_;
  bool failed_ = false;
};

class TreeNamesTest : public testing::Test {
 protected:
  NamedCgroup report(std::string_view path) const {
    return {host_.inode(path), "/" + std::string(path)};
  }

  CgroupTree host_;
};

TEST_F(TreeNamesTest, FollowWhatComesAndGoes) {
  host_.make("a");
  NamedTree tree{host_};
  host_.make("b/c");

  EXPECT_EQ(name(tree.update(kStart), host_.inode("b/c")), "/b/c");  // the root is watched
  host_.make("b/c/d");
  EXPECT_EQ(name(tree.update(kStart), host_.inode("b/c/d")), "(none)");
  EXPECT_EQ(name(tree.update(kStart + 1min), host_.inode("b/c/d")), "/b/c/d");
}

TEST_F(TreeNamesTest, AreTheSameObjectWhileNothingChanges) {
  host_.make("a");
  NamedTree tree{host_};
  const Names names = tree.update(kStart);

  EXPECT_EQ(tree.update(kStart + 1s, {}, true), names);
  EXPECT_EQ(tree.update(kStart + 2s, {report("a")}), names);
  EXPECT_EQ(tree.update(kStart + 3min), names);
}

TEST_F(TreeNamesTest, AreOnlyThereWhileThereAreReports) {
  host_.make("a");
  Discovery discovery{{host_.root()}, selection({"/b"})};

  ASSERT_TRUE(discovery.update(9, kStart));
  EXPECT_EQ(count(discovery.names()), 0U);

  ASSERT_TRUE(discovery.update(9, kStart, Reports{}));
  EXPECT_EQ(name(discovery.names(), host_.inode("a")), "/a");

  ASSERT_TRUE(discovery.update(9, kStart));
  EXPECT_EQ(count(discovery.names()), 0U);
}

TEST_F(TreeNamesTest, ChangeNothingOfWhatIsSelected) {
  for (const char* path : {"a/x/y", "b/x", "c"}) host_.make(path);
  host_.make(std::string(200, 'l'));
  for (const bool leaves : {false, true}) {
    Selection wanted = selection({"/a", "/b/*"});
    wanted.leaves = leaves;
    const Tree::Limits limits{.directories = 5, .path_bytes = 100};
    Discovery without{{host_.root()}, wanted, limits};
    Discovery with{{host_.root()}, wanted, limits};
    const auto paths = [](const auto& found) {
      std::vector<std::string> all;
      for (const auto& cgroup : (*found)->cgroups) all.push_back(cgroup->path);
      return all;
    };

    EXPECT_EQ(paths(with.update(9, kStart, Reports{})), paths(without.update(9, kStart)));
    EXPECT_EQ(with.directories(), without.directories());
    EXPECT_EQ(with.skipped(), Tree::Skipped{});
    EXPECT_EQ(with.unwatched(), 0U);
  }
}

// --- what is reported ----------------------------------------------------------------------------

TEST_F(TreeNamesTest, OfACgroupWithoutRoomForItsPathAreThoseOfTheNearestOneAbove) {
  NamedTree tree{host_};
  const std::string most(Tree::kMaxPathBytes - 1, 'm');
  const std::string deep = "/a/b/" + std::string(Tree::kMaxPathBytes, 'n') + "/c";

  const Names names =
      tree.update(kStart, {{kGone, "/" + most}, {kGone + 1, "/" + most + "x"}, {kGone + 2, deep}});

  EXPECT_EQ(name(names, kGone), "/" + most);
  EXPECT_EQ(name(names, kGone + 1), "/");
  EXPECT_EQ(name(names, kGone + 2), "/a/b/");
}

TEST_F(TreeNamesTest, OfAPathThatWasCutOffAreThoseOfTheDirectoryAbove) {
  Tree tree{host_.root(), Selection{}};
  tree.name_all(true);
  must_update(tree);

  tree.learn({{kGone, "/a/"}});

  EXPECT_EQ(name(tree.names(), kGone), "/a/");
}

TEST_F(TreeNamesTest, AreThoseOfDirectoriesWhereAReportHasAnother) {
  host_.make("a");
  NamedTree tree{host_};
  const NamedCgroup made = report("a");
  host_.rename("a", "b");

  const Names renamed = tree.update(kStart + 60s);
  const Names reported = tree.update(kStart + 60s, {made});

  EXPECT_EQ(name(renamed, host_.inode("b")), "/b");
  EXPECT_EQ(reported, renamed);
}

// --- walks ---------------------------------------------------------------------------------------

TEST_F(TreeNamesTest, AreLookedForAgainWithinTwentySecondsIfSomeAreLacking) {
  host_.make("x");
  NamedTree tree{host_};
  host_.make("x/a");

  EXPECT_EQ(name(tree.update(kStart + 30s), host_.inode("x/a")), "(none)");
  EXPECT_EQ(name(tree.update(kStart + 30s, {}, true), host_.inode("x/a")), "/x/a");
  host_.make("x/b");
  EXPECT_EQ(name(tree.update(kStart + 49s, {}, true), host_.inode("x/b")), "(none)");
  EXPECT_EQ(name(tree.update(kStart + 50s, {}, true), host_.inode("x/b")), "/x/b");
}

TEST_F(TreeNamesTest, OfACgroupWithoutRoomForItsPathAreFoundByAWalk) {
  const std::string part(200, 'p');
  std::string path;
  for (int depth = 0; depth < 6; ++depth) path += "/" + part;
  host_.make(path + "/end");
  NamedTree tree{host_};

  for (int minute = 0; minute < 5; ++minute) {
    const Names names = tree.update(kStart + 1min * minute);

    const std::string fits = path.substr(0, 5 * (part.size() + 1));
    EXPECT_EQ(name(names, host_.inode(fits)), fits);
    EXPECT_EQ(name(names, host_.inode(path)), fits + "/");
    EXPECT_EQ(name(names, host_.inode(path + "/end")), fits + "/");
  }
  host_.make(path + "x/end");
  EXPECT_EQ(name(tree.update(kStart + 5min), host_.inode(path + "x/end")).back(), '/');
}

// --- what is gone --------------------------------------------------------------------------------

TEST_F(TreeNamesTest, StayForAMinuteAfterTheWalkThatMissesThem) {
  host_.make("a");
  NamedTree tree{host_};
  const std::uint64_t id = host_.inode("a");
  host_.remove("a");

  EXPECT_EQ(name(tree.update(kStart + 60s), id), "/a");  // the walk that misses it
  EXPECT_EQ(name(tree.update(kStart + 119s), id), "/a");
  EXPECT_EQ(name(tree.update(kStart + 120s), id), "(none)");
}

TEST_F(TreeNamesTest, EndIfTheyWereOnlyReported) {
  NamedTree tree{host_};
  tree.update(kStart + 1s, {{kGone, "/gone"}});

  EXPECT_EQ(name(tree.update(kStart + 60s), kGone), "/gone");
  const Names names = tree.update(kStart + 120s);

  EXPECT_EQ(name(names, kGone), "(none)");
  EXPECT_EQ(count(names), 1U);
}

TEST_F(TreeNamesTest, StayForAMinuteAgainIfTheCgroupIsFoundAgain) {
  host_.make("a/b");
  NamedTree tree{host_};
  const std::uint64_t id = host_.inode("a/b");
  const std::string away = host_.root() + ".away";
  ASSERT_EQ(::rename(host_.path("a").c_str(), away.c_str()), 0);
  tree.update(kStart + 60s);
  ASSERT_EQ(::rename(away.c_str(), host_.path("a").c_str()), 0);
  tree.update(kStart + 119s);
  host_.remove("a");

  EXPECT_EQ(name(tree.update(kStart + 179s), id), "/a/b");  // misses it again
  EXPECT_EQ(name(tree.update(kStart + 238s), id), "/a/b");
}

TEST_F(TreeNamesTest, StayBelowADirectoryThatMayNotBeRead) {
  ::chmod(host_.root().c_str(), 0755);
  host_.make("closed/a");
  NamedTree tree{host_};
  const std::uint64_t id = host_.inode("closed/a");
  host_.make("open");
  ::chmod(host_.path("closed").c_str(), 0);
  Names names;
  {
    const test::OrdinaryUser user;
    for (int minute = 1; minute <= 5; ++minute) names = tree.update(kStart + 1min * minute);
  }

  EXPECT_EQ(name(names, id), "/closed/a");
  EXPECT_EQ(name(names, host_.inode("open")), "/open");
  EXPECT_FALSE(tree.failed());
  EXPECT_TRUE(tree.discovery().last()->unreadable.empty());  // nothing is selected there
  ::chmod(host_.path("closed").c_str(), 0755);
  host_.remove("closed");
  for (int minute = 6; minute <= 9; ++minute) names = tree.update(kStart + 1min * minute);
  EXPECT_EQ(name(names, id), "(none)");
}

TEST_F(TreeNamesTest, AllStayWhenAWalkCannotReadTheTree) {
  host_.make("a");
  NamedTree tree{host_};
  const std::string away = host_.root() + ".away";
  ASSERT_EQ(::rename(host_.root().c_str(), away.c_str()), 0);
  const Names failed = tree.update(kStart + 60s);
  EXPECT_TRUE(tree.failed());
  ASSERT_EQ(::rename(away.c_str(), host_.root().c_str()), 0);

  EXPECT_EQ(name(failed, host_.inode("a")), "/a");
  EXPECT_EQ(tree.update(kStart + 120s), failed);
  EXPECT_FALSE(tree.failed());
}

TEST_F(TreeNamesTest, AllStayForLackOfDescriptors) {
  host_.make("a/b");
  NamedTree tree{host_};
  Names names;
  {
    const test::FewDescriptors none{0};
    for (int minute = 1; minute <= 3; ++minute) names = tree.update(kStart + 1min * minute);
  }

  EXPECT_EQ(name(names, host_.inode("a/b")), "/a/b");
  EXPECT_TRUE(tree.failed());
}

// --- limits --------------------------------------------------------------------------------------

TEST_F(TreeNamesTest, AreDividedFairlyWhereThereAreTooMany) {
  for (int i = 0; i < 50; ++i) host_.make("a/x" + std::to_string(i));
  for (const char* path : {"b/x/y", "c/x"}) host_.make(path);
  NamedTree tree{host_, {.directories = 20}};

  const Names names = tree.update(kStart);

  EXPECT_EQ(count(names), 21U);  // with the root
  EXPECT_EQ(name(names, host_.inode("b/x/y")), "/b/x/y");
  EXPECT_EQ(name(names, host_.inode("c/x")), "/c/x");
}

TEST_F(TreeNamesTest, TakeNoPlacesFromWhatIsSelected) {
  for (int i = 0; i < 50; ++i) host_.make("a/x" + std::to_string(i));
  for (int i = 0; i < 18; ++i) host_.make("a/s" + std::to_string(i));
  Discovery discovery{{host_.root()}, selection({"/a/s*"}), {.directories = 20}};
  ASSERT_TRUE(discovery.update(0, kStart, Reports{}));
  host_.make("a/s18");

  ASSERT_TRUE(discovery.update(0, kStart, Reports{}));

  EXPECT_EQ(discovery.directories(), 20U);
  EXPECT_EQ(discovery.skipped(), Tree::Skipped{});
  EXPECT_EQ(count(discovery.names()), 41U);
}

TEST_F(TreeNamesTest, OfABoundedNumberThatAreReportedAreKept) {
  NamedTree tree{host_, {.directories = 100}};
  Names names;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    names = tree.update(kStart + 1ms, {{kGone + i, "/x"}});
    EXPECT_LE(count(names), 105U);
  }

  EXPECT_GE(count(names), 50U);
}

TEST_F(TreeNamesTest, OfTheNewestAreKeptWhereTooManyAreGone) {
  NamedTree tree{host_, {.directories = 100}};
  Names names;
  std::uint64_t next = kGone;
  for (int second = 1; second <= 20; ++second) {
    Reports made;
    for (int i = 0; i < 50; ++i, ++next) made.push_back({next, "/x" + std::to_string(next)});
    names = tree.update(kStart + 1s * second, made);
    EXPECT_LE(count(names), 201U);
    EXPECT_EQ(name(names, next - 1), made.back().path);
    EXPECT_EQ(name(names, made.front().id), made.front().path);
  }
  EXPECT_EQ(name(names, kGone), "(none)");
}

// --- anything ------------------------------------------------------------------------------------

RC_GTEST_PROP(TreeNamesPropertyTest, AreNotMisledByReportsOfAnyBytes,
              (std::vector<std::pair<std::uint64_t, std::string>> reports)) {
  CgroupTree host;
  host.make("a/b");
  NamedTree tree{host};

  Reports all;
  for (const auto& [id, path] : reports) all.push_back({id, path});
  for (const char* const path : {"/a", "/a/b", "/"}) {
    for (const auto& [id, bytes] : reports) all.push_back({host.inode(path), bytes});
  }
  const Names names = tree.update(kStart + 1s, all, true);

  RC_ASSERT(name(names, host.inode("")) == "/");
  RC_ASSERT(name(names, host.inode("a")) == "/a");
  RC_ASSERT(name(names, host.inode("a/b")) == "/a/b");
  names->for_each([](std::uint64_t id, const std::string& path) {
    RC_ASSERT(id != 0U);
    RC_ASSERT(path.starts_with('/'));
    RC_ASSERT(path.size() <= Tree::kMaxPathBytes + 1);
  });
}

struct Step {
  enum class Kind { kMake, kRemove, kReport, kLoseReports, kUpdate };
  Kind kind = Kind::kMake;
  int number = 0;  ///< which path, or how many seconds pass before an update
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kKinds[] = {"make", "remove", "report", "lose reports", "update after"};
  return out << kKinds[static_cast<int>(step.kind)] << ' ' << step.number;
}

rc::Gen<std::vector<Step>> any_steps() {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>({{6, Kind::kMake},
                                                    {4, Kind::kRemove},
                                                    {3, Kind::kReport},
                                                    {1, Kind::kLoseReports},
                                                    {6, Kind::kUpdate}});
  const auto step = rc::gen::build<Step>(rc::gen::set(&Step::kind, kind),
                                         rc::gen::set(&Step::number, rc::gen::inRange(0, 45)));
  return rc::gen::resize(200, rc::gen::container<std::vector<Step>>(step));
}

/// A tree and all that ever was in it.
class History {
 public:
  struct Life {
    std::string path;
    Tree::Clock::time_point seen;  ///< by an update, when it existed or was reported
  };

  void make(int number) {
    const std::string path = path_of(number);
    if (host_.has(path)) return;
    host_.make(path);
    for (const std::string& each : {path.substr(0, 2), path}) {
      if (!lives_.contains(host_.inode(each))) made_.push_back({host_.inode(each), each});
      lives_.try_emplace(host_.inode(each), Life{each, {}});
    }
  }
  void remove(int number) {
    if (host_.has(path_of(number))) host_.remove(path_of(number));
  }
  /// Half of what was made, as rings of several CPUs are read one after the other.
  void report() {
    const std::size_t half = (made_.size() + 1) / 2;
    reported_.insert(reported_.end(), made_.begin(), made_.begin() + static_cast<long>(half));
    made_.erase(made_.begin(), made_.begin() + static_cast<long>(half));
  }
  void lose_reports() { made_.clear(); }

  Reports take_reported(Tree::Clock::time_point now) {
    for (const NamedCgroup& cgroup : reported_) lives_.at(cgroup.id).seen = now;
    return std::exchange(reported_, {});
  }
  void see_all(Tree::Clock::time_point now) {
    for (auto& [id, life] : lives_) {
      if (host_.inode(life.path) == id) life.seen = now;
    }
  }

  const CgroupTree& host() const { return host_; }
  const std::map<std::uint64_t, Life>& lives() const { return lives_; }

 private:
  static std::string path_of(int number) {
    std::string path = "/a/b";
    path[1] = static_cast<char>('a' + number % 3);
    if (number % 5 == 0) path.resize(2);
    path.back() = static_cast<char>(path.back() + number / 10);
    return path;
  }

  CgroupTree host_;
  std::map<std::uint64_t, Life> lives_;
  Reports made_;
  Reports reported_;
};

RC_GTEST_PROP(TreeNamesPropertyTest, AreRightAndThereOfAllThatWereSeenInTheLastMinute, ()) {
  History history;
  NamedTree tree{history.host()};
  Tree::Clock::time_point now = kStart;

  for (const Step& step : *any_steps()) {
    if (step.kind == Step::Kind::kMake) history.make(step.number);
    if (step.kind == Step::Kind::kRemove) history.remove(step.number);
    if (step.kind == Step::Kind::kReport) history.report();
    if (step.kind == Step::Kind::kLoseReports) history.lose_reports();
    if (step.kind != Step::Kind::kUpdate) continue;

    const bool walks = step.number >= 5;
    now += 1s * step.number + (walks ? 60s : 0s);
    const Names names = tree.update(now, history.take_reported(now));
    if (walks) history.see_all(now);

    RC_ASSERT(tree.update(now) == names);
    std::size_t known = 1;  // the root
    for (const auto& [id, life] : history.lives()) {
      const std::string* const path = names->path_of(id);
      known += path != nullptr ? 1 : 0;
      const std::string found = path == nullptr ? life.path : *path;
      RC_ASSERT(found == life.path);
      const bool was_seen = life.seen != Tree::Clock::time_point{} && now - life.seen < 60s;
      RC_ASSERT((path != nullptr || !was_seen));
    }
    RC_ASSERT(count(names) == known);
  }
}

}  // namespace
}  // namespace pex::cgroup::tree_names_test
