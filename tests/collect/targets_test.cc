#include "collect/targets.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::collect {
namespace {

using std::chrono::seconds;

/// A machine of plain files: two CPUs, and cgroups below "cgroup".
class TargetTrackerTest : public testing::Test {
 protected:
  TargetTrackerTest() {
    tree_.write("sys/devices/system/cpu/online", "0-1\n");
    tree_.make_directory("cgroup");
  }

  TargetTracker tracker(Budget budget = {}) {
    budget.cgroup_events = budget.cgroup_series = 1;
    cgroup::Selection selection{{cgroup::Glob("/*.service")}, {}};
    return {{tree_.path("sys"), tree_.path("proc"), {}},
            cgroup::Discovery(tree_.path("cgroup"), std::move(selection)),
            budget,
            seconds{60}};
  }

  void make_cgroup(const std::string& name) { tree_.write("cgroup/" + name + "/cgroup.procs", ""); }

  test::TempTree tree_;
  TargetTracker::Clock::time_point start_ = TargetTracker::Clock::now();
};

TEST_F(TargetTrackerTest, GivesTheSameObjectWhileNothingChanges) {
  make_cgroup("a.service");
  TargetTracker targets = tracker();

  const auto first = targets.update(start_).targets;
  const auto second = targets.update(start_ + seconds{1}).targets;

  EXPECT_EQ(first, second);
  EXPECT_EQ(first->online_cpus, (std::vector{0, 1}));
}

TEST_F(TargetTrackerTest, NewCgroupsFollowThoseThatAreKnown) {
  make_cgroup("b.service");
  TargetTracker targets = tracker();
  (void)targets.update(start_);
  make_cgroup("a.service");

  const auto grown = targets.update(start_).targets;

  ASSERT_EQ(grown->cgroups.size(), 2U);
  EXPECT_EQ(grown->cgroups[0].path, "/b.service");
  EXPECT_EQ(grown->cgroups[1].path, "/a.service");
  EXPECT_LT(grown->cgroups[0].series, grown->cgroups[1].series);
}

TEST_F(TargetTrackerTest, AGoneCgroupLingersAndThenItsSeriesEnds) {
  make_cgroup("a.service");
  TargetTracker targets = tracker();
  (void)targets.update(start_);
  tree_.remove("cgroup/a.service");

  const auto lingering = targets.update(start_ + seconds{1}).targets;
  const auto later = targets.update(start_ + seconds{60}).targets;
  const auto ended = targets.update(start_ + seconds{61}).targets;

  ASSERT_EQ(lingering->cgroups.size(), 1U);
  EXPECT_EQ(lingering->cgroups[0].cgroup, nullptr);
  EXPECT_EQ(lingering->present, 0U);
  EXPECT_EQ(later->cgroups.size(), 1U);
  EXPECT_TRUE(ended->cgroups.empty());
}

TEST_F(TargetTrackerTest, ACgroupMadeAnewUnderALingeringPathContinuesItsSeries) {
  make_cgroup("a.service");
  TargetTracker targets = tracker();
  const auto before = targets.update(start_).targets;
  tree_.remove("cgroup/a.service");
  (void)targets.update(start_ + seconds{1});
  make_cgroup("a.service");

  const auto after = targets.update(start_ + seconds{2}).targets;
  const auto much_later = targets.update(start_ + seconds{200}).targets;

  ASSERT_EQ(after->cgroups.size(), 1U);
  EXPECT_EQ(after->cgroups[0].series, before->cgroups[0].series);
  EXPECT_NE(after->cgroups[0].cgroup, before->cgroups[0].cgroup);
  EXPECT_EQ(much_later->cgroups.size(), 1U);  // it lives: the linger of its forerunner is over
}

TEST_F(TargetTrackerTest, SaysHowManyAreLeftOutAndWhichLimitTheyMet) {
  make_cgroup("a.service");
  make_cgroup("b.service");
  make_cgroup("c.service");
  TargetTracker targets = tracker({.max_cgroups = 2});

  const auto bounded = targets.update(start_).targets;

  EXPECT_EQ(bounded->present, 2U);
  EXPECT_EQ(bounded->left_out, 1U);
  EXPECT_EQ(bounded->left_out_reason, "max");
}

TEST_F(TargetTrackerTest, FollowsTheOnlineCpus) {
  TargetTracker targets = tracker();
  (void)targets.update(start_);
  tree_.write("sys/devices/system/cpu/online", "0\n");

  const auto fewer = targets.update(start_).targets;

  EXPECT_TRUE(fewer->is_online(0));
  EXPECT_FALSE(fewer->is_online(1));
}

TEST_F(TargetTrackerTest, WhenTheMachineCannotTellItsCpusThoseOfBeforeHoldAndCgroupsGoOn) {
  TargetTracker targets = tracker();
  (void)targets.update(start_);
  tree_.write("sys/devices/system/cpu/online", "none\n");
  make_cgroup("a.service");

  const TargetTracker::Update update = targets.update(start_);

  ASSERT_EQ(update.failures.size(), 1U);
  EXPECT_EQ(update.failures[0].code, EINVAL);
  EXPECT_EQ(update.targets->online_cpus, (std::vector{0, 1}));
  EXPECT_EQ(update.targets->present, 1U);
}

TEST_F(TargetTrackerTest, WhenTheCgroupsCannotBeReadTheCpusGoOn) {
  make_cgroup("a.service");
  TargetTracker targets = tracker();
  (void)targets.update(start_);
  tree_.rename("cgroup", "elsewhere");
  tree_.write("sys/devices/system/cpu/online", "0\n");

  const TargetTracker::Update update = targets.update(start_ + seconds{61});

  EXPECT_EQ(update.failures.size(), 1U);
  EXPECT_EQ(update.targets->online_cpus, (std::vector{0}));
  EXPECT_EQ(update.targets->present, 1U);
}

TEST_F(TargetTrackerTest, OfLingeringCgroupsThoseGoneLongestMakeRoom) {
  TargetTracker targets = tracker({.max_series = 2});
  make_cgroup("old_series.service");
  (void)targets.update(start_);
  make_cgroup("short_job.service");
  (void)targets.update(start_);
  tree_.remove("cgroup/short_job.service");
  (void)targets.update(start_ + seconds{1});
  tree_.remove("cgroup/old_series.service");
  (void)targets.update(start_ + seconds{2});
  make_cgroup("new.service");

  const auto kept = targets.update(start_ + seconds{3}).targets;

  ASSERT_EQ(kept->cgroups.size(), 2U);
  EXPECT_EQ(kept->cgroups[0].path, "/old_series.service");
  EXPECT_EQ(kept->cgroups[1].path, "/new.service");
}

TEST_F(TargetTrackerTest, KeepsABoundedNumberOfLingeringCgroups) {
  TargetTracker targets = tracker({.max_series = 3});
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "job" + std::to_string(i) + ".service";
    make_cgroup(name);
    const auto with = targets.update(start_ + seconds{i}).targets;
    tree_.remove("cgroup/" + name);
    const auto without = targets.update(start_ + seconds{i}).targets;
    most = std::max({most, with->cgroups.size(), without->cgroups.size()});
  }

  EXPECT_LE(most, 3U);
}

}  // namespace
}  // namespace pex::collect
