#include "collect/poll_cycle.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using Answer = test::ScriptedKernel::Answer;

Answer counts(milliseconds enabled, milliseconds running, std::vector<std::uint64_t> numbers) {
  return {Answer::Kind::kCounts, enabled, running, std::move(numbers), 0};
}

/// One CPU, one group for it and one for each cgroup, over a scripted kernel.
class PollCycleTest : public testing::Test {
 protected:
  PollCycleTest() : kernel_(tree_.root()) {
    plan_->cpu = test::scope_plan({{"core", {"cycles", "instructions"}}});
    plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}});
  }

  std::shared_ptr<const cgroup::Cgroup> make_cgroup(const std::string& path) {
    tree_.write(path.substr(1) + "/cgroup.procs", "");
    auto cgroup = std::make_shared<cgroup::Cgroup>();
    cgroup->path = path;
    cgroup->directory.reset(::open(tree_.path(path.substr(1)).c_str(), O_RDONLY | O_CLOEXEC));
    return cgroup;
  }

  static std::shared_ptr<const TargetSet> targets(std::vector<CgroupTarget> cgroups,
                                                  MachineCpus cpus = {{0}, {}, {}}) {
    auto set = std::make_shared<TargetSet>();
    set->cpus = std::make_shared<const MachineCpus>(std::move(cpus));
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
  EXPECT_EQ(describe(report.failures.begin()->second.first),
            "read group 'core' on CPU 0: Input/output error (EIO)");
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
  EXPECT_EQ(report.refusals.begin()->first, (PollReport::Cause{"instructions", EMFILE}));
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

  const PollReport report = cycle.run(targets({}, {{1}, {}, {}}));

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
  plan_->cpu.groups[0].mode.pinned = true;
  PollCycle cycle{kernel_, plan_, 0};
  kernel_.answer("cpu0 cycles", {Answer::Kind::kEof, {}, {}, {}, 0});

  const PollReport report = cycle.run(targets({}));

  EXPECT_EQ(report.groups_off_pmu, 1U);
  EXPECT_EQ(kernel_.enabled("cpu0 cycles"), 2U);              // when opened, and now
  EXPECT_TRUE(report.failures.contains({"pinned core", 0}));  // so that the log tells of it
}

TEST_F(PollCycleTest, AFailureIsToldOnceForEachCauseWithItsTimes) {
  const auto a = make_cgroup("/a");
  const auto b = make_cgroup("/b");
  kernel_.refuse("context-switches", EMFILE);
  PollCycle cycle{kernel_, plan_, 0};

  const PollReport report = cycle.run(targets({{1, "/a", a}, {2, "/b", b}}));

  ASSERT_EQ(report.failures.size(), 1U);
  const auto& [cause, failure] = *report.failures.begin();
  EXPECT_EQ(cause, (PollReport::Cause{"context-switches", EMFILE}));
  EXPECT_EQ(failure.times, 2U);
  EXPECT_TRUE(failure.first.attempted.ends_with("for cgroup '/a' on CPU 0"))
      << failure.first.attempted;
}

/// Two CPUs, and memory that is read on one of them.
class PollCycleOfAPmuTest : public PollCycleTest {
 protected:
  static std::shared_ptr<CountingPlan> memory_plan() {
    auto plan = std::make_shared<CountingPlan>();
    plan->cpu = test::scope_plan(
        {{.name = "memory", .events = {"cycles"}, .pmu = "imc"}, {"soft", {"page-faults"}}});
    return plan;
  }

  static std::shared_ptr<const TargetSet> read_on(int cpu) {
    return targets({}, {.online = {0, 4}, .pmus = {{"imc", {cpu}}}, .places = {}});
  }

  std::vector<std::string> open_memory_groups() {
    std::vector<std::string> groups = kernel_.open_groups();
    std::erase_if(groups, [](const std::string& name) { return !name.ends_with("cycles"); });
    return groups;
  }

  PollCycle cpu0_{kernel_, memory_plan(), 0};
  PollCycle cpu4_{kernel_, memory_plan(), 4};
};

TEST_F(PollCycleOfAPmuTest, IsOpenedOnTheCpusOfItsPmuAlone) {
  const auto first = read_on(0);

  const PollReport on_cpu0 = cpu0_.run(first);
  const PollReport on_cpu4 = cpu4_.run(first);

  EXPECT_EQ(on_cpu0.groups_opened, 2U);
  EXPECT_EQ(on_cpu4.groups_opened, 1U);
  EXPECT_EQ(kernel_.open_groups(),
            (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy", "cpu0 page-faults", "cpu4 dummy",
                                      "cpu4 page-faults"}));
}

TEST_F(PollCycleOfAPmuTest, IsReadOnceMoreAndClosedWhereItsPmuIsNoLongerRead) {
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100}));
  (void)cpu0_.run(read_on(0));
  kernel_.answer("cpu0 cycles", counts(milliseconds{2}, milliseconds{2}, {150}));

  const PollReport report = cpu0_.run(read_on(4));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(cpu0_.cpu_groups()[0].totals().events()[0], 150U);
  EXPECT_TRUE(open_memory_groups().empty());
}

TEST_F(PollCycleOfAPmuTest, IsOpenedWhereItsPmuIsReadFromNowOn) {
  (void)cpu4_.run(read_on(0));

  const PollReport report = cpu4_.run(read_on(4));

  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(open_memory_groups(), (std::vector<std::string>{"cpu4 cycles"}));
}

TEST_F(PollCycleOfAPmuTest, DoesNotFailWhereItIsNotCountedAnyMore) {
  kernel_.refuse("cpu0 cycles", EMFILE);
  (void)cpu0_.run(read_on(0));
  ASSERT_TRUE(cpu0_.cpu_groups()[0].has_failed());

  (void)cpu0_.run(read_on(4));

  EXPECT_FALSE(cpu0_.cpu_groups()[0].has_failed());
}

TEST_F(PollCycleOfAPmuTest, IsTheSameForTheGroupsOfCgroups) {
  const auto plan = memory_plan();
  plan->cgroup = test::scope_plan({{.name = "core", .events = {"branches"}, .pmu = "imc"}});
  const auto a = make_cgroup("/a");
  PollCycle cpu0{kernel_, plan, 0};
  const auto with_cgroup = [&](int cpu) {
    return targets({{1, "/a", a}}, {.online = {0, 4}, .pmus = {{"imc", {cpu}}}, .places = {}});
  };
  const PollReport opened = cpu0.run(with_cgroup(0));

  const PollReport closed = cpu0.run(with_cgroup(4));

  EXPECT_EQ(opened.groups_opened, 3U);
  EXPECT_EQ(closed.groups_closed, 2U);
  EXPECT_EQ(closed.open_events, 2U);  // page faults, and the event that tells of the CPU
}

}  // namespace
}  // namespace pex::collect
