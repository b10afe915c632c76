// Discovery::update with what the kernel reports: cgroups that were gone before they could be held.

#include "cgroup/gone_cgroups.h"

#include <ostream>

#include "cgroup/discovery/discovery.h"
#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup::gone_cgroups_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Found = std::shared_ptr<const DiscoveryResult>;
using Reports = std::vector<NamedCgroup>;

constexpr std::size_t kPlenty = 100;

std::vector<std::string> paths(const Found& found) {
  std::vector<std::string> all;
  for (const auto& cgroup : found->cgroups) all.push_back(cgroup->path);
  return all;
}

Selection all_levels(Selection selection) {
  selection.leaves = false;
  return selection;
}

class GoneCgroupsTest : public testing::Test {
 protected:
  /// Knows what is there so far.
  Discovery discovery(Selection selection) {
    Discovery discovery{{host_.root()}, std::move(selection)};
    update(discovery, root());
    return discovery;
  }

  Found update(Discovery& discovery, const Reports& reported, std::size_t capacity = kPlenty,
               Discovery::Clock::time_point now = kStart) {
    const auto found = discovery.update(capacity, now, reported);
    EXPECT_TRUE(found) << describe(found.error());
    return found ? *found : std::make_shared<const DiscoveryResult>();
  }

  /// Reported, which shows where the reported paths begin.
  Reports root() const { return {{host_.inode(""), "/"}}; }

  /// Made, reported and removed.
  NamedCgroup brief(const std::string& path) {
    host_.make(path);
    NamedCgroup reported{host_.inode(path), "/" + path};
    host_.remove(path);
    return reported;
  }

  /// The same of several that exist at the same time. Parents that are not among them stay.
  Reports brief(const std::vector<std::string>& paths) {
    Reports reported;
    for (const std::string& path : paths) {
      host_.make(path);
      reported.push_back({host_.inode(path), "/" + path});
    }
    for (const std::string& path : paths) {
      if (host_.has(path)) host_.remove(path);
    }
    return reported;
  }

  /// What is missed after all updates that may still bring a report.
  std::uint64_t missed(Discovery& discovery) {
    for (std::uint64_t i = 0; i <= GoneCgroups::kMaxDelay; ++i) update(discovery, {});
    return discovery.take_missed();
  }

  CgroupTree host_;
  Discovery discovery_ = discovery(all_levels(selection({"/*"})));
};

TEST_F(GoneCgroupsTest, AreInOneResultWithoutADirectory) {
  host_.make("a");
  const Found before = update(discovery_, {});
  const NamedCgroup gone = brief("Z");

  const Found with = update(discovery_, Reports{gone});
  const Found after = update(discovery_, {});

  ASSERT_THAT(paths(with), ElementsAre("/Z", "/a"));  // by path
  EXPECT_EQ(with->cgroups[0]->id, gone.id);
  EXPECT_FALSE(with->cgroups[0]->directory);
  EXPECT_FALSE(still_exists(*with->cgroups[0]));
  EXPECT_EQ(with->cgroups[1], before->cgroups[0]);
  EXPECT_THAT(paths(after), ElementsAre("/a"));
  EXPECT_EQ(missed(discovery_), 0U);
}

TEST_F(GoneCgroupsTest, AreMissedWithoutReports) {
  brief("a");

  const auto found = discovery_.update(kPlenty, kStart);

  ASSERT_TRUE(found);
  EXPECT_THAT(paths(*found), IsEmpty());
  EXPECT_EQ(discovery_.take_missed(), 1U);
}

TEST_F(GoneCgroupsTest, AreMissedIfNoReportComes) {
  const NamedCgroup reported = brief("a");
  brief("a");
  brief("b");

  update(discovery_, Reports{reported});
  EXPECT_EQ(discovery_.take_missed(), 0U);

  EXPECT_EQ(missed(discovery_), 2U);
  EXPECT_EQ(missed(discovery_), 0U);
}

TEST_F(GoneCgroupsTest, AreMissedAtOnceWhenReportsEnd) {
  const NamedCgroup late = brief("a");
  update(discovery_, {});

  const auto found = discovery_.update(kPlenty, kStart);  // counts by descriptors from now on

  ASSERT_TRUE(found);
  EXPECT_EQ(discovery_.take_missed(), 1U);
  EXPECT_THAT(paths(update(discovery_, Reports{late})), ElementsAre("/a"));  // and by records again
}

