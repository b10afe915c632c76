#include "count/rotation.h"

#include <cerrno>

#include "count/descriptor_source.h"
#include "count/poll_cycle.h"
#include "support/cgroups.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Answer = test::ScriptedKernel::Answer;

/// One cgroup on one CPU with a clock and three groups, of which the kernel only ever runs the
/// first.
class RotationTest : public testing::Test {
 protected:
  RotationTest() : kernel_(tree_.root()) {
    plan_->cgroup = test::scope_plan({{"clock", {"cpu-clock"}},
                                      {"a", {"cycles"}},
                                      {"b", {"branches"}},
                                      {"c", {"cache-misses"}}});
    for (std::size_t i = 0; i < plan_->cgroup.groups.size(); ++i) {
      GroupPlan& group = plan_->cgroup.groups[i];
      group.is_published = group.shares_pmu = i > 0;
      if (i > 0) group.auxiliary.always_on = 0;
    }
    targets_ = test::targets_of({{1, "/web", test::make_cgroup(tree_, "/web")}});
    cycle_ = std::make_unique<test::CountedCycle>(std::make_unique<DescriptorSource>(kernel_, 0),
                                                  plan_, 0);
    models_ = std::make_unique<EventModels>(*plan_);
  }

  /// A second for which the cgroup was on the CPU, as the kernel counts it: the clocks of groups
  /// that are not enabled stand still, and of the others the first has the PMU, however many there
  /// are.
  void pass() {
    on_cpu_ += second_;
    kernel_.answer("cpu0 /web cpu-clock", {Answer::Kind::kCounts, on_cpu_, on_cpu_, {}, 0});
    bool is_free = true;
    for (Group& group : groups_) {
      const std::string name = "cpu0 /web " + group.event;
      if (polls_ > 0 && !kernel_.runs(name)) continue;
      group.enabled += second_;
      if (is_free) group.running += second_;
      is_free = false;
      const auto count = static_cast<std::uint64_t>(group.running / milliseconds{1});
      kernel_.answer(name, {Answer::Kind::kCounts, group.enabled, group.running, {count}, 0});
    }
    ++polls_;
  }
  PollReport read() { return cycle_->run(targets_, *models_).report; }
  PollReport poll() {
    pass();
    return read();
  }
  void poll_times(int number) {
    for (; number > 0; --number) (void)poll();
  }

  std::string running_now() {
    std::string running;
    for (const Group& group : groups_) {
      if (kernel_.runs("cpu0 /web " + group.event)) running += group.event + " ";
    }
    return running;
  }

  /// `change` is made to the groups of the plan, of which "clock" goes on being the clock.
  template <typename Change>
  void change_plan(Change change) {
    auto plan = std::make_shared<CountingPlan>(*plan_);
    std::vector<GroupPlan>& groups = plan->cgroup.groups;
    change(groups);
    std::size_t clock = 0;
    while (groups[clock].name != "clock") ++clock;
    for (GroupPlan& group : groups) {
      if (group.shares_pmu) group.auxiliary.always_on = clock;
    }
    plan->cgroup.columns.clear();
    plan_ = std::move(plan);
    (void)cycle_->change(plan_);
    models_ = std::make_unique<EventModels>(*plan_);
    targets_ = std::make_shared<const TargetSet>(*targets_);  // another layout
  }

  test::CountedTotals totals(std::size_t group) { return cycle_->cgroup_groups(0)[group].totals(); }

  struct Group {
    std::string event;
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
  };
  std::vector<Group> groups_ = {{"cycles"}, {"branches"}, {"cache-misses"}};
  std::chrono::nanoseconds on_cpu_{};
  std::chrono::nanoseconds second_ = seconds{1};  ///< between two polls
  int polls_ = 0;
  test::TempTree tree_;
  test::ScriptedKernel kernel_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  std::shared_ptr<const TargetSet> targets_;
  std::unique_ptr<test::CountedCycle> cycle_;
  std::unique_ptr<EventModels> models_;
};

TEST_F(RotationTest, BeginWhenOneGroupStarvedForThreePollsNextToOneThatHadEverything) {
  EXPECT_EQ(poll().now.targets_rotated_manually, 0U);
  EXPECT_EQ(poll().now.targets_rotated_manually, 0U);
  EXPECT_EQ(running_now(), "cycles branches cache-misses ");

  EXPECT_EQ(poll().now.targets_rotated_manually, 1U);

  EXPECT_EQ(running_now(), "cycles ");
}

TEST_F(RotationTest, GiveEachGroupOnePollInRotation) {
  poll_times(3);
  std::vector<std::string> turns;
  for (int i = 0; i < 4; ++i) {
    (void)poll();
    turns.push_back(running_now());
  }

  EXPECT_EQ(turns,
            (std::vector<std::string>{"branches ", "cache-misses ", "cycles ", "branches "}));
}

TEST_F(RotationTest, CountTheTimeOfTheCgroupAsEnabledForGroupsThatAreNot) {
  poll_times(12);

  for (const std::size_t group : {1U, 2U, 3U}) {
    EXPECT_EQ(totals(group).times().enabled, seconds{12}) << group;
  }
}

