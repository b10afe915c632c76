#include "cgroup/name_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "watched_tree.h"

namespace pex::cgroup::name_keeper_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Names = std::shared_ptr<const CgroupNames>;
using Reports = std::vector<NamedCgroup>;

constexpr bool kUnknown = true;                   ///< the last argument of update()
constexpr std::uint64_t kGone = 999'999'999'999;  ///< an id that no directory has

/// By id; "(none)" if it has no name.
std::string name(const Names& names, std::uint64_t id) {
  const std::string* const path = names->path_of(id);
  return path == nullptr ? "(none)" : *path;
}

class NameKeeperTest : public testing::Test {
 protected:
  /// As if the tree was mounted at `above` of the hierarchy: names all that is there.
  NameKeeper keeper(const std::string& above, std::size_t max_directories = 1000) {
    NameKeeper keeper{{host_.root()}, max_directories};
    const NamedCgroup root{host_.inode(""), above.empty() ? "/" : above};
    keeper.update(kStart, {}, false);
    keeper.update(kStart, Reports{root}, false);
    return keeper;
  }

  NamedCgroup report(std::string_view path, const std::string& above = "") const {
    return {host_.inode(path), above + "/" + std::string(path)};
  }

  CgroupTree host_;
};

TEST_F(NameKeeperTest, NamesEveryDirectoryAtItsFirstUpdate) {
  host_.make("a/b");
  host_.make("c");
  host_.write("c/file");
  NameKeeper keeper{{host_.root()}};

  const Names names = keeper.update(kStart, {}, false);

  EXPECT_EQ(name(names, host_.inode("")), "/");
  EXPECT_EQ(name(names, host_.inode("a")), "/a");
  EXPECT_EQ(name(names, host_.inode("a/b")), "/a/b");
  EXPECT_EQ(name(names, host_.inode("c")), "/c");
  EXPECT_EQ(names->size(), 4U);
  EXPECT_FALSE(keeper.error());
}

TEST_F(NameKeeperTest, GivesTheSameNamesWhileNothingChanges) {
  host_.make("a");
  NameKeeper keeper{{host_.root()}};
  const Names names = keeper.update(kStart, {}, false);

  EXPECT_EQ(keeper.update(kStart + 1s, {}, kUnknown), names);
  EXPECT_EQ(keeper.update(kStart + 2s, Reports{report("a")}, false), names);
  EXPECT_EQ(keeper.update(kStart + 3min, {}, false), names);
}

// --- what is reported ----------------------------------------------------------------------------

TEST_F(NameKeeperTest, NamesAtOnceWhatIsReported) {
  NameKeeper keeper = this->keeper("");

  const Names names = keeper.update(kStart, Reports{{kGone, "/a/b"}}, false);

  EXPECT_EQ(name(names, kGone), "/a/b");
  EXPECT_THAT(keeper.reported(), ElementsAre(NamedCgroup{kGone, "/a/b"}));
}

TEST_F(NameKeeperTest, ReturnsOnlyWhatWasReportedSinceTheUpdateBefore) {
  NameKeeper keeper = this->keeper("");
  keeper.update(kStart, Reports{{kGone, "/a"}}, false);

  keeper.update(kStart, {}, false);

  EXPECT_THAT(keeper.reported(), IsEmpty());
}

TEST_F(NameKeeperTest, ReturnsWhatIsReportedThoughItIsKnown) {
  host_.make("a");
  NameKeeper keeper = this->keeper("");

  keeper.update(kStart, Reports{report("a")}, false);

  EXPECT_THAT(keeper.reported(), ElementsAre(report("a")));
}

TEST_F(NameKeeperTest, IgnoresWhatTheKernelDoesNotWrite) {
  NameKeeper keeper = this->keeper("");
  const Names before = keeper.update(kStart, {}, false);
  const std::string paths[] = {"",
                               "a",
                               "a/b",
                               "//enomem",
                               "//deleted",
                               "/a/",
                               "/a//b",
                               "/a/../b",
                               "/..",
                               "/./a",
                               {"/a\0b", 4},
                               "(null)",
                               "/" + std::string(PATH_MAX, 'x')};

  for (const std::string& path : paths) {
    EXPECT_EQ(keeper.update(kStart, Reports{{kGone, path}}, false), before) << path;
  }
  EXPECT_EQ(keeper.update(kStart, Reports{{0, "/a"}}, false), before);
}

TEST_F(NameKeeperTest, TakesNamesOfAnyOtherBytes) {
  NameKeeper keeper = this->keeper("");
  const std::string path = "/\xff\x01 (deleted)/...";

  EXPECT_EQ(name(keeper.update(kStart, Reports{{kGone, path}}, false), kGone), path);
}