TEST_F(GoneCgroupsTest, AreOnlyThoseThatAreSelected) {
  Discovery discovery = this->discovery(all_levels(selection({"/a*", "/x/*"}, {"/ab"})));
  const std::string deep = "x/" + std::string(Tree::kMaxPathBytes, 'n');

  const Found found = update(
      discovery, Reports{brief("aa"), brief("ab"), brief("b"), brief("x/y"), {4711, "/" + deep}});

  EXPECT_THAT(paths(found), ElementsAre("/aa", "/x/y"));
  EXPECT_EQ(missed(discovery), 0U);
}

TEST_F(GoneCgroupsTest, AreNotThoseThatExist) {
  host_.make("a");
  const NamedCgroup made{host_.inode("a"), "/a"};

  const Found found = update(discovery_, Reports{made});

  ASSERT_THAT(paths(found), ElementsAre("/a"));
  EXPECT_TRUE(found->cgroups[0]->directory);
  EXPECT_EQ(update(discovery_, Reports{made}), found);
}

TEST_F(GoneCgroupsTest, AreNotThoseThatWereHeld) {
  host_.make("a");
  const NamedCgroup made{host_.inode("a"), "/a"};
  update(discovery_, {});
  host_.remove("a");

  EXPECT_THAT(paths(update(discovery_, Reports{made})), IsEmpty());
  EXPECT_THAT(paths(update(discovery_, Reports{made}, kPlenty, kStart + 59s)), IsEmpty());
  EXPECT_EQ(missed(discovery_), 0U);
}

TEST_F(GoneCgroupsTest, AreThoseThatWereFoundAndCouldNotBeHeldAnyMore) {
  Discovery discovery = this->discovery(all_levels(selection({"/**"})));
  host_.make("a/x");
  const Reports made{{host_.inode("a"), "/a"}, {host_.inode("a/x"), "/a/x"}};
  on_watch = [&](const std::string& directory) {
    if (directory == host_.path("a/x")) host_.remove("a");
  };

  const Found found = update(discovery, {});
  on_watch = nullptr;

  ASSERT_THAT(paths(found), ElementsAre("/a", "/a/x"));
  EXPECT_EQ(found->cgroups[0]->id, made[0].id);
  EXPECT_FALSE(found->cgroups[0]->directory);
  EXPECT_THAT(paths(update(discovery, made)), IsEmpty());
  EXPECT_EQ(missed(discovery), 0U);
}

TEST_F(GoneCgroupsTest, AreThereOnceHoweverOftenTheyAreReported) {
  const NamedCgroup gone = brief("a");

  EXPECT_THAT(paths(update(discovery_, Reports{gone, gone})), ElementsAre("/a"));
  EXPECT_THAT(paths(update(discovery_, Reports{gone})), IsEmpty());
}

TEST_F(GoneCgroupsTest, OfOnePathAreOne) {
  const NamedCgroup first = brief("a");
  const NamedCgroup second = brief("a");

  const Found found = update(discovery_, Reports{first, second});

  ASSERT_THAT(paths(found), ElementsAre("/a"));
  EXPECT_EQ(found->cgroups[0]->id, second.id);
  EXPECT_EQ(missed(discovery_), 0U);
}

TEST_F(GoneCgroupsTest, AreNotThereWhereTheirPathExistsAgain) {
  const NamedCgroup gone = brief("a");
  host_.make("a");

  const Found found = update(discovery_, Reports{gone});

  ASSERT_THAT(paths(found), ElementsAre("/a"));
  EXPECT_EQ(found->cgroups[0]->id, host_.inode("a"));
  EXPECT_EQ(missed(discovery_), 0U);
}

TEST_F(GoneCgroupsTest, AreThereWhenTheTreeHasNotSeenThemBeforeTheyGo) {
  Discovery discovery{{host_.root()}, all_levels(selection({"/*"})), {.watches = 0}};
  update(discovery, root());
  host_.make("a");
  const NamedCgroup made{host_.inode("a"), "/a"};

  EXPECT_THAT(paths(update(discovery, Reports{made})), IsEmpty());  // finds it within a minute
  host_.remove("a");

  EXPECT_THAT(paths(update(discovery, {})), ElementsAre("/a"));
}