TEST_F(RotationTest, GiveEveryGroupAValueThatIsAboutRight) {
  poll_times(62);

  for (const std::size_t group : {1U, 2U, 3U}) {  // 1000 in every second of the cgroup
    EXPECT_NEAR(static_cast<double>(totals(group)[0].value), 62'000, 2'000) << group;
  }
}

TEST_F(RotationTest, WaitForACgroupThatIsNotOnTheCpu) {
  poll_times(4);
  ASSERT_EQ(running_now(), "branches ");

  (void)cycle_->run(targets_, *models_);  // the same readings as before: nothing has moved

  EXPECT_EQ(running_now(), "branches ");
}

TEST_F(RotationTest, CountTheTimeOfAGroupThatIsOpenedMeanwhile) {
  kernel_.refuse("cache-misses", EBUSY);
  poll_times(6);
  ASSERT_NE(running_now(), "cycles branches ");
  kernel_.refuse("cache-misses", 0);
  groups_[2].enabled = groups_[2].running = {};

  poll_times(60);

  const GroupTimes times = totals(3).times();
  EXPECT_GE(times.enabled, seconds{50}) << "not its turns alone";
  EXPECT_LT(times.running, seconds{30});
}

TEST_F(RotationTest, AreOverWhenTheCgroupIsGone) {
  poll_times(4);
  auto gone = std::make_shared<TargetSet>(*targets_);
  gone->cgroups[0].cgroup = nullptr;
  targets_ = gone;

  (void)cycle_->run(targets_, *models_);

  EXPECT_EQ(cycle_->run(targets_, *models_).report.now.targets_rotated_manually, 0U);
}

TEST_F(RotationTest, PassAGroupThatCannotBeRead) {
  poll_times(4);
  ASSERT_EQ(running_now(), "branches ");
  on_cpu_ += seconds{1};
  kernel_.answer("cpu0 /web cpu-clock", {Answer::Kind::kCounts, on_cpu_, on_cpu_, {}, 0});
  kernel_.answer("cpu0 /web branches", {Answer::Kind::kError, {}, {}, {}, EIO});

  (void)cycle_->run(targets_, *models_);

  EXPECT_EQ(running_now(), "cache-misses ");
}

TEST_F(RotationTest, OfAnyLengthLeaveNothingUnmeasured) {
  second_ = seconds{30};  // a group is off the PMU for a minute between two turns
  poll_times(3);
  const seconds starved{90};  // by the kernel, before there were turns

  poll_times(60);

  for (const std::size_t group : {1U, 2U, 3U}) {
    EXPECT_EQ(totals(group).times().unmeasured, group == 1 ? seconds{0} : starved) << group;
  }
}

TEST_F(RotationTest, AreLeftToTheKernelAgainAfterAWhileForThreePolls) {
  poll_times(302);
  ASSERT_NE(running_now(), "cycles branches cache-misses ");

  EXPECT_EQ(poll().now.targets_rotated_manually, 0U);
  EXPECT_EQ(running_now(), "cycles branches cache-misses ");
  EXPECT_EQ(poll().now.targets_rotated_manually, 0U);
  EXPECT_EQ(poll().now.targets_rotated_manually, 0U);
  EXPECT_EQ(poll().now.targets_rotated_manually, 1U);
}

TEST_F(RotationTest, LoseNoTimeOfAGroupWhenAnotherOneIsAddedToThePlan) {
  poll_times(6);
  ASSERT_EQ(running_now(), "cycles ");
  pass();
  change_plan([](std::vector<GroupPlan>& groups) {  // so that all others have other places
    groups.insert(groups.begin(), test::scope_plan({{"new", {"page-faults"}}}).groups.front());
  });

  const PollReport report = read();

  EXPECT_EQ(report.now.targets_rotated_manually, 1U);
  EXPECT_EQ(running_now(), "branches ");
  for (const std::size_t group : {2U, 3U, 4U}) {
    EXPECT_EQ(totals(group).times().enabled, seconds{7}) << group;
  }
}

TEST_F(RotationTest, GoOnAmongTheOthersWhenTheGroupThatIsEnabledIsRemovedFromThePlan) {
  poll_times(6);
  ASSERT_EQ(running_now(), "cycles ");
  pass();
  change_plan([](std::vector<GroupPlan>& groups) { groups.erase(groups.begin() + 1); });
  groups_.erase(groups_.begin());

  (void)read();

  EXPECT_EQ(running_now(), "branches ");
  for (const std::size_t group : {1U, 2U}) {
    EXPECT_EQ(totals(group).times().enabled, seconds{7}) << group;
  }
}

TEST_F(RotationTest, AreNotTakenWithoutAClockThatGoesOn) {
  for (GroupPlan& group : plan_->cgroup.groups) group.auxiliary = {};
  PollReport report;
  for (int i = 0; i < 6; ++i) report = poll();

  EXPECT_EQ(report.now.targets_rotated_manually, 0U);
}

}  // namespace
}  // namespace pex::collect