TEST_F(NameKeeperTest, NamesACgroupWithoutRoomForItsPathAfterTheNearestOneAbove) {
  NameKeeper keeper = this->keeper("");
  const std::string most(Tree::kMaxPathBytes - 1, 'm');
  const std::string deep = "/a/b/" + std::string(Tree::kMaxPathBytes, 'n') + "/c";

  const Names names = keeper.update(
      kStart, Reports{{kGone, "/" + most}, {kGone + 1, "/" + most + "x"}, {kGone + 2, deep}},
      false);

  EXPECT_EQ(name(names, kGone), "/" + most);
  EXPECT_EQ(name(names, kGone + 1), "/");
  EXPECT_EQ(name(names, kGone + 2), "/a/b/");
  EXPECT_THAT(keeper.reported(), ElementsAre(NamedCgroup{kGone, "/" + most}));
}

TEST_F(NameKeeperTest, DoesNotTakeTheEndOfAPathThatTheKernelCutOffForAName) {
  const std::string above = "/" + std::string(3500, 'x');
  NameKeeper keeper = this->keeper(above);
  const std::size_t room = PATH_MAX - 9 - above.size();  // as perf_event_cgroup() leaves it
  const std::string fits = "/a/" + std::string(room - 4, 'b');
  const std::string cut = "/a/" + std::string(room - 3, 'b');

  const Names names =
      keeper.update(kStart, Reports{{kGone, above + fits}, {kGone + 1, above + cut}}, false);

  EXPECT_EQ(name(names, kGone), fits);
  EXPECT_EQ(name(names, kGone + 1), "/a/");
}

// --- a mount that shows a part -------------------------------------------------------------------

TEST_F(NameKeeperTest, LearnsFromACgroupThatItKnowsWhichPartIsMounted) {
  host_.make("web/worker");
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);

  const Names names = keeper.update(kStart,
                                    Reports{report("web/worker", "/kubepods/pod"),
                                            {kGone, "/kubepods/pod/gone"},
                                            {kGone + 1, "/kubepods/pods/other"},
                                            {kGone + 2, "/web"},
                                            {kGone + 3, "/kubepods/pod"}},
                                    false);

  EXPECT_EQ(name(names, host_.inode("web/worker")), "/web/worker");
  EXPECT_EQ(name(names, kGone), "/gone");
  EXPECT_EQ(name(names, kGone + 1), "(none)");
  EXPECT_EQ(name(names, kGone + 2), "(none)");
  EXPECT_EQ(name(names, kGone + 3), "/");
  EXPECT_THAT(keeper.reported(), ElementsAre(report("web/worker"), NamedCgroup{kGone, "/gone"},
                                             NamedCgroup{kGone + 3, "/"}));
}

TEST_F(NameKeeperTest, LearnsFromTheRootOfTheMountWhichPartItIs) {
  NameKeeper keeper = this->keeper("/docker/x");

  const Names names = keeper.update(kStart, Reports{{kGone, "/docker/x/gone"}}, false);

  EXPECT_EQ(name(names, kGone), "/gone");
}

TEST_F(NameKeeperTest, LearnsNothingFromACgroupOfAnotherPath) {
  host_.make("a/b");
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);

  const Names names = keeper.update(
      kStart, Reports{{host_.inode("a/b"), "/x/c"}, {host_.inode("a/b"), "/b"}, {kGone, "/x/d"}},
      false);

  EXPECT_EQ(name(names, kGone), "(none)");
}

TEST_F(NameKeeperTest, NamesWhatWasReportedBeforeItCouldKnowWhichPartIsMounted) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, Reports{{kGone, "/pod/gone"}}, false);
  EXPECT_THAT(keeper.reported(), IsEmpty());
  host_.make("a");

  const Names names = keeper.update(kStart + 1s, Reports{report("a", "/pod")}, false);  // walks

  EXPECT_EQ(name(names, kGone), "/gone");
  EXPECT_THAT(keeper.reported(), ElementsAre(NamedCgroup{kGone, "/gone"}, report("a")));
}

TEST_F(NameKeeperTest, LetsNoReportWaitForMoreThanAMinute) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, Reports{{kGone, "/pod/gone"}}, false);
  keeper.update(kStart + 59s, Reports{{kGone + 1, "/pod/late"}}, false);
  keeper.update(kStart + 60s, {}, false);

  const Names names = keeper.update(kStart + 61s, Reports{{host_.inode(""), "/pod"}}, false);

  EXPECT_EQ(name(names, kGone), "(none)");
  EXPECT_EQ(name(names, kGone + 1), "/late");
}