TEST_F(GoneCgroupsTest, AreReportedAgainAfterTheTreeCouldNotBeRead) {
  const NamedCgroup gone = brief("a");
  const std::string away = host_.root() + ".away";
  ASSERT_EQ(::rename(host_.root().c_str(), away.c_str()), 0);
  const Reports reported{gone};
  const auto failed = discovery_.update(kPlenty, kStart + kMinute, reported);
  ASSERT_EQ(::rename(away.c_str(), host_.root().c_str()), 0);

  EXPECT_FALSE(failed);
  EXPECT_THAT(paths(update(discovery_, {}, kPlenty, kStart + kMinute + 1s)), ElementsAre("/a"));
}

// --- nesting -------------------------------------------------------------------------------------

TEST_F(GoneCgroupsTest, OfTheLeavesAreTheInnermost) {
  Discovery discovery = this->discovery(selection({"/**"}));

  const Found found = update(discovery, brief({"a", "a/x", "a-", "a/x/y", "b"}));

  EXPECT_THAT(paths(found), ElementsAre("/a-", "/a/x/y", "/b"));
  EXPECT_EQ(missed(discovery), 0U);
}

TEST_F(GoneCgroupsTest, OfTheLeavesAreNotInsideOfAnExistingLeaf) {
  host_.make("leaf");
  host_.make("slice/leaf");
  Discovery discovery = this->discovery(selection({"/**"}));
  const Found before = update(discovery, {});

  const Found found = update(discovery, brief({"leaf/x", "leaf/x/y", "slice/x"}));

  EXPECT_THAT(paths(found), ElementsAre("/leaf", "/slice/leaf", "/slice/x"));
  EXPECT_EQ(found->cgroups[0], before->cgroups[0]);
  EXPECT_EQ(missed(discovery), 0U);
}

TEST_F(GoneCgroupsTest, OfTheLeavesAreNotThereWhereTheirPathExistsAgainWithOthersInside) {
  Discovery discovery = this->discovery(selection({"/**"}));
  const NamedCgroup gone = brief("a");
  host_.make("a/x");

  EXPECT_THAT(paths(update(discovery, Reports{gone})), ElementsAre("/a/x"));
}

// --- capacity ------------------------------------------------------------------------------------

TEST_F(GoneCgroupsTest, OnlyGetTheRoomThatIsLeft) {
  host_.make("a");
  host_.make("b");
  update(discovery_, {}, 3);

  const Found found = update(discovery_, brief({"x1", "x2", "x3"}), 3);

  EXPECT_THAT(paths(found), ElementsAre("/a", "/b", "/x1"));
  EXPECT_EQ(found->left_out, 0U);
  EXPECT_EQ(discovery_.take_missed(), 2U);
  EXPECT_THAT(paths(update(discovery_, {}, 3)), ElementsAre("/a", "/b"));
}

TEST_F(GoneCgroupsTest, AreMissedWhereThereIsNoRoomAtAll) {
  host_.make("a");
  host_.make("b");
  Discovery discovery{{host_.root()}, all_levels(selection({"/*"}))};
  const Found before = update(discovery, root(), 1);

  const Found found = update(discovery, Reports{brief("c")}, 1);

  EXPECT_EQ(found, before);
  EXPECT_EQ(found->left_out, 1U);
  EXPECT_EQ(discovery.take_missed(), 1U);
}

TEST_F(GoneCgroupsTest, ShareTheRoomFairly) {
  Discovery discovery = this->discovery(selection({"/*/*"}));
  std::vector<std::string> all{"a"};
  for (int i = 10; i < 60; ++i) all.push_back("a/x" + std::to_string(i));
  for (const char* path : {"b", "b/x", "c", "c/x"}) all.emplace_back(path);

  const Found found = update(discovery, brief(all), 4);

  EXPECT_THAT(paths(found), ElementsAre("/a/x10", "/a/x11", "/b/x", "/c/x"));
  EXPECT_EQ(discovery.take_missed(), 48U);
}

TEST_F(GoneCgroupsTest, TakeNoRoomFromThoseThatComeLater) {
  update(discovery_, Reports{brief("x"), brief("y")}, 2);
  host_.make("a");
  host_.make("b");

  const Found found = update(discovery_, {}, 2);

  EXPECT_THAT(paths(found), ElementsAre("/a", "/b"));
  EXPECT_EQ(found->left_out, 0U);
}

// --- anything ------------------------------------------------------------------------------------

struct Step {
  enum class Kind { kMake, kRemove, kReport, kUpdate };
  Kind kind = Kind::kMake;
  int number = 0;  ///< which path
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kKinds[] = {"make", "remove", "report", "update"};
  return out << kKinds[static_cast<int>(step.kind)] << ' ' << step.number;
}

