#include "targets/targets.h"

#include <cerrno>
#include <deque>

#include "count/descriptor_source.h"
#include "support/events.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> paths_of(const TargetSet& targets) {
  std::vector<std::string> paths;
  for (const CgroupTarget& target : targets.cgroups) {
    if (!target.is_free()) paths.push_back(target.path);
  }
  return paths;
}

/// A machine of plain files: two CPUs, and cgroups below "cgroup".
class TargetTrackerTest : public testing::Test {
 protected:
  TargetTrackerTest() {
    set_online("0-1");
    tree_.make_directory("cgroup");
    plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}});
  }

  /// Of cgroups that it makes. Each takes one event on each CPU, and kSeriesOfACgroup.
  TargetTracker tracker(std::initializer_list<const char*> cgroups_there = {}, Budget budget = {},
                        cgroup::IdleCgroups::CpuTime cpu_time = {},
                        milliseconds linger = seconds{60}) {
    for (const char* name : cgroups_there) make_cgroup(name);
    TargetTracker::Cgroups cgroups{
        cgroup::Discovery({tree_.path("cgroup")}, selection(),
                          cgroup::Tree::Limits{.directories = budget.max_directories})};
    cgroups.linger = linger;
    if (cpu_time) {
      cgroups.cpu_time = cpu_time;
      cgroups.idle.emplace(cgroup::IdleCgroups::Rules{.close_after = seconds{60}},
                           std::move(cpu_time));
    }
    return {{tree_.path("sys"), tree_.path("proc"), {}},
            plan_,
            std::move(cgroups),
            budget,
            descriptor_cost};
  }
  /// The same by records, where there are so many cgroups.
  TargetTracker tracker_by_records(std::size_t cgroups_there, Budget budget = {},
                                   CostFunction cost = descriptor_cost) {
    TargetTracker::Cgroups cgroups{cgroup::Discovery({tree_.path("cgroup")}, selection())};
    cgroups.min_recorded = cgroups_there;
    return {{tree_.path("sys"), {}, {}}, plan_, std::move(cgroups), budget, std::move(cost)};
  }
  cgroup::Selection selection() const {
    cgroup::Selection selection;
    selection.include.push_back(*cgroup::Pattern::parse(include_));
    selection.leaves = leaves_;
    return selection;
  }
  /// A reload of what tracker() has, with include_.
  TargetTracker::Changes as_before() const {
    return {.plan = plan_,
            .selection = selection(),
            .describer = cgroup::Describer{},
            .linger = seconds{60},
            .idle = {},
            .budget = {}};
  }
  static constexpr std::size_t kSeriesOfACgroup = 4;  // its event, two times, its description

  void set_online(const std::string& cpus) {
    tree_.write("sys/devices/system/cpu/online", cpus + "\n");
  }
  void make_cgroup(const std::string& name) { tree_.write("cgroup/" + name + "/cgroup.procs", ""); }

  const char* include_ = "/*.service";
  bool leaves_ = true;
  test::TempTree tree_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  PollReport report_;
  TargetTracker::Clock::time_point start_ = TargetTracker::Clock::now();
};

TEST_F(TargetTrackerTest, GivesTheSameObjectWhileNothingChanges) {
  TargetTracker targets = tracker({"a.service"});

  const auto first = targets.update(start_, report_);
  const auto second = targets.update(start_ + seconds{1}, report_);

  EXPECT_EQ(first, second);
  EXPECT_EQ(first->cpus->online, (std::vector{0, 1}));
}

TEST_F(TargetTrackerTest, NewCgroupsFollowThoseThatAreKnown) {
  TargetTracker targets = tracker({"b.service"});
  (void)targets.update(start_, report_);
  make_cgroup("a.service");

  const auto grown = targets.update(start_, report_);

  ASSERT_EQ(grown->cgroups.size(), 2U);
  EXPECT_EQ(grown->cgroups[0].path, "/b.service");
  EXPECT_EQ(grown->cgroups[1].path, "/a.service");
  EXPECT_LT(grown->cgroups[0].series, grown->cgroups[1].series);
}

TEST_F(TargetTrackerTest, ACgroupThatIsRecreatedHasTheNamesThatItsOwnerMayGive) {
  include_ = "/**";
  const std::string container = "ci.service/docker-" + std::string(64, 'a') + ".scope";
  make_cgroup(container);
  TargetTracker targets = tracker();
  const auto is_delegated = [&](seconds at) {
    return targets.update(start_ + at, report_)->cgroups.at(0).description->is_delegated;
  };
  EXPECT_FALSE(is_delegated(seconds{0}));
  tree_.remove("cgroup/ci.service");
  EXPECT_FALSE(is_delegated(seconds{1}));

  make_cgroup(container);
  std::filesystem::permissions(tree_.path("cgroup/ci.service"), std::filesystem::perms{0777});

  EXPECT_TRUE(is_delegated(seconds{2})) << "anybody may have named it";
}

