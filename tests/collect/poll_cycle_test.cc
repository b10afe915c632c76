#include "collect/poll_cycle.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "collect/snapshot.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using Answer = test::ScriptedKernel::Answer;

perf::EventSpec event(const char* name) { return *perf::parse_event(name); }

Answer counts(milliseconds enabled, milliseconds running, std::vector<std::uint64_t> numbers) {
  return {Answer::Kind::kCounts, enabled, running, std::move(numbers), 0};
}

/// One CPU, one group for it and one for each cgroup, over a scripted kernel.
class PollCycleTest : public testing::Test {
 protected:
  PollCycleTest() : kernel_(tree_.root()) {
    plan_->cpu.push_back({"core", {event("cycles"), event("instructions")}, false});
    plan_->cgroup.push_back({"software", {event("context-switches")}, false});
  }

  std::shared_ptr<const cgroup::Cgroup> make_cgroup(const std::string& path) {
    tree_.write(path.substr(1) + "/cgroup.procs", "");
    auto cgroup = std::make_shared<cgroup::Cgroup>();
    cgroup->path = path;
    cgroup->directory.reset(::open(tree_.path(path.substr(1)).c_str(), O_RDONLY | O_CLOEXEC));
    return cgroup;
  }

  static std::shared_ptr<const TargetSet> targets(std::vector<CgroupTarget> cgroups,
                                                  std::vector<int> online = {0}) {
    auto set = std::make_shared<TargetSet>();
    set->online_cpus = std::move(online);
    set->present = cgroups.size();
    set->cgroups = std::move(cgroups);
    return set;
  }

  test::TempTree tree_;
  test::ScriptedKernel kernel_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
};

TEST_F(PollCycleTest, OpensReadsAndAccumulatesInOnePoll) {
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{10}, milliseconds{10}, {100, 200}));

  const PollReport report = cycle.run(targets({}));

  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(report.groups_read, 1U);
  EXPECT_EQ(report.open_events, 3U);  // two, and the one that tells of the CPU
  EXPECT_EQ(cycle.cpu_groups()[0].totals().events()[1], 200U);
}

TEST_F(PollCycleTest, ReadsARemovedCgroupOnceMoreAndThenClosesIt) {
  const auto a = make_cgroup("/a");
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  (void)cycle.run(targets({{1, "/a", a}}));
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{2}, milliseconds{2}, {8}));

  const PollReport report = cycle.run(targets({{1, "/a", nullptr}}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals().events()[0], 8U);
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy"}));
}

TEST_F(PollCycleTest, KeepsTheTotalsOfSeriesThatStayWhenOthersComeAndGo) {
  const auto a = make_cgroup("/a");
  const auto b = make_cgroup("/b");
  const auto c = make_cgroup("/c");
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {1}));
  kernel_.answer("cpu0 /b context-switches", counts(milliseconds{1}, milliseconds{1}, {2}));
  kernel_.answer("cpu0 /c context-switches", counts(milliseconds{1}, milliseconds{1}, {3}));
  (void)cycle.run(targets({{1, "/a", a}, {2, "/b", b}}));

  (void)cycle.run(targets({{2, "/b", b}, {3, "/c", c}}));

  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals().events()[0], 2U);
  EXPECT_EQ(cycle.cgroup_groups(1)[0].totals().events()[0], 3U);
  EXPECT_EQ(kernel_.still_open(), 5U);  // two of the CPU, one each of b and c, and the dummy
}

TEST_F(PollCycleTest, OneGroupThatCannotBeReadDoesNotCostTheOthers) {
  const auto a = make_cgroup("/a");
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", {Answer::Kind::kError, {}, {}, {}, EIO});
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));

  const PollReport report = cycle.run(targets({{1, "/a", a}}));

  EXPECT_EQ(report.read_failures, 1U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(describe(report.failures[0]), "read group 'core' on CPU 0: Input/output error (EIO)");
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals().events()[0], 5U);
}

TEST_F(PollCycleTest, ALostIncrementIsMadeUpForByTheNextReading) {
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 0}));
  (void)cycle.run(targets({}));
  kernel_.answer("cpu0 cycles", {Answer::Kind::kError, {}, {}, {}, EIO});
  (void)cycle.run(targets({}));
  kernel_.answer("cpu0 cycles", counts(milliseconds{3}, milliseconds{3}, {300, 0}));

  (void)cycle.run(targets({}));

  EXPECT_EQ(cycle.cpu_groups()[0].totals().events()[0], 300U);
}

TEST_F(PollCycleTest, TriesARefusedGroupLessAndLessOften) {
  kernel_.refuse("cpu0 instructions", EMFILE);
  PollCycle cycle{kernel_, plan_, 0};

  std::vector<int> polls_with_a_try;
  for (int poll = 1; poll <= 20; ++poll) {
    if (!cycle.run(targets({})).refusals.empty()) polls_with_a_try.push_back(poll);
  }

  EXPECT_EQ(polls_with_a_try, (std::vector{1, 3, 6, 11, 20}));  // after 1, 2, 4 and 8 polls' rest
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 dummy"}));  // no half group
}