rc::Gen<std::vector<Step>> any_steps() {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>(
      {{6, Kind::kMake}, {5, Kind::kRemove}, {2, Kind::kReport}, {3, Kind::kUpdate}});
  const auto step = rc::gen::build<Step>(rc::gen::set(&Step::kind, kind),
                                         rc::gen::set(&Step::number, rc::gen::inRange(0, 12)));
  return rc::gen::container<std::vector<Step>>(step);
}

std::string path_of(int number) {
  constexpr const char* kPaths[] = {"a",     "a/x", "a/x/1", "a/y", "b",  "b/x",
                                    "b/y/1", "c",   "d",     "d/x", "d-", "e/x/y"};
  return kPaths[number];
}

/// The order of making is that of reporting, and parents are made first.
void make(const std::string& path, CgroupTree& host, Reports& made) {
  if (host.has(path)) return;
  if (const std::size_t end = path.rfind('/'); end != path.npos) {
    make(path.substr(0, end), host, made);
  }
  host.make(path);
  made.push_back({host.inode(path), "/" + path});
}

RC_GTEST_PROP(GoneCgroupsPropertyTest, OfTheLeavesAreNeverInsideOfOneAnother, ()) {
  CgroupTree host;
  Discovery discovery{{host.root()}, selection({"/**"})};
  Reports made{{host.inode(""), "/"}};
  const auto update = [&] {
    const auto found = discovery.update(kPlenty, kStart, std::exchange(made, {}));
    RC_ASSERT(found.has_value());
    const auto& cgroups = (*found)->cgroups;
    for (std::size_t i = 1; i < cgroups.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        RC_ASSERT(!cgroups[i]->path.starts_with(cgroups[j]->path + "/"));
        RC_ASSERT(cgroups[i]->path != cgroups[j]->path);
      }
    }
  };

  for (const Step& step : *any_steps()) {
    const std::string path = path_of(step.number);
    if (step.kind == Step::Kind::kMake) make(path, host, made);
    if (step.kind == Step::Kind::kRemove && host.has(path)) host.remove(path);
    if (step.kind == Step::Kind::kUpdate) update();
  }
  for (int i = 0; i < 5; ++i) update();

  RC_ASSERT(discovery.take_missed() == 0U);
}

RC_GTEST_PROP(GoneCgroupsPropertyTest, WithAllReportedEachIsFoundOnceAndNoneIsMissed, ()) {
  CgroupTree host;
  Discovery discovery{{host.root()}, all_levels(selection({"/**"}))};
  Reports made;
  Reports reported{{host.inode(""), "/"}};
  Reports all;
  std::map<std::uint64_t, int> lives;  // how often each went from absent to present
  std::map<std::string, int> by_path;  // results that have it
  std::set<std::uint64_t> present;
  const auto update = [&] {
    const auto found = discovery.update(kPlenty, kStart, std::exchange(reported, {}));
    RC_ASSERT(found.has_value());
    std::set<std::uint64_t> now;
    std::set<std::string> here;
    for (const auto& cgroup : (*found)->cgroups) {
      RC_ASSERT(here.insert(cgroup->path).second);  // no path is there twice
      now.insert(cgroup->id);
      lives[cgroup->id] += present.contains(cgroup->id) ? 0 : 1;
      by_path[cgroup->path] += 1;
    }
    present = std::move(now);
  };
  const auto report = [&] {
    reported.insert(reported.end(), made.begin(), made.end());
    all.insert(all.end(), made.begin(), made.end());
    made.clear();
  };

  for (const Step& step : *any_steps()) {
    const std::string path = path_of(step.number);
    if (step.kind == Step::Kind::kMake) make(path, host, made);
    if (step.kind == Step::Kind::kRemove && host.has(path)) host.remove(path);
    if (step.kind == Step::Kind::kReport) report();
    if (step.kind == Step::Kind::kUpdate) {
      update();
      report();  // as the rings are read after it
    }
  }
  report();
  for (int i = 0; i < 5; ++i) update();

  RC_ASSERT(discovery.take_missed() == 0U);
  for (const NamedCgroup& cgroup : all) {
    RC_ASSERT(lives[cgroup.id] <= 1);
    RC_ASSERT(by_path[cgroup.path] >= 1);
  }
}

}  // namespace
}  // namespace pex::cgroup::gone_cgroups_test