TEST_F(NameKeeperTest, LetsABoundedNumberOfReportsWait) {
  NameKeeper keeper{{host_.root()}};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    keeper.update(kStart, Reports{{kGone + i, "/pod/x" + std::to_string(i)}}, false);
  }

  const Names names = keeper.update(kStart, Reports{{host_.inode(""), "/pod"}}, false);

  EXPECT_EQ(name(names, kGone), "(none)");
  EXPECT_EQ(name(names, kGone + 4999), "/x4999");
  EXPECT_LT(names->size(), 1500U);
}

// --- walks ---------------------------------------------------------------------------------------

TEST_F(NameKeeperTest, WalksForUnknownIdsAtMostOnceASecond) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);
  host_.make("a");

  EXPECT_EQ(name(keeper.update(kStart + 999ms, {}, kUnknown), host_.inode("a")), "(none)");
  EXPECT_EQ(name(keeper.update(kStart + 1s, {}, kUnknown), host_.inode("a")), "/a");
  host_.make("b");
  EXPECT_EQ(name(keeper.update(kStart + 1999ms, {}, kUnknown), host_.inode("b")), "(none)");
  EXPECT_EQ(name(keeper.update(kStart + 2s, {}, kUnknown), host_.inode("b")), "/b");
}

TEST_F(NameKeeperTest, DoesNotWalkEachSecondForIdsThatNoWalkFinds) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);
  keeper.update(kStart + 1s, {}, kUnknown);  // finds nothing: the next one in 2 s, then in 4 s
  keeper.update(kStart + 3s, {}, kUnknown);
  host_.make("a");

  EXPECT_EQ(name(keeper.update(kStart + 6999ms, {}, kUnknown), host_.inode("a")), "(none)");
  EXPECT_EQ(name(keeper.update(kStart + 7s, {}, kUnknown), host_.inode("a")), "/a");
  host_.make("b");
  EXPECT_EQ(name(keeper.update(kStart + 8s, {}, kUnknown), host_.inode("b")), "/b");
}

TEST_F(NameKeeperTest, WalksSoonForTheFirstUnknownIdAfterThereWereNone) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);
  for (int second = 1; second < 40; ++second) keeper.update(kStart + 1s * second, {}, kUnknown);
  keeper.update(kStart + 40s, {}, false);
  host_.make("a");

  EXPECT_EQ(name(keeper.update(kStart + 41s, {}, kUnknown), host_.inode("a")), "/a");
}

TEST_F(NameKeeperTest, WalksOnceAMinuteThoughNothingIsUnknown) {
  NameKeeper keeper{{host_.root()}};
  keeper.update(kStart, {}, false);
  host_.make("a");

  EXPECT_EQ(name(keeper.update(kStart + 59s, {}, false), host_.inode("a")), "(none)");
  EXPECT_EQ(name(keeper.update(kStart + 60s, {}, false), host_.inode("a")), "/a");
}

TEST_F(NameKeeperTest, VisitsABoundedNumberOfDirectoriesPerSecond) {
  constexpr int kMany = 12'000;
  static_assert(kMany > 2 * Tree::kVisitsPerSecond);
  for (int i = 0; i < kMany; ++i) host_.make("a" + std::to_string(i));
  NameKeeper keeper{{host_.root()}, kMany + 10};
  keeper.update(kStart, {}, false);
  const auto walks_at = [&](Tree::Clock::time_point now) {
    const std::string made = "new" + std::to_string(now.time_since_epoch().count());
    host_.make(made);
    const bool walks = name(keeper.update(now, {}, kUnknown), host_.inode(made)) == "/" + made;
    host_.remove(made);
    return walks;
  };

  EXPECT_TRUE(walks_at(kStart + 1s));
  EXPECT_FALSE(walks_at(kStart + 2s));
  EXPECT_TRUE(walks_at(kStart + 4s));
  EXPECT_FALSE(walks_at(kStart + 4500ms));
}

TEST_F(NameKeeperTest, KeepsTheNameThatAWalkHasFoundWhereAReportHasAnother) {
  host_.make("a");
  NameKeeper keeper = this->keeper("");
  const NamedCgroup made = report("a");
  host_.rename("a", "b");

  const Names renamed = keeper.update(kStart + 60s, {}, false);
  const Names reported = keeper.update(kStart + 60s, Reports{made}, false);

  EXPECT_EQ(name(renamed, host_.inode("b")), "/b");
  EXPECT_EQ(reported, renamed);
}