TEST_F(PollCycleTest, CountsRefusalsByEventAndReason) {
  kernel_.refuse("instructions", EMFILE);
  PollCycle cycle{kernel_, plan_, 0};

  const PollReport report = cycle.run(targets({}));

  ASSERT_EQ(report.refusals.size(), 1U);
  EXPECT_EQ(report.refusals.begin()->first, (PollReport::Refusal{"instructions", EMFILE}));
}

TEST_F(PollCycleTest, ACgroupThatVanishesBeforeItIsOpenedIsNoFailure) {
  const auto a = make_cgroup("/a");
  tree_.remove("a");
  kernel_.refuse("context-switches", ENOENT);
  PollCycle cycle{kernel_, plan_, 0};

  const PollReport report = cycle.run(targets({{1, "/a", a}}));

  EXPECT_TRUE(report.refusals.empty());
  EXPECT_TRUE(report.failures.empty());
}

TEST_F(PollCycleTest, AnOfflineCpuIsReadOnceMoreAndKeepsItsTotals) {
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 10}));
  (void)cycle.run(targets({}));
  kernel_.answer("cpu0 cycles",
                 {Answer::Kind::kBrokenUp, milliseconds{2}, milliseconds{2}, {150, 15}, 0});

  const PollReport report = cycle.run(targets({}, {1}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.open_events, 0U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals().events()[1], 15U);
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(PollCycleTest, ACpuThatWasAwayBetweenTwoPollsIsReadOnceMoreAndOpenedAnew) {
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{5}, milliseconds{5}, {100, 10}));
  (void)cycle.run(targets({}));
  kernel_.answer("cpu0 dummy", counts(milliseconds{0}, milliseconds{0}, {}));  // its clock stands
  kernel_.answer("cpu0 cycles",
                 {Answer::Kind::kBrokenUp, milliseconds{6}, milliseconds{6}, {130, 13}, 0});

  const PollReport report = cycle.run(targets({}));

  EXPECT_TRUE(cycle.cpu_was_away());
  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals().events()[1], 13U);
}

TEST_F(PollCycleTest, ACpuThatStaysIsNotOpenedAnew) {
  PollCycle cycle{kernel_, plan_, 0};
  for (int poll = 0; poll < 5; ++poll) (void)cycle.run(targets({}));

  EXPECT_FALSE(cycle.cpu_was_away());
  EXPECT_EQ(kernel_.opened(), 3U);  // two events, and the one that tells of the CPU
}

TEST_F(PollCycleTest, APinnedGroupOffThePmuIsEnabledAgain) {
  plan_->cpu[0].pinned = true;
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", {Answer::Kind::kEof, {}, {}, {}, 0});

  const PollReport report = cycle.run(targets({}));

  EXPECT_EQ(report.groups_off_pmu, 1U);
  EXPECT_EQ(kernel_.enabled("cpu0 cycles"), 2U);  // when opened, and now
}

/// join(): what is published of the parts of two CPUs.
class SnapshotTest : public PollCycleTest {
 protected:
  /// Polls both CPUs with one cgroup and gives its only total; nothing when it has no value.
  std::optional<std::uint64_t> published_switches() {
    const auto a = make_cgroup("/a");
    PollCycle cpu0{kernel_, plan_, 0};
    PollCycle cpu1{kernel_, plan_, 1};
    const auto both = targets({{1, "/a", a}}, {0, 1});
    (void)cpu0.run(both);
    (void)cpu1.run(both);
    const PollCycle* const parts[] = {&cpu0, &cpu1};
    const Snapshot snapshot = join(plan_, both, parts);
    if (!snapshot.cgroup.group_row(0, 0).has_value) return {};
    return snapshot.cgroup.total(0, 0);
  }
};

TEST_F(SnapshotTest, ACgroupIsTheSumOverTheCpus) {
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  kernel_.answer("cpu1 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {7}));

  EXPECT_EQ(published_switches(), 12U);
}

TEST_F(SnapshotTest, ACgroupThatNeverRanIsAnExactZero) { EXPECT_EQ(published_switches(), 0U); }

TEST_F(SnapshotTest, ACgroupThatWantedThePmuAndNeverHadItHasNoValue) {
  kernel_.answer("cpu1 /a context-switches", counts(milliseconds{9}, milliseconds{0}, {0}));

  EXPECT_EQ(published_switches(), std::nullopt);
}

TEST_F(SnapshotTest, ASumThatLacksACpuIsNotPublished) {
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  kernel_.refuse("cpu1 /a context-switches", EMFILE);

  EXPECT_EQ(published_switches(), std::nullopt);
}

TEST_F(SnapshotTest, AnOfflineCpuIsNoLackingPart) {
  const auto a = make_cgroup("/a");
  PollCycle cpu0{kernel_, plan_, 0};
  PollCycle cpu1{kernel_, plan_, 1};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  kernel_.refuse("cpu1 /a context-switches", EMFILE);
  (void)cpu1.run(targets({{1, "/a", a}}, {0, 1}));
  const auto one_online = targets({{1, "/a", a}}, {0});
  (void)cpu0.run(one_online);
  (void)cpu1.run(one_online);

  const PollCycle* const parts[] = {&cpu0, &cpu1};
  const Snapshot snapshot = join(plan_, one_online, parts);

  EXPECT_TRUE(snapshot.cgroup.group_row(0, 0).has_value);
  EXPECT_EQ(snapshot.cgroup.total(0, 0), 5U);
}

}  // namespace
}  // namespace pex::collect