TEST_F(TargetTrackerTest, WhereTheyMayNestSumsKnowWhichCgroupsContainOthers) {
  include_ = "/**";
  leaves_ = false;
  plan_->sums = {{.name = "all", .labels = {}}};
  TargetTracker targets = tracker({"a", "a/b/c", "d"});
  const auto around = [&](const std::string& path) {
    const auto now = targets.update(start_, report_);
    const auto at = std::find_if(now->cgroups.begin(), now->cgroups.end(),
                                 [&](const CgroupTarget& target) { return target.path == path; });
    std::vector<std::string> paths;
    for (const std::size_t outer : at->around) paths.push_back(now->cgroups[outer].path);
    return paths;
  };
  EXPECT_THAT(around("/a/b/c"), ElementsAre("/a/b", "/a"));
  EXPECT_THAT(around("/d"), testing::IsEmpty());

  const auto plan = std::make_shared<CountingPlan>(*plan_);
  plan->cgroups_nest = false;
  plan_ = plan;
  leaves_ = true;
  targets.change(as_before());
  EXPECT_THAT(around("/a/b/c"), ElementsAre("/a/b", "/a")) << "they are closed now";
}

TEST_F(TargetTrackerTest, AGoneCgroupLingersAndThenItsSeriesEnds) {
  TargetTracker targets = tracker({"a.service"});
  (void)targets.update(start_, report_);
  tree_.remove("cgroup/a.service");

  const auto lingering = targets.update(start_ + seconds{1}, report_);
  const auto later = targets.update(start_ + seconds{60}, report_);
  const auto ended = targets.update(start_ + seconds{61}, report_);

  ASSERT_EQ(lingering->cgroups.size(), 1U);
  EXPECT_EQ(lingering->cgroups[0].cgroup, nullptr);
  EXPECT_EQ(lingering->present, 0U);
  EXPECT_EQ(later->cgroups.size(), 1U);
  EXPECT_TRUE(ended->cgroups.empty());
}

TEST_F(TargetTrackerTest, AnIdleCgroupStaysATargetAndItsCpuTimeMeanwhileIsKept) {
  make_cgroup("a.service");
  make_cgroup("b.service");
  std::map<std::string, milliseconds> cpu_times = {{"/a.service", {}}, {"/b.service", {}}};
  TargetTracker targets = tracker({}, {}, [&](const std::string& path) {
    return std::optional<std::chrono::nanoseconds>{cpu_times[path]};
  });
  const auto update = [&](seconds at) {
    cpu_times["/b.service"] += milliseconds{1};
    return targets.update(start_ + at, report_);
  };
  const auto first = update(seconds{0});
  const auto last_busy = update(seconds{50});
  const auto idle = update(seconds{60});
  cpu_times["/a.service"] = milliseconds{30};
  const auto busy = update(seconds{61});

  EXPECT_EQ(last_busy->idle, 0U);
  ASSERT_EQ(idle->cgroups.size(), 2U);
  EXPECT_TRUE(idle->cgroups[0].is_idle);
  EXPECT_FALSE(idle->cgroups[0].is_counted());
  EXPECT_TRUE(idle->cgroups[1].is_counted());
  EXPECT_EQ(idle->cgroups[0].cgroup, first->cgroups[0].cgroup);
  EXPECT_EQ(idle->present, 2U);
  EXPECT_EQ(idle->idle, 1U);
  EXPECT_FALSE(idle->has_layout_of(*last_busy));
  EXPECT_TRUE(busy->cgroups[0].is_counted());
  const std::vector<TargetTracker::PassedOver> passed_over = targets.take_passed_over();
  ASSERT_EQ(passed_over.size(), 1U);
  EXPECT_EQ(passed_over[0].slot, 0U);
  EXPECT_EQ(passed_over[0].time, milliseconds{30});
  (void)update(seconds{62});
  EXPECT_TRUE(targets.take_passed_over().empty());
}

TEST_F(TargetTrackerTest, AChangeKeepsTheCgroupsAndTheirSeriesAndDescribesThemAnew) {
  TargetTracker targets = tracker({"a.service", "b.service"});
  const auto before = targets.update(start_, report_);
  auto plan = std::make_shared<CountingPlan>(*plan_);
  plan->evidence.created = true;
  const cgroup::LabelRules::Rule rule{*cgroup::Pattern::parse("/a.service"),
                                      {{"team", *cgroup::Template::parse("x", 0)}}};

  targets.change({.plan = plan,
                  .selection = selection(),
                  .describer = cgroup::Describer{cgroup::LabelRules{{rule}}},
                  .linger = seconds{5},
                  .idle = {},
                  .budget = {.max_series = 2 * kSeriesOfACgroup}});
  const auto last_reading = targets.update(start_ + seconds{1}, report_);
  const auto after = targets.update(start_ + seconds{2}, report_);

  EXPECT_EQ(targets.plan(), plan);
  EXPECT_EQ(last_reading->cgroups.size(), 2U);
  ASSERT_EQ(after->cgroups.size(), 1U) << "with the start times there is room for one";
  EXPECT_EQ(after->cgroups[0].cgroup, before->cgroups[0].cgroup);
  EXPECT_EQ(after->cgroups[0].series, before->cgroups[0].series);
  EXPECT_EQ(after->since, before->since);
  EXPECT_NE(after->cgroups[0].description, before->cgroups[0].description);
  EXPECT_EQ(after->cgroups[0].description->identity.back(), (cgroup::Label{"team", "x"}));
  EXPECT_FALSE(after->has_layout_of(*before));
  EXPECT_EQ(targets.update(start_ + seconds{3}, report_), after);
}