TEST_F(NameKeeperTest, NamesACgroupWithoutRoomForItsPathThatItFinds) {
  const std::string part(200, 'p');
  std::string path;
  for (int depth = 0; depth < 6; ++depth) path += "/" + part;
  host_.make(path + "/end");
  NameKeeper keeper{{host_.root()}};

  const Names names = keeper.update(kStart, {}, false);

  const std::string fits = path.substr(0, 5 * (part.size() + 1));
  EXPECT_EQ(name(names, host_.inode(fits)), fits);
  EXPECT_EQ(name(names, host_.inode(path)), fits + "/");
  EXPECT_EQ(name(names, host_.inode(path + "/end")), fits + "/");
}

// --- what is gone --------------------------------------------------------------------------------

TEST_F(NameKeeperTest, KeepsNamesForAMinuteAfterTheWalkThatMissesThem) {
  host_.make("a");
  NameKeeper keeper = this->keeper("");
  const std::uint64_t id = host_.inode("a");
  host_.remove("a");

  EXPECT_EQ(name(keeper.update(kStart + 60s, {}, false), id), "/a");  // the walk that misses it
  EXPECT_EQ(name(keeper.update(kStart + 119s, {}, kUnknown), id), "/a");
  EXPECT_EQ(name(keeper.update(kStart + 179s, {}, kUnknown), id), "(none)");
}

TEST_F(NameKeeperTest, LetsTheNamesGoThatWereOnlyReported) {
  NameKeeper keeper = this->keeper("");
  keeper.update(kStart + 1s, Reports{{kGone, "/gone"}}, false);

  EXPECT_EQ(name(keeper.update(kStart + 60s, {}, false), kGone), "/gone");
  const Names names = keeper.update(kStart + 120s, {}, false);

  EXPECT_EQ(name(names, kGone), "(none)");
  EXPECT_EQ(names->size(), 1U);
}

TEST_F(NameKeeperTest, ForgetsThatOneWasMissedWhichIsFoundAgain) {
  host_.make("a/b");
  NameKeeper keeper = this->keeper("");
  const std::uint64_t id = host_.inode("a/b");
  const std::string away = host_.root() + ".away";
  ASSERT_EQ(::rename(host_.path("a").c_str(), away.c_str()), 0);
  keeper.update(kStart + 60s, {}, false);
  ASSERT_EQ(::rename(away.c_str(), host_.path("a").c_str()), 0);
  keeper.update(kStart + 119s, {}, kUnknown);
  host_.remove("a");

  EXPECT_EQ(name(keeper.update(kStart + 179s, {}, false), id), "/a/b");  // misses it again
  EXPECT_EQ(name(keeper.update(kStart + 238s, {}, kUnknown), id), "/a/b");
}

TEST_F(NameKeeperTest, KeepsTheNamesBelowADirectoryThatMayNotBeRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  ::chmod(host_.root().c_str(), 0755);
  host_.make("closed/a");
  NameKeeper keeper = this->keeper("");
  const std::uint64_t id = host_.inode("closed/a");
  host_.make("open");
  ::chmod(host_.path("closed").c_str(), 0700);

  ASSERT_EQ(::seteuid(65534), 0);
  Names names;
  for (int minute = 1; minute <= 3; ++minute)
    names = keeper.update(kStart + 1min * minute, {}, false);
  ASSERT_EQ(::seteuid(0), 0);

  EXPECT_EQ(name(names, id), "/closed/a");
  EXPECT_EQ(name(names, host_.inode("open")), "/open");
  EXPECT_FALSE(keeper.error());
}

TEST_F(NameKeeperTest, KeepsAllNamesWhenAWalkCannotReadTheTree) {
  host_.make("a");
  NameKeeper keeper = this->keeper("");
  const std::string away = host_.root() + ".away";
  ASSERT_EQ(::rename(host_.root().c_str(), away.c_str()), 0);
  const Names failed = keeper.update(kStart + 60s, {}, false);
  const std::optional<Error> error = keeper.error();
  ASSERT_EQ(::rename(away.c_str(), host_.root().c_str()), 0);

  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ENOENT);
  EXPECT_THAT(error->attempted, HasSubstr(host_.root()));
  EXPECT_EQ(name(failed, host_.inode("a")), "/a");
  keeper.update(kStart + 120s, {}, false);
  EXPECT_FALSE(keeper.error());
}