TEST_F(TargetTrackerTest, TellsWhichLabelIsLeftOutForItsLength) {
  TargetTracker targets = tracker({"a.service"});
  (void)targets.update(start_, report_);
  EXPECT_FALSE(report_.failures.contains({"label length", 0}));
  const cgroup::LabelRules::Rule rule{*cgroup::Pattern::parse("/a.service"),
                                      {{"team", *cgroup::Template::parse("$0$0$0", 0)}}};
  TargetTracker::Changes changes = as_before();
  changes.describer = cgroup::Describer{cgroup::LabelRules{{rule}}, {}, {}, 20};

  targets.change(std::move(changes));
  (void)targets.update(start_ + seconds{1}, report_);

  const auto failure = report_.failures.find({"label length", 0});
  ASSERT_NE(failure, report_.failures.end());
  EXPECT_EQ(describe(failure->second.first),
            "leaving out the label 'team' of cgroup '/a.service', whose value is longer than "
            "limits.label_length. Remedy: give it a shorter value, or raise the limit");
}

TEST_F(TargetTrackerTest, OtherPatternsKeepTheCgroupsThatBothSelectAndLetTheOthersLinger) {
  TargetTracker targets = tracker({"a.service", "b.service", "b.slice"});
  const auto before = targets.update(start_, report_);
  include_ = "/b.*";

  targets.change(as_before());
  const auto after = targets.update(start_ + seconds{1}, report_);

  ASSERT_EQ(after->cgroups.size(), 3U);
  EXPECT_EQ(after->cgroups[0].cgroup, nullptr);
  EXPECT_EQ(after->cgroups[1].cgroup, before->cgroups[1].cgroup);
  EXPECT_EQ(after->cgroups[2].path, "/b.slice");
  EXPECT_EQ(targets.update(start_ + seconds{61}, report_)->series(), 2U);
}

/// Three ways in which a cgroup that exists is not counted any more, and is counted again.
struct Uncounted {
  const char* name;
  std::function<void(TargetTracker& targets, TargetTracker::Changes as_before)> end;
  std::function<void(TargetTracker& targets, TargetTracker::Changes as_before)> begin;
};

class UncountedTest : public TargetTrackerTest, public testing::WithParamInterface<Uncounted> {};

TEST_P(UncountedTest, ACgroupThatExistsIsPublishedUpToItsLastReadingAndItsCpuTimeIsPassedOver) {
  make_cgroup("a.service");
  make_cgroup("b.service");
  milliseconds cpu_time{100};
  TargetTracker targets = tracker({}, {}, [&](const std::string&) {
    return std::optional<std::chrono::nanoseconds>{cpu_time};
  });
  const auto before = targets.update(start_, report_);

  GetParam().end(targets, as_before());
  const auto last_reading = targets.update(start_, report_);
  const auto after_a_late_cpu = targets.update(start_, report_, TargetTracker::Round::kPoll, false);
  const auto uncounted = targets.update(start_ + milliseconds{800}, report_);
  cpu_time += milliseconds{30};
  GetParam().begin(targets, as_before());
  const auto again = targets.update(start_ + seconds{2}, report_);

  const auto b = [](const auto& targets) { return targets->cgroups[1]; };
  EXPECT_EQ(b(last_reading).cgroup, nullptr);
  EXPECT_TRUE(b(last_reading).is_published);
  EXPECT_EQ(last_reading->lingering(), 1U);
  EXPECT_TRUE(b(after_a_late_cpu).is_published) << "its last reading there follows";
  EXPECT_FALSE(b(uncounted).is_published);
  EXPECT_EQ(uncounted->unpublished, 1U);
  EXPECT_EQ(uncounted->lingering(), 0U);
  EXPECT_FALSE(uncounted->has_layout_of(*last_reading));
  EXPECT_NE(b(again).cgroup, nullptr);
  EXPECT_TRUE(b(again).is_published);
  EXPECT_EQ(b(again).series, b(before).series);
  const std::vector<TargetTracker::PassedOver> passed_over = targets.take_passed_over();
  ASSERT_EQ(passed_over.size(), 1U);
  EXPECT_EQ(passed_over[0].slot, 1U);
  EXPECT_EQ(passed_over[0].time, milliseconds{30});
  EXPECT_EQ(again->unpublished, 0U);
}

using Changes = TargetTracker::Changes;

void change(TargetTracker& targets, Changes changes) { targets.change(std::move(changes)); }
void deselect(TargetTracker& targets, Changes changes) {
  changes.selection.exclude.push_back(*cgroup::Pattern::parse("/b.service"));
  targets.change(std::move(changes));
}
void leave_no_room(TargetTracker& targets, Changes changes) {
  changes.budget.max_cgroups = 1;
  targets.change(std::move(changes));
}
void leave_no_descriptors(TargetTracker& targets, const Changes&) {
  targets.set_aside({{"/b.service", EMFILE}}, TargetTracker::Clock::now());
}

INSTANTIATE_TEST_SUITE_P(EachWay, UncountedTest,
                         testing::Values(Uncounted{"deselected", deselect, change},
                                         Uncounted{"without_room", leave_no_room, change},
                                         Uncounted{"without_descriptors", leave_no_descriptors,
                                                   [](auto&, auto) {}}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_F(TargetTrackerTest, OneThatWasRemovedWhileItWasNotCountedBeginsWithoutTheTimeOfAnother) {
  make_cgroup("a.service");
  TargetTracker targets = tracker({}, {}, [](const std::string&) {
    return std::optional<std::chrono::nanoseconds>{seconds{1}};
  });
  const auto before = targets.update(start_, report_);
  const char* const all = std::exchange(include_, "/none");
  targets.change(as_before());
  (void)targets.update(start_ + seconds{1}, report_);
  (void)targets.update(start_ + seconds{2}, report_);
  tree_.remove("cgroup/a.service");
  make_cgroup("a.service");
  include_ = all;
  targets.change(as_before());

  const auto again = targets.update(start_ + seconds{3}, report_);

  ASSERT_EQ(again->cgroups.size(), 1U);
  EXPECT_TRUE(again->cgroups[0].is_published);
  EXPECT_EQ(again->cgroups[0].series, before->cgroups[0].series);
  EXPECT_TRUE(targets.take_passed_over().empty());
}

TEST_F(TargetTrackerTest, ACgroupCreatedAgainUnderALingeringPathContinuesItsSeries) {
  TargetTracker targets = tracker({"a.service"});
  const auto before = targets.update(start_, report_);
  tree_.remove("cgroup/a.service");
  (void)targets.update(start_ + seconds{1}, report_);
  make_cgroup("a.service");

  const auto after = targets.update(start_ + seconds{2}, report_);
  const auto much_later = targets.update(start_ + seconds{200}, report_);

  ASSERT_EQ(after->cgroups.size(), 1U);
  EXPECT_EQ(after->cgroups[0].series, before->cgroups[0].series);
  EXPECT_NE(after->cgroups[0].cgroup, before->cgroups[0].cgroup);
  EXPECT_EQ(much_later->cgroups.size(), 1U);  // it lives: the linger of its forerunner is over
}

TEST_F(TargetTrackerTest, OneThatIsReplacedByAnotherTenantIsReportedWithBothDirectories) {
  include_ = "/*/*";
  TargetTracker targets = tracker({"rich/a", "rich/b", "rich/c"}, {.max_cgroups = 3});
  const auto before = targets.update(start_, report_);
  make_cgroup("poor/x");

  PollReport report;
  const auto after = targets.update(start_ + seconds{1}, report);

  using Dropped = std::map<std::string_view, std::uint64_t>;
  EXPECT_EQ(before->present, 3U);
  EXPECT_EQ(after->present, 3U);
  EXPECT_EQ(report.cgroups_left_out, (Dropped{{kFairShare, 1}}));
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures.begin()->second.first.attempted,
            "stopped counting 1 cgroup to make room: '/rich' had more than its fair share, and "
            "'/poor' less");
}

TEST_F(TargetTrackerTest, WhatIsNotFollowedOfTheTreeIsReportedEachTimeWithWhereMostOfItIs) {
  include_ = "/*/*";
  for (const char* name : {"many/a", "many/b", "many/c"}) make_cgroup(name);
  make_cgroup("long/" + std::string(205, '\xff'));  // five bytes each, as it is published
  TargetTracker targets = tracker({}, {.max_directories = 4});

  for (int poll = 0; poll < 2; ++poll) {
    PollReport report;
    (void)targets.update(start_ + seconds{poll}, report);

    EXPECT_EQ(report.now.cgroup_directories.followed, 4U);
    EXPECT_EQ(report.now.cgroup_directories.beyond_limit, 1U);
    EXPECT_EQ(report.now.cgroup_directories.path_too_long, 1U);
    std::vector<std::string> said;
    for (const auto& [cause, failure] : report.failures) said.push_back(failure.first.attempted);
    EXPECT_THAT(said,
                testing::UnorderedElementsAre(
                    "not following 1 directory of the cgroup tree: the limit is 4, and most of "
                    "the others are in '/many'",
                    "not counting 1 cgroup and everything below: the path is longer than 1024 "
                    "bytes (limits.label_length), for example in '/long'"));
  }
}

TEST_F(TargetTrackerTest, ThoseLeftOutAreReportedOnceByTheLimitThatTheyMetAndExplained) {
  TargetTracker targets = tracker({"a.service", "b.service", "c.service"}, {.max_cgroups = 1});
  PollReport again;
  PollReport one_more;

  (void)targets.update(start_, report_);
  (void)targets.update(start_ + seconds{1}, again);
  make_cgroup("d.service");
  (void)targets.update(start_ + seconds{2}, one_more);

  using Dropped = std::map<std::string_view, std::uint64_t>;
  EXPECT_EQ(report_.cgroups_left_out, (Dropped{{"max", 2}}));
  ASSERT_EQ(report_.failures.size(), 1U);
  EXPECT_TRUE(report_.failures.begin()->second.first.attempted.starts_with(
      "counting 1 of 3 matching cgroups: "));
  EXPECT_EQ(again.cgroups_left_out, Dropped{});
  EXPECT_EQ(one_more.cgroups_left_out, (Dropped{{"max", 1}}));
}

TEST_F(TargetTrackerTest, OnlySoManyAreAdmittedInASecondAndMeanwhileTheTargetsAreTheSameObject) {
  TargetTracker targets = tracker({"a.service", "b.service", "c.service"},
                                  {.opens_per_second = 2});  // each takes one on each CPU

  const auto first = targets.update(start_, report_);
  const auto soon = targets.update(start_ + milliseconds{100}, report_);
  const auto later = targets.update(start_ + seconds{1}, report_);

  EXPECT_EQ(first->present, 2U);
  EXPECT_EQ(first->waiting, 1U);
  EXPECT_EQ(soon, first);
  EXPECT_EQ(later->present, 3U);
  EXPECT_EQ(later->waiting, 0U);
  EXPECT_TRUE(first->found->left_out_paths.empty());
}

TEST_F(TargetTrackerTest, OneThatGoesWhileItWaitsIsMissed) {
  TargetTracker targets = tracker({"a.service", "b.service", "c.service"}, {.opens_per_second = 2});
  (void)targets.update(start_, report_);
  tree_.remove("cgroup/c.service");

  (void)targets.update(start_ + seconds{1}, report_);
  (void)targets.update(start_ + seconds{2}, report_);

  EXPECT_EQ(report_.cgroups_missed, 1U);
}

TEST_F(TargetTrackerTest, OneCreatedAgainThatHasToWaitLingersMeanwhile) {
  TargetTracker targets = tracker({"a.service"}, {.opens_per_second = 1});
  const auto before = targets.update(start_, report_);
  tree_.remove("cgroup/a.service");
  make_cgroup("a.service");

  const auto waiting = targets.update(start_, report_);
  const auto after = targets.update(start_ + seconds{1}, report_);

  ASSERT_EQ(waiting->cgroups.size(), 1U);
  EXPECT_EQ(waiting->cgroups[0].cgroup, nullptr);
  EXPECT_EQ(waiting->waiting, 1U);
  ASSERT_EQ(after->cgroups.size(), 1U);
  EXPECT_EQ(after->cgroups[0].series, before->cgroups[0].series);
  EXPECT_NE(after->cgroups[0].cgroup, nullptr);
}

/// The simulated time is that of the tracker; what comes and goes are directories.
TEST_F(TargetTrackerTest, OneThatLivesLongIsCountedWithinTheLifeOfOthersHoweverManyComeAndGo) {
  constexpr auto kStep = milliseconds{100};
  constexpr auto kLife = seconds{3};
  for (const int comings_in_a_step : {2, 5}) {  // 20 and 50 in a second; 8 can be opened
    TargetTracker targets = tracker({}, {.max_cgroups = 1000, .opens_per_second = 8});
    std::deque<std::pair<TargetTracker::Clock::time_point, std::string>> living;
    const auto made = start_ + 2 * kLife;
    std::optional<TargetTracker::Clock::duration> waited;
    PollReport report;
    std::size_t comings = 0;
    for (auto now = start_; now < made + 2 * kLife; now += kStep) {
      for (int i = 0; i < comings_in_a_step; ++i) {
        const std::string name = "a" + std::to_string(10'000 + comings++) + ".service";
        make_cgroup(name);
        living.emplace_back(now, name);
      }
      if (now == made) make_cgroup("z.service");
      for (; now - living.front().first >= kLife; living.pop_front()) {
        tree_.remove("cgroup/" + living.front().second);
      }
      const auto current = targets.update(now, report);
      const bool is_counted = std::any_of(
          current->cgroups.begin(), current->cgroups.end(),
          [](const CgroupTarget& target) { return target.path == "/z.service" && target.cgroup; });
      if (is_counted && !waited) waited = now - made;
      // Each is counted, waits, or has been one of the two and is gone.
      ASSERT_EQ(current->present + current->waiting, living.size() + (now >= made ? 1 : 0));
    }

    ASSERT_TRUE(waited) << comings_in_a_step;
    EXPECT_LE(*waited, kLife) << comings_in_a_step;
    EXPECT_GT(report.cgroups_missed, 0U);
    tree_.remove("cgroup");
    tree_.make_directory("cgroup");
  }
}

TEST_F(TargetTrackerTest, WhereRoomGetsLessThoseThatWaitGiveWayBeforeThoseThatAreCounted) {
  set_online("0");
  TargetTracker targets = tracker({"m.service"}, {.max_open_events = 4, .opens_per_second = 1});
  (void)targets.update(start_, report_);
  make_cgroup("a.service");
  const auto both = targets.update(start_, report_);
  ASSERT_EQ(both->waiting, 1U);

  set_online("0-1");  // each takes twice as many, and there is room for one
  const auto one = targets.update(start_, report_);

  EXPECT_EQ(one->waiting, 0U);
  ASSERT_EQ(one->cgroups.size(), 1U);
  EXPECT_EQ(one->cgroups[0].path, "/m.service");
  EXPECT_EQ(one->found->left_out_paths, (std::vector<std::string>{"/a.service"}));
  EXPECT_EQ(report_.cgroups_missed, 0U);
}

TEST_F(TargetTrackerTest, OneThatLackedDescriptorsIsLetGoAndTriedAgainAfterAWhile) {
  TargetTracker targets = tracker({"a.service", "b.service", "c.service"});
  (void)targets.update(start_, report_);

  targets.set_aside({{"/b.service", EMFILE}}, start_);
  const auto without = targets.update(start_, report_);
  make_cgroup("d.service");
  const auto still_without = targets.update(start_ + milliseconds{900}, report_);
  const auto tried = targets.update(start_ + seconds{1}, report_);

  EXPECT_EQ(without->present, 2U);
  EXPECT_EQ(without->found->left_out_paths, (std::vector<std::string>{"/b.service"}));
  EXPECT_EQ(without->left_out_reason, "open_files");
  EXPECT_EQ(without->cgroups[1].path, "/b.service");  // what was counted of it lingers
  EXPECT_EQ(without->cgroups[1].cgroup, nullptr);
  EXPECT_EQ(still_without->present, 2U);
  EXPECT_EQ(tried->present, 4U);
  EXPECT_EQ(report_.cgroups_left_out.at("open_files"), 2U);
}

TEST_F(TargetTrackerTest, FewerCpusLeaveRoomForMoreCgroups) {
  TargetTracker targets =
      tracker({"a.service", "b.service"}, {.max_open_events = 2 + 2 + 1});  // two tell of the CPUs
  const auto bounded = targets.update(start_, report_);
  set_online("0");

  const auto now = targets.update(start_, report_);

  EXPECT_EQ(bounded->found->left_out, 1U);
  EXPECT_EQ(bounded->left_out_reason, "max_open_events");
  EXPECT_EQ(now->present, 2U);
  EXPECT_EQ(now->found->left_out, 0U);
}

TEST_F(TargetTrackerTest, KnowsTheCpusOfThePmusThatThePlanCountsOn) {
  tree_.write("sys/bus/event_source/devices/uncore_imc/cpumask", "1\n");
  plan_->cpu = test::scope_plan({{.name = "memory", .events = {"cycles"}, .pmu = "uncore_imc"}});
  TargetTracker targets = tracker();

  const auto now = targets.update(start_, report_);

  EXPECT_FALSE(now->cpus->counts_on("uncore_imc", 0));
  EXPECT_TRUE(now->cpus->counts_on("uncore_imc", 1));
}

TEST_F(TargetTrackerTest, WhenTheMachineCannotReportItsCpusThoseOfBeforeHoldAndCgroupsGoOn) {
  TargetTracker targets = tracker();
  (void)targets.update(start_, report_);
  set_online("none");
  make_cgroup("a.service");

  const auto now = targets.update(start_, report_);

  ASSERT_EQ(report_.failures.size(), 1U);
  EXPECT_EQ(report_.failures.begin()->first.code, EINVAL);
  EXPECT_EQ(now->cpus->online, (std::vector{0, 1}));
  EXPECT_EQ(now->present, 1U);
}

TEST_F(TargetTrackerTest, WhenTheCgroupsCannotBeReadTheCpusGoOn) {
  TargetTracker targets = tracker({"a.service"});
  (void)targets.update(start_, report_);
  tree_.rename("cgroup", "elsewhere");
  set_online("0");

  const auto now = targets.update(start_ + seconds{61}, report_);

  ASSERT_EQ(report_.failures.size(), 1U);
  EXPECT_EQ(report_.failures.begin()->first.what, "find cgroups");
  EXPECT_EQ(now->cpus->online, (std::vector{0}));
  EXPECT_EQ(now->present, 1U);
}

TEST_F(TargetTrackerTest, WhenTheCgroupsCannotBeReadThoseBeyondALowerLimitAreGivenUp) {
  TargetTracker targets = tracker({"a.service", "b.service"});
  (void)targets.update(start_, report_);
  tree_.rename("cgroup", "elsewhere");
  TargetTracker::Changes changes = as_before();
  changes.budget.max_cgroups = 1;
  targets.change(std::move(changes));

  const auto now = targets.update(start_ + seconds{61}, report_);

  EXPECT_EQ(now->present, 1U);
  EXPECT_EQ(now->found->left_out, 1U);
  EXPECT_EQ(report_.cgroups_left_out["max"], 1U);
}

TEST_F(TargetTrackerTest, OfLingeringCgroupsThoseGoneLongestMakeRoom) {
  TargetTracker targets = tracker({}, {.max_series = 2 * kSeriesOfACgroup});
  make_cgroup("old_series.service");
  (void)targets.update(start_, report_);
  make_cgroup("short_job.service");
  (void)targets.update(start_, report_);
  tree_.remove("cgroup/short_job.service");
  (void)targets.update(start_ + seconds{1}, report_);
  tree_.remove("cgroup/old_series.service");
  (void)targets.update(start_ + seconds{2}, report_);
  make_cgroup("new.service");

  const auto kept = targets.update(start_ + seconds{3}, report_);

  EXPECT_THAT(paths_of(*kept), UnorderedElementsAre("/old_series.service", "/new.service"));
}

TEST_F(TargetTrackerTest, ASeriesKeepsItsSlotUntilItHasExpiredAndThenAnotherOneGetsIt) {
  for (const char* const name : {"a", "b", "c"}) make_cgroup(std::string(name) + ".service");
  TargetTracker targets = tracker();
  const auto first = targets.update(start_, report_);
  EXPECT_THAT(paths_of(*first), ElementsAre("/a.service", "/b.service", "/c.service"));
  tree_.remove("cgroup/a.service");
  tree_.remove("cgroup/c.service");
  (void)targets.update(start_ + seconds{1}, report_);
  const auto expired = targets.update(start_ + seconds{62}, report_);
  make_cgroup("d.service");

  const auto reused = targets.update(start_ + seconds{63}, report_);

  ASSERT_EQ(expired->cgroups.size(), 2U) << "a free slot at the end is none";
  EXPECT_TRUE(expired->cgroups[0].is_free());
  EXPECT_EQ(expired->cgroups[1].path, "/b.service");
  EXPECT_THAT(paths_of(*reused), ElementsAre("/d.service", "/b.service"));
  EXPECT_FALSE(reused->has_series_of(*first, 0));
  EXPECT_TRUE(reused->has_series_of(*first, 1));
}

TEST_F(TargetTrackerTest, OneThatEndsIsATargetUntilASnapshotHasItsLastReadingEvenWithoutRoom) {
  TargetTracker targets = tracker({}, {.max_series = kSeriesOfACgroup});
  make_cgroup("a.service");
  (void)targets.update(start_, report_);
  tree_.remove("cgroup/a.service");
  make_cgroup("b.service");

  const auto ended = targets.update(start_ + seconds{1}, report_);
  const auto next = targets.update(start_ + seconds{2}, report_);

  ASSERT_EQ(ended->cgroups.size(), 1U);
  EXPECT_EQ(ended->cgroups[0].path, "/a.service");
  EXPECT_EQ(ended->cgroups[0].cgroup, nullptr);
  EXPECT_EQ(ended->waiting, 1U);
  EXPECT_THAT(paths_of(*next), ElementsAre("/b.service"));
  EXPECT_EQ(next->waiting, 0U);
}

TEST_F(TargetTrackerTest, OneThatEndsIsATargetUntilAPollInWhichNoCpuIsLateHoweverShortItLingers) {
  constexpr auto kPoll = TargetTracker::Round::kPoll;
  constexpr auto kBetween = TargetTracker::Round::kReconciliation;
  struct Row {
    TargetTracker::Round round;
    bool was_whole;
    std::size_t targets;
  };
  const std::vector<Row> of_each_end[] = {
      {{kBetween, true, 1}, {kBetween, true, 1}, {kPoll, true, 1}, {kBetween, true, 0}},
      {{kPoll, true, 1},
       {kPoll, false, 1},
       {kBetween, false, 1},
       {kPoll, true, 1},
       {kPoll, true, 0}},
  };
  for (const std::vector<Row>& rows : of_each_end) {
    make_cgroup("a.service");
    TargetTracker targets = tracker({}, {}, {}, milliseconds{0});
    (void)targets.update(start_, report_);
    tree_.remove("cgroup/a.service");

    auto now = start_;
    for (const Row& row : rows) {
      const auto updated = targets.update(now += seconds{1}, report_, row.round, row.was_whole);
      EXPECT_EQ(updated->cgroups.size(), row.targets) << (now - start_) / seconds{1} << " s";
    }
  }
}

TEST_F(TargetTrackerTest, OneThatIsThereAgainDoesNotWaitForALateCpu) {
  TargetTracker targets = tracker({"a.service"});
  const auto is_there = [&](seconds at) {
    const auto now =
        targets.update(start_ + at, report_, TargetTracker::Round::kPoll, /*was_whole=*/false);
    return now->cgroups.at(0).cgroup != nullptr;
  };
  (void)is_there(seconds{0});
  tree_.remove("cgroup/a.service");
  EXPECT_FALSE(is_there(seconds{1}));

  make_cgroup("a.service");

  EXPECT_TRUE(is_there(seconds{2}));
  EXPECT_TRUE(is_there(seconds{3}));
}

TEST_F(TargetTrackerTest, OneThatEndsWaitsForACpuThatHangsForAMinute) {
  TargetTracker targets = tracker({}, {.max_series = kSeriesOfACgroup});
  make_cgroup("a.service");
  (void)targets.update(start_, report_);
  tree_.remove("cgroup/a.service");
  make_cgroup("b.service");
  const auto update = [&](seconds at) {
    return targets.update(start_ + at, report_, TargetTracker::Round::kPoll, /*was_whole=*/false);
  };

  (void)update(seconds{1});
  const auto minute = update(seconds{61});
  const auto after = update(seconds{62});

  EXPECT_THAT(paths_of(*minute), ElementsAre("/a.service"));
  EXPECT_THAT(paths_of(*after), ElementsAre("/b.service"));
}

TEST_F(TargetTrackerTest, OthersWaitForThePollIfThoseThatEndedBeforeItTakeAllRoom) {
  TargetTracker targets = tracker({}, {.max_series = 3 * kSeriesOfACgroup});
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "job" + std::to_string(i) + ".service";
    for (const bool is_there : {true, false}) {
      if (is_there) {
        make_cgroup(name);
      } else {
        tree_.remove("cgroup/" + name);
      }
      const auto now =
          targets.update(start_ + milliseconds{i}, report_, TargetTracker::Round::kReconciliation);
      most = std::max(most, now->series());
    }
  }

  EXPECT_EQ(most, 3U);
  EXPECT_EQ(report_.cgroups_missed, 17U);
}

TEST_F(TargetTrackerTest, ACgroupThatIsNotSelectedChangesTheNamesAndNotTheLayout) {
  make_cgroup("a.service");
  TargetTracker targets = tracker_by_records(0);
  const auto before = targets.update(start_, report_);
  make_cgroup("b.scope");
  targets.learn_names({}, true);

  const auto after = targets.update(start_ + seconds{2}, report_);
  make_cgroup("c.service");
  const auto grown = targets.update(start_ + seconds{3}, report_);

  EXPECT_NE(after->names, before->names);
  EXPECT_TRUE(after->has_layout_of(*before));
  ASSERT_EQ(grown->cgroups.size(), 2U);
  EXPECT_FALSE(grown->has_layout_of(*after));
}

TEST_F(TargetTrackerTest, NamesAreLookedForFromTheTimeOnThatThereAreEnoughCgroupsForRecords) {
  make_cgroup("a.service");
  make_cgroup("b.scope");
  TargetTracker targets = tracker_by_records(2);
  const auto names = [&](int second) {
    std::size_t count = 0;
    const auto set = targets.update(start_ + seconds{second}, report_);
    set->names->for_each([&](const auto&...) { ++count; });
    return count;
  };

  EXPECT_EQ(names(0), 0U);
  EXPECT_EQ(names(1), 0U);
  make_cgroup("c.service");
  names(2);
  EXPECT_EQ(names(3), 4U);  // with the root
  tree_.remove("cgroup/c.service");
  names(4);
  EXPECT_EQ(names(5), 4U);  // records are kept for a while
}

TEST_F(TargetTrackerTest, WhatHasNoRoomBeforeRecordsAreUsedIsNotReportedAsLeftOut) {
  for (const char* name : {"a.service", "b.service", "c.service"}) make_cgroup(name);
  for (const bool comes_to_records : {true, false}) {
    bool by_records = false;
    const CostFunction cost = [&](const CountingPlan& plan, const MachineCpus& cpus) {
      CounterCost now = descriptor_cost(plan, cpus);
      if (by_records) now.cgroup = now.cgroup_on_a_cpu = 0;
      return now;
    };
    TargetTracker targets = tracker_by_records(0, {.max_open_events = 4}, cost);
    PollReport report;

    const auto first = targets.update(start_, report);
    EXPECT_LT(first->present, 3U);
    EXPECT_TRUE(report.cgroups_left_out.empty());
    by_records = comes_to_records;
    const auto second = targets.update(start_ + seconds{1}, report);

    EXPECT_EQ(second->present == 3U, comes_to_records);
    EXPECT_EQ(report.cgroups_left_out.size(), comes_to_records ? 0U : 1U);
  }
}

}  // namespace
}  // namespace pex::collect