TEST_F(NameKeeperTest, MissesNothingForLackOfDescriptors) {
  host_.make("a/b");
  NameKeeper keeper = this->keeper("");
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Names names;
  for (int minute = 1; minute <= 3; ++minute)
    names = keeper.update(kStart + 1min * minute, {}, false);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);

  EXPECT_EQ(name(names, host_.inode("a/b")), "/a/b");
  ASSERT_TRUE(keeper.error());
  EXPECT_EQ(keeper.error()->code, EMFILE);
}

// --- limits --------------------------------------------------------------------------------------

TEST_F(NameKeeperTest, NamesThoseAtTheTopWhereThereAreTooMany) {
  for (const char* path : {"a/x/y", "b/x/y", "c/x/y"}) host_.make(path);
  NameKeeper keeper{{host_.root()}, 6};

  const Names names = keeper.update(kStart, {}, false);

  EXPECT_EQ(names->size(), 7U);  // with the root
  EXPECT_EQ(name(names, host_.inode("c/x")), "/c/x");
  EXPECT_EQ(name(names, host_.inode("a/x/y")), "(none)");
  EXPECT_EQ(keeper.left_out(), 3U);
}

TEST_F(NameKeeperTest, NamesABoundedNumberOfThoseThatAreReported) {
  NameKeeper keeper = this->keeper("", 100);
  Names names;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    names = keeper.update(kStart + 1ms, Reports{{kGone + i, "/x"}}, false);
  }

  EXPECT_EQ(names->size(), 200U);
  EXPECT_EQ(keeper.left_out(), 801U);  // the root has a name as well
}

TEST_F(NameKeeperTest, KeepsTheNewestOfThoseThatAreGoneWhereThereAreTooMany) {
  NameKeeper keeper = this->keeper("", 100);
  Names names;
  std::uint64_t next = kGone;
  for (int second = 1; second <= 20; ++second) {
    Reports made;
    for (int i = 0; i < 50; ++i, ++next) made.push_back({next, "/x" + std::to_string(next)});
    names = keeper.update(kStart + 1s * second, made, false);
    EXPECT_LE(names->size(), 201U);
    EXPECT_EQ(name(names, next - 1), made.back().path);
    EXPECT_EQ(name(names, made.front().id), made.front().path);
  }
  EXPECT_EQ(name(names, kGone), "(none)");
}

// --- anything ------------------------------------------------------------------------------------

RC_GTEST_PROP(NameKeeperPropertyTest, IsNotMisledByReportsOfAnyBytes,
              (std::vector<std::pair<std::uint64_t, std::string>> reports)) {
  CgroupTree host;
  host.make("a/b");
  NameKeeper keeper{{host.root()}};
  keeper.update(kStart, Reports{{host.inode(""), "/"}}, false);

  Reports all;
  for (const auto& [id, path] : reports) all.push_back({id, path});
  for (const char* const path : {"/a", "/a/b", "/"}) {
    for (const auto& [id, bytes] : reports) all.push_back({host.inode(path), bytes});
  }
  const Names names = keeper.update(kStart + 1s, all, kUnknown);

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

RC_GTEST_PROP(NameKeeperPropertyTest, NamesNoneWronglyAndAllThatItHasSeenInTheLastMinute, ()) {
  History history;
  NameKeeper keeper{{history.host().root()}};
  Tree::Clock::time_point now = kStart;
  keeper.update(now, Reports{{history.host().inode(""), "/"}}, false);

  for (const Step& step : *any_steps()) {
    if (step.kind == Step::Kind::kMake) history.make(step.number);
    if (step.kind == Step::Kind::kRemove) history.remove(step.number);
    if (step.kind == Step::Kind::kReport) history.report();
    if (step.kind == Step::Kind::kLoseReports) history.lose_reports();
    if (step.kind != Step::Kind::kUpdate) continue;

    const bool walks = step.number >= 5;
    now += 1s * step.number + (walks ? 60s : 0s);
    const Names names = keeper.update(now, history.take_reported(now), false);
    if (walks) history.see_all(now);

    RC_ASSERT(keeper.update(now, {}, false) == names);
    std::size_t known = 1;  // the root
    for (const auto& [id, life] : history.lives()) {
      const std::string* const path = names->path_of(id);
      known += path != nullptr ? 1 : 0;
      const std::string found = path == nullptr ? life.path : *path;
      RC_ASSERT(found == life.path);
      const bool was_seen = life.seen != Tree::Clock::time_point{} && now - life.seen < 60s;
      RC_ASSERT((path != nullptr || !was_seen));
    }
    RC_ASSERT(names->size() == known);
  }
}

}  // namespace
}  // namespace pex::cgroup::name_keeper_test
