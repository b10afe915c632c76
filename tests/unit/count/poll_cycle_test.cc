#include "count/poll_cycle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "count/descriptor_source.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;
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

  /// As the first poll of a collector: nothing has been learned yet.
  PollReport run(test::CountedCycle& cycle, const std::shared_ptr<const TargetSet>& targets) {
    PollCycle::Outcome outcome = cycle.run(targets, EventModels{*plan_});
    feedback_ = std::move(outcome.feedback);
    return std::move(outcome.report);
  }

  std::unique_ptr<CounterSource> source(int cpu) {
    return std::make_unique<DescriptorSource>(kernel_, cpu);
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
  PollFeedback feedback_;  ///< of the last run()
};

TEST_F(PollCycleTest, OpensReadsAndAccumulatesInOnePoll) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{10}, milliseconds{10}, {100, 200}));

  const PollReport report = run(cycle, targets({}));

  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(report.groups_read, 1U);
  EXPECT_EQ(report.now.open_events, 3U);  // two, and the one that tells of the CPU
  EXPECT_EQ(cycle.cpu_groups()[0].totals()[1].value, 200U);
}

TEST_F(PollCycleTest, BetweenPollsOpensWhatIsNewAndReadsOnlyWhatGoes) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  const EventModels models{*plan_};
  const PollReport opened = cycle.reconcile(targets({{1, "/a", a}}), models).report;
  kernel_.answer("cpu0 cycles", counts(milliseconds{10}, milliseconds{10}, {100, 200}));
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  tree_.remove("a");

  const auto [closed, feedback] = cycle.reconcile(targets({{1, "/a", nullptr}}), models);

  EXPECT_EQ(opened.groups_opened, 2U);
  EXPECT_EQ(opened.groups_read, 0U);
  EXPECT_EQ(closed.groups_closed, 1U);
  EXPECT_EQ(closed.groups_read, 1U);
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 5U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals()[1].value, 0U);
  EXPECT_TRUE(feedback.unopened.empty());
}

TEST_F(PollCycleTest, ACgroupThatEndsBeforeItsFirstPollWasWantedInNone) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const EventModels models{*plan_};
  (void)cycle.reconcile(targets({{1, "/a", make_cgroup("/a")}}), models);
  (void)cycle.reconcile(targets({{1, "/a", nullptr}}), models);

  (void)run(cycle, targets({{1, "/a", nullptr}}));

  EXPECT_EQ(cycle.groups_of_cgroups()[0].polls_wanted(0), 0U);
}

TEST_F(PollCycleTest, ReportsACgroupThatHadGoneBeforeAllOfItWasOpen) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  EXPECT_TRUE(run(cycle, targets({{7, "/a", a}})).failures.empty());
  EXPECT_TRUE(feedback_.unopened.empty());

  (void)run(cycle, targets({{7, "/a", nullptr}}));
  EXPECT_EQ(feedback_.unopened, (std::set<std::uint64_t>{7}));
  (void)run(cycle, targets({{7, "/a", nullptr}}));
  EXPECT_TRUE(feedback_.unopened.empty());
}

TEST_F(PollCycleTest, ACgroupThatIsThereAgainLacksNothingOfACpuThatMissedItAndIsOffline) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  (void)run(cycle, targets({{7, "/a", a}}));
  (void)run(cycle, targets({{7, "/a", nullptr}}));
  ASSERT_TRUE(cycle.cgroup_groups(0)[0].has_failed());

  (void)run(cycle, targets({{7, "/a", make_cgroup("/a")}}, {{1}, {}, {}}));

  EXPECT_FALSE(cycle.cgroup_groups(0)[0].has_failed());
}

TEST_F(PollCycleTest, ReportsItAlsoWhenItsSeriesEndsAtOnce) {
  const auto a = make_cgroup("/a");
  const auto b = make_cgroup("/b");
  test::CountedCycle cycle{source(0), plan_, 0};
  (void)run(cycle, targets({{6, "/b", b}}));
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  (void)run(cycle, targets({{6, "/b", b}, {7, "/a", a}}));

  (void)run(cycle, targets({{6, "/b", b}}));
  EXPECT_EQ(feedback_.unopened, (std::set<std::uint64_t>{7}));
  (void)run(cycle, targets({}));
  EXPECT_TRUE(feedback_.unopened.empty());  // b is there, and was counted
}

TEST_F(PollCycleTest, ReportsACgroupThatCameAndEndedWhileTheCpuWasGivenNoTargets) {
  const auto a = make_cgroup("/a");
  for (const bool has_missed_targets : {true, false}) {
    test::CountedCycle cycle{source(0), plan_, 0};
    (void)run(cycle, targets({{1, "/a", a}}));
    cycle.set_missed_targets(has_missed_targets);

    (void)run(cycle, targets({{1, "/a", a}, {2, "/b", nullptr}}));

    EXPECT_EQ(feedback_.unopened,
              has_missed_targets ? std::set<std::uint64_t>{2} : std::set<std::uint64_t>{});
    EXPECT_EQ(cycle.cgroup_groups(1)[0].has_failed(), has_missed_targets);
    EXPECT_FALSE(cycle.cgroup_groups(0)[0].has_failed());
  }
}

TEST_F(PollCycleTest, LacksNothingOfSuchACgroupWhereItsGroupIsNotCounted) {
  plan_->cgroup.groups[0].pmu = "other";
  test::CountedCycle cycle{source(0), plan_, 0};
  cycle.set_missed_targets(true);

  (void)run(cycle, targets({{2, "/b", nullptr}}, {{0, 1}, {{"other", {1}}}, {}}));

  EXPECT_TRUE(feedback_.unopened.empty());
  EXPECT_FALSE(cycle.cgroup_groups(0)[0].has_failed());
}

TEST_F(PollCycleTest, ReportsWhichCgroupsLackedADescriptor) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.refuse("cpu0 /a context-switches", EMFILE);
  kernel_.refuse("cpu0 /b context-switches", EACCES);

  (void)run(cycle, targets({{1, "/a", make_cgroup("/a")}, {2, "/b", make_cgroup("/b")}}));

  EXPECT_EQ(feedback_.exhausted, (std::map<std::string, int>{{"/a", EMFILE}}));
}

TEST_F(PollCycleTest, ReadsARemovedCgroupOnceMoreAndThenClosesIt) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  (void)run(cycle, targets({{1, "/a", a}}));
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{2}, milliseconds{2}, {8}));

  const PollReport report = run(cycle, targets({{1, "/a", nullptr}}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 8U);
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy"}));
}

TEST_F(PollCycleTest, ASeriesThatTakesTheSlotOfOneThatHasEndedStartsAtZero) {
  const auto a = make_cgroup("/a");
  const auto b = make_cgroup("/b");
  const auto c = make_cgroup("/c");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {1}));
  kernel_.answer("cpu0 /b context-switches", counts(milliseconds{1}, milliseconds{1}, {2}));
  kernel_.answer("cpu0 /c context-switches", counts(milliseconds{1}, milliseconds{1}, {3}));
  (void)run(cycle, targets({{1, "/a", a}, {2, "/b", b}}));

  (void)run(cycle, targets({{3, "/c", c}, {2, "/b", b}}));

  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 3U);
  EXPECT_EQ(cycle.cgroup_groups(1)[0].totals()[0].value, 2U);
  EXPECT_EQ(kernel_.still_open(), 5U);  // two of the CPU, one each of b and c, and the dummy
}

TEST_F(PollCycleTest, AnIntervalOfMoreThanACpuCanCountIsUnmeasured) {
  constexpr std::uint64_t kJump = std::uint64_t{1} << 48;
  plan_->cpu.groups[0].shares_pmu = plan_->cpu.groups[0].refuses_impossible = true;
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(1s, 1s, {5000, 4000}));
  (void)run(cycle, targets({}));

  kernel_.answer("cpu0 cycles", counts(2s, 2s, {6000 + kJump, 4500}));
  const PollReport report = run(cycle, targets({}));
  kernel_.answer("cpu0 cycles", counts(3s, 3s, {7000 + kJump, 5500}));
  (void)run(cycle, targets({}));

  EXPECT_EQ(report.errors.at("core").anomalies, 1U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals()[0].value, 6000U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals()[1].value, 5000U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals().times().unmeasured, 1s);
}

TEST_F(PollCycleTest, OneGroupThatCannotBeReadDoesNotCostTheOthers) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", {Answer::Kind::kError, {}, {}, {}, EIO});
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));

  const PollReport report = run(cycle, targets({{1, "/a", a}}));

  EXPECT_EQ(report.errors.at("core").read_failures, 1U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(describe(report.failures.begin()->second.first),
            "read group 'core' on CPU 0: Input/output error (EIO)");
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 5U);
}

TEST_F(PollCycleTest, ALostIncrementIsMadeUpForByTheNextReading) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 0}));
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cycles", {Answer::Kind::kError, {}, {}, {}, EIO});
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cycles", counts(milliseconds{3}, milliseconds{3}, {300, 0}));

  (void)run(cycle, targets({}));

  EXPECT_EQ(cycle.cpu_groups()[0].totals()[0].value, 300U);
}

TEST_F(PollCycleTest, TriesARefusedGroupLessAndLessOften) {
  kernel_.refuse("cpu0 instructions", EMFILE);
  test::CountedCycle cycle{source(0), plan_, 0};

  std::vector<int> polls_with_a_try;
  for (int poll = 1; poll <= 20; ++poll) {
    if (!run(cycle, targets({})).refusals.empty()) polls_with_a_try.push_back(poll);
  }

  EXPECT_EQ(polls_with_a_try, (std::vector{1, 3, 6, 11, 20}));  // after 1, 2, 4 and 8 polls' rest
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 dummy"}));  // no half group
}

TEST_F(PollCycleTest, ChecksDoNotShortenTheRestOfARefusedGroup) {
  kernel_.refuse("cpu0 instructions", EMFILE);
  test::CountedCycle cycle{source(0), plan_, 0};
  const auto nothing_new = targets({});
  const EventModels models{*plan_};

  std::vector<int> polls_with_a_try;
  std::size_t tries_between_polls = 0;
  for (int poll = 1; poll <= 20; ++poll) {
    if (!cycle.run(nothing_new, models).report.refusals.empty()) polls_with_a_try.push_back(poll);
    for (int look = 0; look < 20; ++look) {
      tries_between_polls += cycle.reconcile(nothing_new, models).report.refusals.size();
    }
  }

  EXPECT_EQ(polls_with_a_try, (std::vector{1, 3, 6, 11, 20}));
  EXPECT_EQ(tries_between_polls, 0U);
}

TEST_F(PollCycleTest, CountsRefusalsByEventAndReason) {
  kernel_.refuse("instructions", EMFILE);
  test::CountedCycle cycle{source(0), plan_, 0};

  const PollReport report = run(cycle, targets({}));

  ASSERT_EQ(report.refusals.size(), 1U);
  EXPECT_EQ(report.refusals.begin()->first, (PollReport::Cause{"instructions", EMFILE}));
}

TEST_F(PollCycleTest, ACgroupThatVanishesBeforeItIsOpenedIsNoFailure) {
  const auto a = make_cgroup("/a");
  tree_.remove("a");
  kernel_.refuse("context-switches", ENOENT);
  test::CountedCycle cycle{source(0), plan_, 0};

  const PollReport report = run(cycle, targets({{1, "/a", a}}));

  EXPECT_TRUE(report.refusals.empty());
  EXPECT_TRUE(report.failures.empty());
}

TEST_F(PollCycleTest, AnOfflineCpuIsReadOnceMoreAndKeepsItsTotals) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 10}));
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cycles",
                 {Answer::Kind::kBrokenUp, milliseconds{2}, milliseconds{2}, {150, 15}, 0});

  const PollReport report = run(cycle, targets({}, {{1}, {}, {}}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.now.open_events, 0U);
  EXPECT_EQ(cycle.cpu_groups()[0].totals()[1].value, 15U);
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(PollCycleTest, ACpuThatWasAwayBetweenTwoPollsIsReadOnceMoreAndReopened) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{5}, milliseconds{5}, {100, 10}));
  (void)run(cycle, targets({}));
  kernel_.pass(milliseconds{1000});
  kernel_.answer("cpu0 dummy", counts(milliseconds{400}, milliseconds{400}, {}));  // stood since
  kernel_.answer("cpu0 cycles",
                 {Answer::Kind::kBrokenUp, milliseconds{405}, milliseconds{405}, {130, 13}, 0});

  const PollReport report = run(cycle, targets({}));

  EXPECT_TRUE(cycle.cpu_was_offline());
  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_TRUE(report.failures.contains({"absence of a CPU", 0}));
  const test::CountedTotals totals = cycle.cpu_groups()[0].totals();
  EXPECT_EQ(totals[1].value, 13U);
  EXPECT_EQ(totals.times().unmeasured, milliseconds{600});  // what happened since is in no count
}

TEST_F(PollCycleTest, ATimeThatLagsALittleIsNoAbsence) {
  test::CountedCycle cycle{source(0), plan_, 0};
  (void)run(cycle, targets({}));
  kernel_.pass(milliseconds{1000});
  kernel_.answer("cpu0 dummy", counts(milliseconds{981}, milliseconds{981}, {}));

  EXPECT_TRUE(run(cycle, targets({})).failures.empty());
  EXPECT_FALSE(cycle.cpu_was_offline());
}

TEST_F(PollCycleTest, ATimeThatStandsStillAtEachSwitchBetweenCgroupsIsNoAbsence) {
  test::CountedCycle cycle{source(0), plan_, 0};
  (void)run(cycle, targets({}));
  for (int second = 0; second < 3; ++second) {
    kernel_.pass(milliseconds{850});
    kernel_.pass_in_switches(milliseconds{150});

    const PollReport report = run(cycle, targets({}));

    EXPECT_TRUE(report.failures.empty());
    EXPECT_EQ(report.groups_closed, 0U);
    EXPECT_FALSE(cycle.cpu_was_offline());
  }
}

TEST_F(PollCycleTest, AnAbsenceIsFoundHoweverShortTheChecksAre) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const EventModels models{*plan_};
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 dummy", counts(milliseconds{1}, milliseconds{1}, {}));
  (void)cycle.reconcile(targets({}), models);
  int looks = 0;
  for (; !cycle.cpu_was_offline() && looks < 10; ++looks) {
    kernel_.pass(milliseconds{5});
    (void)cycle.reconcile(targets({}), models);
  }

  EXPECT_EQ(looks, 5);
}

TEST_F(PollCycleTest, ACgroupMayHaveRunWhileItsCpuWasAway) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const auto a = make_cgroup("/a");
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  (void)run(cycle, targets({{1, "/a", a}}));
  kernel_.pass(milliseconds{1000});
  kernel_.answer("cpu0 dummy", counts(milliseconds{400}, milliseconds{400}, {}));

  (void)run(cycle, targets({{1, "/a", a}}));

  EXPECT_TRUE(cycle.cpu_was_offline());
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals().times().unmeasured, milliseconds{600});
}

TEST_F(PollCycleTest, ACpuThatIsBackMayHaveRunSinceItWasLastKnownToBeOffline) {
  plan_->cpu = test::scope_plan({{"software", {"context-switches"}}});
  test::CountedCycle cycle{source(0), plan_, 0};
  const auto a = make_cgroup("/a");
  (void)run(cycle, targets({{1, "/a", a}}));
  for (int poll = 0; poll < 3; ++poll) {
    kernel_.pass(milliseconds{1000});
    (void)run(cycle, targets({{1, "/a", a}}, {}));
  }
  kernel_.pass(milliseconds{700});

  (void)run(cycle, targets({{1, "/a", a}}));

  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals().times().unmeasured, milliseconds{700});
  EXPECT_EQ(cycle.cpu_groups()[0].totals().times().unmeasured, milliseconds{700});
  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 0U);
}

TEST_F(PollCycleTest, TheEventOfPresenceStandsBeforeAllOthersAndCountsFromItsOpening) {
  plan_->cpu = test::scope_plan({{"software", {"context-switches"}}});
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.deactivate_contexts(0);

  (void)run(cycle, targets({}));

  EXPECT_EQ(kernel_.opened_groups(),
            (std::vector<std::string>{"cpu0 dummy", "cpu0 context-switches"}));
  EXPECT_GT(cycle.cpu_groups()[0].totals().times().running, milliseconds{0});
}

TEST_F(PollCycleTest, AGroupThatStandsStillIsOpenedAgainAndItsTimeIsUnmeasured) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{5}, milliseconds{5}, {100, 10}));
  (void)run(cycle, targets({}));
  kernel_.pass(milliseconds{1000});  // and the group says what it had said

  const PollReport report = run(cycle, targets({}));
  kernel_.answer("cpu0 cycles", counts(milliseconds{500}, milliseconds{500}, {7, 3}));
  (void)run(cycle, targets({}));

  EXPECT_EQ(report.errors.at("core").standstills, 1U);
  EXPECT_EQ(describe(report.failures.at({"standstill of core", 0}).first),
            "group 'core' did not count on CPU 0: the kernel did not schedule it, which happens "
            "if another program also counts cgroups; it was reopened. Remedy: if this happens "
            "again, stop other programs that count cgroups, such as cAdvisor with perf events");
  EXPECT_EQ(report.groups_opened, 1U);
  const test::CountedTotals totals = cycle.cpu_groups()[0].totals();
  EXPECT_EQ(totals[0].value, 107U);
  EXPECT_EQ(totals.times().unmeasured, milliseconds{1000});
  EXPECT_EQ(totals.times().enabled, milliseconds{1505});
}

TEST_F(PollCycleTest, AGroupOfACgroupMayStandStill) {
  const auto a = make_cgroup("/a");
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1}, milliseconds{1}, {5}));
  (void)run(cycle, targets({{1, "/a", a}}));
  kernel_.pass(milliseconds{1000});

  EXPECT_EQ(run(cycle, targets({{1, "/a", a}})).groups_opened, 0U);
}

TEST_F(PollCycleTest, AMemberThatReportsNothingOnAnOfflineCpuDoesNotCostTheOthersTheirLastCounts) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 10}));
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cycles",
                 {Answer::Kind::kBrokenUp, milliseconds{2}, milliseconds{2}, {150, 15}, 0, {1}});

  const PollReport report = run(cycle, targets({}, {{1}, {}, {}}));

  const test::CountedTotals totals = cycle.cpu_groups()[0].totals();
  EXPECT_EQ(totals[0].value, 150U);
  EXPECT_EQ(totals[1].value, 10U);
  EXPECT_EQ(totals.times().enabled, milliseconds{2});
  ASSERT_TRUE(report.failures.contains({"last counts of core", 0}));
  EXPECT_THAT(report.failures.at({"last counts of core", 0}).first.attempted,
              testing::HasSubstr("lost the last counts of 'instructions' in group 'core'"));
}

TEST_F(PollCycleTest, AMemberThatAnswersForItsFormerLeaderKeepsItsCount) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100, 10}));
  (void)run(cycle, targets({}));
  kernel_.answer(
      "cpu0 cycles",
      {Answer::Kind::kBrokenUp, milliseconds{2}, milliseconds{2}, {150, 15}, 0, {}, {1}});

  const PollReport report = run(cycle, targets({}, {{1}, {}, {}}));

  const test::CountedTotals totals = cycle.cpu_groups()[0].totals();
  EXPECT_EQ(totals[0].value, 150U);
  EXPECT_EQ(totals[1].value, 10U);
  EXPECT_TRUE(report.failures.contains({"last counts of core", 0}));
}

TEST_F(PollCycleTest, ACpuThatStaysIsNotReopened) {
  test::CountedCycle cycle{source(0), plan_, 0};
  for (int poll = 0; poll < 5; ++poll) (void)run(cycle, targets({}));

  EXPECT_FALSE(cycle.cpu_was_offline());
  EXPECT_EQ(kernel_.opened(), 3U);  // two events, and the one that tells of the CPU
}

TEST_F(PollCycleTest, APinnedGroupOffThePmuIsEnabledAgain) {
  plan_->cpu.groups[0].mode.pinned = true;
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cycles", {Answer::Kind::kEof, {}, {}, {}, 0});

  const PollReport report = run(cycle, targets({}));

  EXPECT_EQ(report.now.groups_off_pmu, 1U);
  EXPECT_EQ(kernel_.enabled("cpu0 cycles"), 2U);              // when opened, and now
  EXPECT_TRUE(report.failures.contains({"pinned core", 0}));  // so that the log tells of it
}

TEST_F(PollCycleTest, AFailureIsReportedOnceForEachCauseWithItsTimes) {
  const auto a = make_cgroup("/a");
  const auto b = make_cgroup("/b");
  kernel_.refuse("context-switches", EMFILE);
  test::CountedCycle cycle{source(0), plan_, 0};

  const PollReport report = run(cycle, targets({{1, "/a", a}, {2, "/b", b}}));

  ASSERT_EQ(report.failures.size(), 1U);
  const auto& [cause, failure] = *report.failures.begin();
  EXPECT_EQ(cause, (PollReport::Cause{"context-switches", EMFILE}));
  EXPECT_EQ(failure.times, 2U);
  EXPECT_TRUE(failure.first.attempted.ends_with("for cgroup '/a' on CPU 0"))
      << failure.first.attempted;
}

TEST_F(PollCycleTest, AGroupOfSoftwareIsNeverScaledUp) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const auto a = make_cgroup("/a");
  kernel_.answer("cpu0 /a context-switches", counts(milliseconds{1000}, milliseconds{985}, {420}));

  (void)run(cycle, targets({{1, "/a", a}}));

  EXPECT_EQ(cycle.cgroup_groups(0)[0].totals()[0].value, 420U);
}

/// Groups that can lose the PMU, next to a clock and a reference that cannot.
class PollCycleWithWitnessesTest : public PollCycleTest {
 protected:
  static constexpr std::uint64_t kSecond = 1'000'000'000;

  PollCycleWithWitnessesTest() {
    plan_->cpu = test::scope_plan({{"clock", {"cpu-clock", "ref-cycles"}},
                                   {"a", {"instructions", "ref-cycles"}},
                                   {"b", {"branches", "cpu-clock"}},
                                   {"pinned", {"cycles"}, {.pinned = true}}});
    std::vector<GroupPlan>& groups = plan_->cpu.groups;
    groups[0].is_published = false;
    for (std::size_t i = 1; i < groups.size(); ++i) {
      groups[i].shares_pmu = true;
      groups[i].auxiliary.always_on = 0;
    }
    groups[1].auxiliary_events = groups[2].auxiliary_events = 1;
    groups[1].auxiliary.reference = 1;
    groups[1].auxiliary.reference_always = EventAt{0, 1};
    groups[2].auxiliary.clock = 1;
  }

  /// A second of the whole CPU, of which `sampled` of `all` reference events were in the windows of
  /// group a, which had the PMU half of the time.
  void pass(int second, std::uint64_t all, std::uint64_t sampled, std::uint64_t instructions) {
    const milliseconds now{1000 * second};
    kernel_.answer("cpu0 cpu-clock",
                   counts(now, now, {kSecond * static_cast<std::uint64_t>(second), all}));
    kernel_.answer("cpu0 instructions", counts(now, now / 2, {instructions, sampled}));
  }

  test::CountedTotals totals(const test::CountedCycle& cycle, std::size_t group) {
    return cycle.cpu_groups()[group].totals();
  }
};

TEST_F(PollCycleWithWitnessesTest, ScalesByTheReferenceThatIsAlwaysCounted) {
  test::CountedCycle cycle{source(0), plan_, 0};
  pass(1, /*all=*/1000, /*sampled=*/250, /*instructions=*/500);

  (void)run(cycle, targets({}));

  EXPECT_EQ(totals(cycle, 1)[0].value, 2000U);  // by time it would be 1000
  EXPECT_EQ(totals(cycle, 1)[0].observed, 500U);
  EXPECT_EQ(totals(cycle, 1).times().reference, 1000);
  EXPECT_EQ(totals(cycle, 1).times().reference_sampled, 250);
}

TEST_F(PollCycleWithWitnessesTest, LearnsHowFarAnEventFollowsTheReference) {
  test::CountedCycle cycle{source(0), plan_, 0};
  EventModels models{*plan_};
  std::uint64_t all = 0, sampled = 0, instructions = 0;
  for (int second = 1; second <= 200; ++second) {  // 2 for each reference event, whatever the time
    all += 1000;
    sampled += second % 2 == 0 ? 300 : 700;
    instructions += second % 2 == 0 ? 600 : 1400;
    pass(second, all, sampled, instructions);
    (void)cycle.run(targets({}), models);
    const ModelUpdates* const updates[] = {&cycle.model_updates()};
    models.learn(updates);
  }

  EXPECT_GT(models.cpu[1][0].reference_weight(), 0.99);
  EXPECT_NEAR(static_cast<double>(totals(cycle, 1)[0].value), 400'000, 400);
}

TEST_F(PollCycleWithWitnessesTest, BelievesTheClockOfAGroupMoreThanItsRunningTime) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 branches", counts(milliseconds{1000}, milliseconds{100},
                                         {300, kSecond / 4}));  // a quarter of the second

  const PollReport report = run(cycle, targets({}));

  EXPECT_EQ(totals(cycle, 2)[0].value, 1200U);  // by running time it would be 3000
  EXPECT_EQ(totals(cycle, 2).times().running, milliseconds{250});
  EXPECT_EQ(report.errors.at("b").mistimed, 1U);
}

TEST_F(PollCycleWithWitnessesTest, AKernelThatMistimedOneGroupIsBelievedOfNoOther) {
  plan_->cpu.groups.push_back(plan_->cpu.groups[2]);
  plan_->cpu.groups.back().events[0] = test::counter("branch-misses");
  test::CountedCycle cycle{source(0), plan_, 0};
  EventModels models{*plan_};
  const auto poll = [&](int second, milliseconds running, milliseconds clock) {
    const milliseconds now{1000 * second};
    kernel_.answer("cpu0 cpu-clock",
                   counts(now, now, {kSecond * static_cast<std::uint64_t>(second)}));
    kernel_.answer("cpu0 branch-misses",
                   counts(now, running,
                          {static_cast<std::uint64_t>(300 * second),
                           static_cast<std::uint64_t>(std::chrono::nanoseconds{clock}.count())}));
    (void)cycle.run(targets({}), models);
    const ModelUpdates* const updates[] = {&cycle.model_updates()};
    models.learn(updates);
  };
  // 900 ms are booked for 250 ms on the PMU, which could be the cost of switches to the clock.
  poll(1, milliseconds{900}, milliseconds{250});
  EXPECT_EQ(totals(cycle, 4)[0].value, 333U);
  // Of another group 100 ms are booked while its clock counted 250 ms.
  kernel_.answer("cpu0 branches",
                 counts(milliseconds{2000}, milliseconds{100}, {300, kSecond / 4}));
  poll(2, milliseconds{1800}, milliseconds{500});

  EXPECT_TRUE(models.kernel_mistimes);
  poll(3, milliseconds{2700}, milliseconds{750});
  EXPECT_EQ(totals(cycle, 4).times().running, milliseconds{900 + 250 + 250});
}

TEST_F(PollCycleWithWitnessesTest, TheTimeOfAPinnedGroupWithoutItsPlaceIsUnmeasured) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const auto pinned_at = [&](int second, const Answer& answer) {
    const milliseconds now{1000 * second};
    kernel_.answer("cpu0 cpu-clock", counts(now, now, {}));
    kernel_.answer("cpu0 cycles", answer);
    return run(cycle, targets({}));
  };
  const Answer off_pmu{Answer::Kind::kEof, {}, {}, {}, 0};
  (void)pinned_at(1, counts(milliseconds{1000}, milliseconds{1000}, {700}));

  const PollReport report = pinned_at(2, off_pmu);  // for how much of this second is not known yet
  (void)pinned_at(4, off_pmu);
  EXPECT_EQ(totals(cycle, 3).times().unmeasured, milliseconds{2000});
  EXPECT_EQ(report.errors.at("pinned").pinned_errors, 1U);

  // Back for half a second; of second 2 it had been on the PMU for 300 ms.
  (void)pinned_at(5, counts(milliseconds{1800}, milliseconds{1800}, {1260}));
  const test::CountedTotals pinned = totals(cycle, 3);
  EXPECT_EQ(pinned.times().enabled, milliseconds{5000});
  EXPECT_EQ(pinned.times().running, milliseconds{1800});
  EXPECT_EQ(pinned.times().unmeasured, milliseconds{3200});
  EXPECT_EQ(pinned[0].value, 1260U);
}

/// A pinned group of a cgroup, next to a clock of the cgroup.
class PinnedInACgroupTest : public PollCycleTest {
 protected:
  PinnedInACgroupTest() {
    plan_->cpu = {};
    plan_->cgroup = test::scope_plan(
        {{"clock", {"cpu-clock"}}, {"pinned", {"cycles", "instructions"}, {.pinned = true}}});
    plan_->cgroup.groups[0].is_published = false;
    plan_->cgroup.groups[1].shares_pmu = true;
    plan_->cgroup.groups[1].auxiliary.always_on = 0;
    cycle_.emplace(source(0), plan_, 0);
  }

  void poll_at(milliseconds now, const Answer& pinned, bool is_there) {
    kernel_.answer("cpu0 /a cpu-clock", counts(now, now, {}));
    kernel_.answer("cpu0 /a cycles", pinned);
    (void)run(*cycle_, targets({{1, "/a", is_there ? a_ : nullptr}}));
  }
  test::CountedTotals pinned_totals() const { return cycle_->cgroup_groups(0)[1].totals(); }

  const std::shared_ptr<const cgroup::Cgroup> a_ = make_cgroup("/a");
  std::optional<test::CountedCycle> cycle_;
  const Answer lost_{Answer::Kind::kEof, 1700ms, 1700ms, {1700, 17}};
};

TEST_F(PinnedInACgroupTest, KeepsWhatItHadCountedWhenItIsClosedWithoutItsPlace) {
  poll_at(1000ms, counts(1000ms, 1000ms, {1000, 10}), true);
  poll_at(2000ms, lost_, true);

  poll_at(3000ms, lost_, false);

  EXPECT_EQ(pinned_totals()[0].value, 1700U);
  EXPECT_EQ(pinned_totals()[1].value, 17U);
  EXPECT_EQ(pinned_totals().times().enabled, 3000ms);
  EXPECT_EQ(pinned_totals().times().running, 1700ms);
  EXPECT_EQ(pinned_totals().times().unmeasured, 1300ms);
}

TEST_F(PinnedInACgroupTest, AlsoWhenItLostThatPlaceSinceTheLastPoll) {
  poll_at(1000ms, counts(1000ms, 1000ms, {1000, 10}), true);

  poll_at(3000ms, lost_, false);

  EXPECT_EQ(pinned_totals()[0].value, 1700U);
  EXPECT_EQ(pinned_totals().times().running, 1700ms);
  EXPECT_EQ(pinned_totals().times().unmeasured, 1300ms);
}

TEST_F(PinnedInACgroupTest, AloneAndRefusedItsPlaceToTheEndIsUnmeasuredSinceItWasLastRead) {
  plan_->cgroup.groups[1].events.pop_back();
  cycle_.emplace(source(0), plan_, 0);
  poll_at(1000ms, counts(1000ms, 1000ms, {1000}), true);
  poll_at(2000ms, lost_, true);

  poll_at(3000ms, lost_, false);

  EXPECT_EQ(pinned_totals()[0].value, 1000U);
  EXPECT_EQ(pinned_totals().times().enabled, 3000ms);
  EXPECT_EQ(pinned_totals().times().unmeasured, 2000ms);
}

TEST_F(PollCycleWithWitnessesTest, APinnedGroupWithoutItsPlaceFromTheStartMissesOnlyTimeSinceThen) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 cpu-clock", counts(milliseconds{5000}, milliseconds{5000}, {}));
  kernel_.answer("cpu0 cycles", {Answer::Kind::kEof, {}, {}, {}, 0});
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cpu-clock", counts(milliseconds{6000}, milliseconds{6000}, {}));

  (void)run(cycle, targets({}));

  EXPECT_EQ(totals(cycle, 3).times().unmeasured, milliseconds{1000});
}

TEST_F(PollCycleWithWitnessesTest,
       APinnedGroupThatLosesItsPlaceAgainAndAgainMissesNoMoreThanPassed) {
  test::CountedCycle cycle{source(0), plan_, 0};
  milliseconds on_pmu{};
  for (int second = 1; second <= 200; ++second) {  // loses it after 9 of 10 seconds' tenths
    const milliseconds now{1000 * second};
    kernel_.answer("cpu0 cpu-clock", counts(now, now, {}));
    on_pmu += milliseconds{second % 2 == 0 ? 900 : 1000};
    const Answer answer =
        second % 2 == 0 ? Answer{Answer::Kind::kEof, {}, {}, {}, 0} : counts(on_pmu, on_pmu, {7});
    kernel_.answer("cpu0 cycles", answer);
    (void)run(cycle, targets({}));
  }

  const GroupTimes& times = totals(cycle, 3).times();
  EXPECT_EQ(times.enabled, milliseconds{199'000});
  EXPECT_EQ(times.unmeasured, milliseconds{9'900});
}

TEST_F(PollCycleWithWitnessesTest, AClockThatComesBackDisclosesNothingOfTheTimeItWasAway) {
  test::CountedCycle cycle{source(0), plan_, 0};
  const Answer off_pmu{Answer::Kind::kEof, {}, {}, {}, 0};
  kernel_.answer("cpu0 cycles", off_pmu);
  kernel_.answer("cpu0 cpu-clock", {Answer::Kind::kError, {}, {}, {}, EIO});
  (void)run(cycle, targets({}));
  (void)run(cycle, targets({}));
  kernel_.answer("cpu0 cpu-clock",
                 counts(milliseconds{864'000'000}, milliseconds{864'000'000}, {}));

  (void)run(cycle, targets({}));

  EXPECT_EQ(totals(cycle, 3).times().unmeasured, milliseconds{0});
}

TEST_F(PollCycleWithWitnessesTest, IsCountedWithoutAuxiliaryCountersThatTheKernelRefuses) {
  kernel_.refuse("ref-cycles", EACCES);
  plan_->cpu.groups[0].optional_events = plan_->cpu.groups[1].optional_events = 1;
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 instructions", counts(milliseconds{1000}, milliseconds{500}, {500}));
  kernel_.answer("cpu0 cpu-clock", counts(milliseconds{1000}, milliseconds{1000}, {kSecond}));

  const PollReport report = run(cycle, targets({}));

  EXPECT_EQ(totals(cycle, 1)[0].value, 1000U);  // by time
  EXPECT_FALSE(cycle.cpu_groups()[0].has_failed());
  EXPECT_EQ(report.refusals.at({"ref-cycles", EACCES}), 2U);
}

TEST_F(PollCycleWithWitnessesTest, AnAuxiliaryCounterThatMeetsTheEndOfItsCpuIsNoFailure) {
  kernel_.refuse("ref-cycles", ENODEV);
  kernel_.refuse("instructions", ENODEV);
  kernel_.refuse("cpu-clock", ENODEV);
  plan_->cpu.groups[0].optional_events = plan_->cpu.groups[1].optional_events = 1;
  test::CountedCycle cycle{source(0), plan_, 0};

  const PollReport report = run(cycle, targets({}));

  EXPECT_TRUE(report.failures.empty());
}

TEST_F(PollCycleWithWitnessesTest, AnAuxiliaryCounterThatLacksADescriptorIsTriedAgainWithItsGroup) {
  kernel_.refuse("ref-cycles", EMFILE);
  plan_->cpu.groups[1].optional_events = 1;
  test::CountedCycle cycle{source(0), plan_, 0};
  (void)run(cycle, targets({}));
  ASSERT_TRUE(cycle.cpu_groups()[1].has_failed());
  kernel_.refuse("ref-cycles", 0);

  (void)run(cycle, targets({}));
  (void)run(cycle, targets({}));

  EXPECT_EQ(cycle.cpu_groups()[1].open_events(), 2U);
}

TEST_F(PollCycleWithWitnessesTest, WhatWaitedForAValueIsUnmeasuredWhenTheGroupIsClosed) {
  test::CountedCycle cycle{source(0), plan_, 0};
  kernel_.answer("cpu0 branches", counts(milliseconds{5000}, milliseconds{0}, {}));
  (void)run(cycle, targets({}));
  ASSERT_EQ(totals(cycle, 2).times().unmeasured, milliseconds{0});

  (void)run(cycle, targets({}, {{1}, {}, {}}));  // the CPU has gone offline

  EXPECT_EQ(totals(cycle, 2).times().enabled, milliseconds{5000});
  EXPECT_EQ(totals(cycle, 2).times().unmeasured, milliseconds{5000});
}

TEST_F(PollCycleWithWitnessesTest, HasNoValueBeforeItsFirstEstimate) {
  test::CountedCycle cycle{source(0), plan_, 0};
  pass(1, /*all=*/1000, /*sampled=*/0, /*instructions=*/10);  // activity, and none in the windows

  (void)run(cycle, targets({}));

  EXPECT_FALSE(totals(cycle, 1).counted());
}

TEST_F(PollCycleWithWitnessesTest, AuxiliaryCountersAreOpenedAndNotCountedAsEvents) {
  test::CountedCycle cycle{source(0), plan_, 0};

  const PollReport report = run(cycle, targets({}));

  EXPECT_EQ(report.now.open_events, 8U);  // 2 + 2 + 2 + 1, and the one that tells of the CPU
  EXPECT_EQ(totals(cycle, 1).size(), 1U);
}

TEST_F(PollCycleWithWitnessesTest,
       OpensPinnedGroupsFirstOthersInAnotherOrderOnEachCpuAndSoftwareLast) {
  const auto order_on = [this](int cpu) {
    test::CountedCycle cycle{source(cpu), plan_, cpu};
    const std::size_t before = kernel_.opened_groups().size();
    (void)run(cycle, targets({}, {{cpu}, {}, {}}));
    const std::vector<std::string> opened = kernel_.opened_groups();
    return std::vector<std::string>(opened.begin() + static_cast<std::ptrdiff_t>(before),
                                    opened.end());
  };

  EXPECT_EQ(order_on(0), (std::vector<std::string>{"cpu0 dummy", "cpu0 cycles", "cpu0 instructions",
                                                   "cpu0 branches", "cpu0 cpu-clock"}));
  EXPECT_EQ(order_on(1), (std::vector<std::string>{"cpu1 dummy", "cpu1 cycles", "cpu1 branches",
                                                   "cpu1 instructions", "cpu1 cpu-clock"}));

  GroupPlan memory = plan_->cpu.groups[2];  // another PMU changes nothing about that
  memory.pmu = "imc";
  plan_->cpu.groups.push_back(memory);
  EXPECT_EQ(order_on(2)[2], "cpu2 instructions");
  EXPECT_EQ(order_on(3)[2], "cpu3 branches");
}

/// Two CPUs, and memory that is read on one of them.
class PollCycleOfAPmuTest : public PollCycleTest {
 protected:
  PollCycleOfAPmuTest() { plan_ = memory_plan(); }

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

  test::CountedCycle cpu0_{source(0), memory_plan(), 0};
  test::CountedCycle cpu4_{source(4), memory_plan(), 4};
};

TEST_F(PollCycleOfAPmuTest, IsOpenedOnTheCpusOfItsPmuAlone) {
  const auto first = read_on(0);

  const PollReport on_cpu0 = run(cpu0_, first);
  const PollReport on_cpu4 = run(cpu4_, first);

  EXPECT_EQ(on_cpu0.groups_opened, 2U);
  EXPECT_EQ(on_cpu4.groups_opened, 1U);
  EXPECT_EQ(kernel_.open_groups(),
            (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy", "cpu0 page-faults", "cpu4 dummy",
                                      "cpu4 page-faults"}));
}

TEST_F(PollCycleOfAPmuTest, IsReadOnceMoreAndClosedWhereItsPmuIsNoLongerRead) {
  kernel_.answer("cpu0 cycles", counts(milliseconds{1}, milliseconds{1}, {100}));
  (void)run(cpu0_, read_on(0));
  kernel_.answer("cpu0 cycles", counts(milliseconds{2}, milliseconds{2}, {150}));

  const PollReport report = run(cpu0_, read_on(4));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(cpu0_.cpu_groups()[0].totals()[0].value, 150U);
  EXPECT_TRUE(open_memory_groups().empty());
}

TEST_F(PollCycleOfAPmuTest, IsOpenedWhereItsPmuIsReadFromNowOn) {
  (void)run(cpu4_, read_on(0));

  const PollReport report = run(cpu4_, read_on(4));

  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(open_memory_groups(), (std::vector<std::string>{"cpu4 cycles"}));
}

TEST_F(PollCycleOfAPmuTest, DoesNotFailWhereItIsNotCountedAnyMore) {
  kernel_.refuse("cpu0 cycles", EMFILE);
  (void)run(cpu0_, read_on(0));
  ASSERT_TRUE(cpu0_.cpu_groups()[0].has_failed());

  (void)run(cpu0_, read_on(4));

  EXPECT_FALSE(cpu0_.cpu_groups()[0].has_failed());
}

TEST_F(PollCycleOfAPmuTest, IsTheSameForTheGroupsOfCgroups) {
  plan_->cgroup = test::scope_plan({{.name = "core", .events = {"branches"}, .pmu = "imc"}});
  const auto a = make_cgroup("/a");
  test::CountedCycle cpu0{source(0), plan_, 0};
  const auto with_cgroup = [&](int cpu) {
    return targets({{1, "/a", a}}, {.online = {0, 4}, .pmus = {{"imc", {cpu}}}, .places = {}});
  };
  const PollReport opened = run(cpu0, with_cgroup(0));

  const PollReport closed = run(cpu0, with_cgroup(4));

  EXPECT_EQ(opened.groups_opened, 3U);
  EXPECT_EQ(closed.groups_closed, 2U);
  EXPECT_EQ(closed.now.open_events, 2U);  // page faults, and the event that tells of the CPU
}

/// The CPU has the groups core and faults, the cgroup /a the group software.
class PollCycleChangeTest : public PollCycleTest {
 protected:
  PollCycleChangeTest() {
    plan_->cpu = test::scope_plan({{"core", {"cycles"}}, {"faults", {"page-faults"}}});
  }

  /// Counts what `plan` has from the next run() on.
  std::size_t change(CountingPlan plan) {
    plan_ = std::make_shared<CountingPlan>(std::move(plan));
    return cycle_->change(plan_);
  }
  PollReport poll() {
    std::shared_ptr<const TargetSet> now = targets({{1, "/a", a_}});
    return run(*cycle_, now);
  }
  void start() {
    cycle_.emplace(source(0), plan_, 0);
    (void)poll();
  }
  void answer(const std::string& group, std::uint64_t count) {
    kernel_.answer(group, counts(milliseconds(count), milliseconds(count), {count}));
  }
  std::uint64_t total_of_cpu(std::size_t group) {
    return cycle_->cpu_groups()[group].totals()[0].value;
  }

  std::shared_ptr<const cgroup::Cgroup> a_ = make_cgroup("/a");
  std::optional<test::CountedCycle> cycle_;
};

TEST_F(PollCycleChangeTest, GroupsOfBothPlansStayOpenAndGoOn) {
  start();
  answer("cpu0 page-faults", 7);
  answer("cpu0 /a context-switches", 5);
  CountingPlan next = *plan_;
  next.cpu = test::scope_plan({{"faults", {"page-faults"}}, {"core", {"instructions"}}});

  const std::size_t closed = change(next);
  const PollReport report = poll();

  EXPECT_EQ(closed, 1U);
  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(report.groups_closed, 0U);
  EXPECT_EQ(kernel_.open_groups(),
            (std::vector<std::string>{"cpu0 /a context-switches", "cpu0 dummy", "cpu0 instructions",
                                      "cpu0 page-faults"}));
  EXPECT_EQ(total_of_cpu(0), 7U);
  EXPECT_EQ(cycle_->cgroup_groups(0)[0].totals()[0].value, 5U);
}

TEST_F(PollCycleChangeTest, AGroupThatHasChangedStartsAtZero) {
  start();
  answer("cpu0 cycles", 100);
  (void)poll();
  ASSERT_EQ(total_of_cpu(0), 100U);
  CountingPlan next = *plan_;
  next.cpu = test::scope_plan({{"core", {"cycles", "branches"}}, {"faults", {"page-faults"}}});

  (void)change(next);
  (void)poll();

  EXPECT_EQ(total_of_cpu(0), 0U);
}

TEST_F(PollCycleChangeTest, ANewGroupOfCgroupsIsOpenedInThoseThatAreCounted) {
  start();
  answer("cpu0 /a context-switches", 5);
  CountingPlan next = *plan_;
  next.cgroup = test::scope_plan({{"new", {"branches"}}, {"software", {"context-switches"}}});

  (void)change(next);
  (void)poll();
  answer("cpu0 /a branches", 3);
  (void)poll();

  EXPECT_EQ(cycle_->cgroup_groups(0)[0].totals()[0].value, 3U);
  EXPECT_EQ(cycle_->cgroup_groups(0)[1].totals()[0].value, 5U);
}

TEST_F(PollCycleChangeTest, TheSamePlanChangesNothing) {
  start();

  EXPECT_EQ(cycle_->change(plan_), 0U);

  EXPECT_TRUE(cycle_->is_reconciled());
}

TEST_F(PollCycleChangeTest, GroupsThatTakeTurnsGoOnAfterAChangeOfOneOfThem) {
  plan_->cgroup =
      test::scope_plan({{"clock", {"task-clock"}}, {"one", {"cycles"}}, {"two", {"instructions"}}});
  for (const std::size_t group : {1, 2}) {
    plan_->cgroup.groups[group].shares_pmu = true;
    plan_->cgroup.groups[group].auxiliary.always_on = 0;
  }
  start();
  for (int poll_number = 1; poll_number <= 4; ++poll_number) {  // the kernel starves the second one
    const milliseconds time{10 * poll_number};
    kernel_.answer("cpu0 /a task-clock", counts(time, time, {10'000'000U * poll_number}));
    kernel_.answer("cpu0 /a cycles", counts(time, time, {100U * poll_number}));
    kernel_.answer("cpu0 /a instructions", counts(time, 0ms, {0}));
    (void)poll();
  }
  ASSERT_FALSE(kernel_.runs("cpu0 /a cycles"));
  CountingPlan next = *plan_;
  next.cgroup.groups[2] = test::scope_plan({{"two", {"branches"}}}).groups[0];
  next.cgroup.groups[2].shares_pmu = true;
  next.cgroup.groups[2].auxiliary.always_on = 0;

  (void)change(next);
  (void)poll();
  EXPECT_TRUE(kernel_.runs("cpu0 /a cycles"));
  EXPECT_FALSE(kernel_.runs("cpu0 /a branches"));

  kernel_.answer("cpu0 /a task-clock", counts(50ms, 50ms, {50'000'000U}));
  (void)poll();
  EXPECT_FALSE(kernel_.runs("cpu0 /a cycles"));
  EXPECT_TRUE(kernel_.runs("cpu0 /a branches"));
}

/// The CPU has a group of hardware events and one of software events.
class PollCyclePauseTest : public PollCycleTest {
 protected:
  PollCyclePauseTest() {
    plan_->cpu = test::scope_plan({{"core", {"cycles"}}, {"faults", {"page-faults"}}});
    plan_->cpu.groups[0].shares_pmu = true;
    plan_->cgroup = test::scope_plan({});
    cycle_.emplace(source(0), plan_, 0);
    (void)run(*cycle_, targets({}));
  }
  PollReport poll(bool paused) {
    cycle_->set_paused(paused);
    kernel_.pass(1s);
    return run(*cycle_, targets({}));
  }
  GroupTimes times(std::size_t group) { return cycle_->cpu_groups()[group].totals().times(); }

  std::optional<test::CountedCycle> cycle_;
};

TEST_F(PollCyclePauseTest, StopsHardwareEventsAndNoOthers) {
  (void)poll(true);
  EXPECT_FALSE(kernel_.runs("cpu0 cycles"));
  EXPECT_TRUE(kernel_.runs("cpu0 page-faults"));

  (void)poll(false);
  EXPECT_TRUE(kernel_.runs("cpu0 cycles"));
}

TEST_F(PollCyclePauseTest, ItsTimeIsEnabledWithoutThePmu) {
  kernel_.answer("cpu0 cycles", counts(10s, 10s, {1000}));
  (void)poll(true);
  const GroupTimes before = times(0);

  for (int second = 0; second < 70; ++second) (void)poll(true);

  EXPECT_EQ(times(0).running, before.running);
  EXPECT_NEAR(static_cast<double>((times(0).enabled - before.enabled).count()), 70e9, 0.1e9);
  EXPECT_LE(times(0).imputed, 61s);
  EXPECT_GE(times(0).unmeasured, 9s);
}

TEST_F(PollCyclePauseTest, TheTimeForWhichTheCpuWasAwayMeanwhileIsUnmeasuredOnce) {
  kernel_.answer("cpu0 cycles", counts(10s, 10s, {1000}));
  (void)poll(true);
  const GroupTimes before = times(0);
  const EventTotal counted = cycle_->cpu_groups()[0].totals()[0];
  kernel_.pass(1s);
  kernel_.answer("cpu0 dummy", counts(1400ms, 1400ms, {}));  // stood since
  kernel_.answer("cpu0 cycles", {Answer::Kind::kBrokenUp, 10s, 10s, {1000}, 0});

  (void)run(*cycle_, targets({}));

  ASSERT_TRUE(cycle_->cpu_was_offline());
  EXPECT_NEAR(static_cast<double>((times(0).enabled - before.enabled).count()), 1e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>((times(0).unmeasured - before.unmeasured).count()), 6e8, 0.1e9);
  EXPECT_LT(cycle_->cpu_groups()[0].totals()[0].value - counted.value, 50U) << "of 400 ms";
}

TEST_F(PollCyclePauseTest, AGroupThatStandsStillInItIsNotTakenForOneThatTheKernelDoesNotCount) {
  kernel_.answer("cpu0 cycles", counts(10s, 10s, {1000}));
  PollReport report = poll(true);
  for (int second = 0; second < 3; ++second) report.merge(poll(true));
  report.merge(poll(false));

  EXPECT_EQ(report.of_group("core").standstills, 0U);
  EXPECT_EQ(report.groups_opened, 0U);
}

TEST_F(PollCyclePauseTest, WhatIsOpenedMeanwhileIsStoppedToo) {
  (void)poll(true);
  (void)run(*cycle_, targets({}, {.online = {}, .pmus = {}, .places = {}}));
  ASSERT_TRUE(kernel_.open_groups().empty());

  (void)run(*cycle_, targets({}));

  EXPECT_FALSE(kernel_.runs("cpu0 cycles"));
  EXPECT_TRUE(kernel_.runs("cpu0 page-faults"));
}

TEST_F(PollCyclePauseTest, TheTimeOfACgroupThatIsOpenedMeanwhileIsUnmeasured) {
  plan_ = std::make_shared<CountingPlan>();
  plan_->cgroup = test::scope_plan({{"clock", {"task-clock"}}, {"core", {"instructions"}}});
  plan_->cgroup.groups[1].shares_pmu = true;
  plan_->cgroup.groups[1].auxiliary.always_on = 0;
  cycle_.emplace(source(0), plan_, 0);
  (void)poll(true);
  const auto cgroup = make_cgroup("/a");
  (void)cycle_->reconcile(targets({{1, "/a", cgroup}}), EventModels{*plan_});
  kernel_.answer("cpu0 /a task-clock", counts(300ms, 300ms, {300'000'000}));

  (void)run(*cycle_, targets({{1, "/a", nullptr}}));  // it was brief

  const test::CountedTotals core = cycle_->cgroup_groups(0)[1].totals();
  EXPECT_EQ(core.times().enabled, 300ms);
  EXPECT_EQ(core.times().running, 0ms);
  EXPECT_EQ(core.times().unmeasured, 300ms);
  EXPECT_FALSE(core.counted());
}

TEST_F(PollCyclePauseTest, APinnedGroupWithoutItsPlaceIsNoErrorInIt) {
  plan_ = std::make_shared<CountingPlan>();
  plan_->cpu = test::scope_plan({{"core", {"cycles"}, {.pinned = true}}});
  plan_->cpu.groups[0].shares_pmu = true;
  cycle_.emplace(source(0), plan_, 0);
  kernel_.answer("cpu0 cycles", {Answer::Kind::kEof, {}, {}, {}, 0});
  PollReport before = poll(false);

  PollReport paused = poll(true);
  paused.merge(poll(true));

  EXPECT_EQ(before.of_group("core").pinned_errors, 1U);
  EXPECT_EQ(paused.of_group("core").pinned_errors, 0U);
  EXPECT_TRUE(paused.failures.empty());
  EXPECT_GE(times(0).unmeasured, 900ms);
}

/// A cgroup whose clock is counted, and then a group that shares the PMU as well.
class PollCycleAddedGroupTest : public PollCycleTest {
 protected:
  PollCycleAddedGroupTest() {
    plan_->cpu = test::scope_plan({});
    plan_->cgroup = test::scope_plan({{"clock", {"task-clock"}}});
    cycle_.emplace(source(0), plan_, 0);
    pass_to(1000ms);
    (void)run(*cycle_, targets({{1, "/a", cgroup_}}));
  }
  /// For so long it has been on the CPU.
  void pass_to(milliseconds time) { kernel_.answer("cpu0 /a task-clock", counts(time, time, {})); }
  void add_group(perf::GroupMode mode = {}) {
    auto next = std::make_shared<CountingPlan>(*plan_);
    next->cgroup = test::scope_plan({{"clock", {"task-clock"}}, {"core", {"instructions"}, mode}});
    next->cgroup.groups[1].shares_pmu = true;
    next->cgroup.groups[1].auxiliary.always_on = 0;
    plan_ = next;
    (void)cycle_->change(plan_);
    targets_ = targets({{1, "/a", cgroup_}});
  }
  GroupTimes times() { return cycle_->cgroup_groups(0)[1].totals().times(); }

  std::shared_ptr<const cgroup::Cgroup> cgroup_ = make_cgroup("/a");
  std::shared_ptr<const TargetSet> targets_;
  std::optional<test::CountedCycle> cycle_;
};

TEST_F(PollCycleAddedGroupTest, InAPauseHasNoTimeOfBefore) {
  cycle_->set_paused(true);
  pass_to(1300ms);
  add_group();

  const PollReport opened = run(*cycle_, targets_);
  EXPECT_EQ(times().enabled, 0ms);
  EXPECT_EQ(opened.now.open_events, 3U);  // with the one that shows whether the CPU was offline

  pass_to(1500ms);
  (void)run(*cycle_, targets_);
  EXPECT_EQ(times().enabled, 200ms);
}

TEST_F(PollCycleAddedGroupTest, BeforeAPauseHasNoTimeOfBeforeEither) {
  pass_to(1300ms);
  add_group();
  (void)cycle_->reconcile(targets_, EventModels{*plan_});
  cycle_->set_paused(true);
  pass_to(1500ms);

  (void)run(*cycle_, targets_);

  EXPECT_EQ(times().enabled, 200ms);
}

TEST_F(PollCycleAddedGroupTest, WithoutItsPlaceFromTheStartHasNoTimeOfBeforeEither) {
  pass_to(1300ms);
  add_group({.pinned = true});
  (void)cycle_->reconcile(targets_, EventModels{*plan_});
  kernel_.answer("cpu0 /a instructions", {Answer::Kind::kEof, {}, {}, {}, 0});
  pass_to(1500ms);
  (void)run(*cycle_, targets_);

  (void)run(*cycle_, targets({{1, "/a", nullptr}}));

  EXPECT_EQ(times().unmeasured, 200ms);
}

/// A group that counts at two polls of six, and one that always counts.
class PollCycleDutyTest : public PollCycleTest {
 protected:
  PollCycleDutyTest() {
    plan_->cpu = test::scope_plan({{"part", {"cycles"}}, {"all", {"branches"}}});
    plan_->cgroup = test::scope_plan({{"part", {"instructions"}}});
    for (ScopePlan* const scope : {&plan_->cpu, &plan_->cgroup}) {
      for (GroupPlan& group : scope->groups) group.shares_pmu = true;
      scope->groups[0].duty_cycle = DutyCycle{1500ms, 6s};
    }
    targets_ = targets({{1, "/a", cgroup_}});
    cycle_.emplace(source(0), plan_, 0);
    (void)poll(0s);
  }
  PollReport poll(std::chrono::nanoseconds passed = 1s) {
    kernel_.pass(passed);
    return run(*cycle_, targets_);
  }
  /// After how many of so many polls, a second apart, the group counts.
  int polls_with(const std::string& group, int polls = 6) {
    int with = 0;
    while (polls-- > 0) {
      (void)poll();
      with += kernel_.runs(group) ? 1 : 0;
    }
    return with;
  }
  GroupTimes times(std::size_t group) { return cycle_->cpu_groups()[group].totals().times(); }

  std::shared_ptr<const cgroup::Cgroup> cgroup_ = make_cgroup("/a");
  std::shared_ptr<const TargetSet> targets_;
  std::optional<test::CountedCycle> cycle_;
};

TEST_F(PollCycleDutyTest, CountsForItsPartOfTheTimeAtAllTargets) {
  int with = 0;
  for (int second = 0; second < 60; ++second) {
    (void)poll();
    with += kernel_.runs("cpu0 cycles") ? 1 : 0;
    EXPECT_EQ(kernel_.runs("cpu0 /a instructions"), kernel_.runs("cpu0 cycles"));
    EXPECT_TRUE(kernel_.runs("cpu0 branches"));
  }
  EXPECT_EQ(with, 20);
}

TEST_F(PollCycleDutyTest, TheRestOfTheTimeIsImputed) {
  (void)polls_with("cpu0 cycles");
  const GroupTimes before = times(0);

  (void)polls_with("cpu0 cycles", 60);

  const auto grown = [&](auto time) {
    return std::chrono::duration<double>(times(0).*time - before.*time).count();
  };
  EXPECT_NEAR(grown(&GroupTimes::enabled), 60, 0.2);
  EXPECT_NEAR(grown(&GroupTimes::running), 20, 1.2);
  EXPECT_NEAR(grown(&GroupTimes::imputed), 60 - grown(&GroupTimes::running), 0.2);
  EXPECT_EQ(grown(&GroupTimes::unmeasured), 0);
}

TEST_F(PollCycleDutyTest, ItIsNotTakenForAGroupThatTheKernelStarves) {
  cycle_.reset();
  plan_->cgroup =
      test::scope_plan({{"clock", {"task-clock"}}, {"one", {"cycles"}}, {"two", {"instructions"}}});
  for (const std::size_t group : {1, 2}) {
    plan_->cgroup.groups[group].shares_pmu = true;
    plan_->cgroup.groups[group].auxiliary.always_on = 0;
  }
  plan_->cgroup.groups[2].duty_cycle = DutyCycle{1ms, 60s, 0.5};  // off for the next half minute
  cycle_.emplace(source(0), plan_, 0);
  (void)poll();
  for (int second = 1; second <= 8; ++second) {
    const milliseconds time{1000 * second};
    kernel_.answer("cpu0 /a task-clock", counts(time, time, {1'000'000'000U * second}));
    kernel_.answer("cpu0 /a cycles", counts(time, time, {100U * second}));
    (void)poll();
    EXPECT_FALSE(kernel_.runs("cpu0 /a instructions"));
    EXPECT_TRUE(kernel_.runs("cpu0 /a cycles"));  // else they take turns
  }
}

TEST_F(PollCycleDutyTest, ItHasNoTurnInItsRest) {
  cycle_.reset();
  plan_->cgroup =
      test::scope_plan({{"clock", {"task-clock"}}, {"one", {"cycles"}}, {"two", {"instructions"}}});
  for (const std::size_t group : {1, 2}) {
    plan_->cgroup.groups[group].shares_pmu = true;
    plan_->cgroup.groups[group].auxiliary.always_on = 0;
  }
  plan_->cgroup.groups[2].duty_cycle = DutyCycle{30s, 60s};
  cycle_.emplace(source(0), plan_, 0);
  (void)poll();
  while (!kernel_.runs("cpu0 /a instructions")) (void)poll();
  bool have_taken_turns = false;
  for (int second = 1; second <= 60; ++second) {  // the kernel starves the first one
    const milliseconds time{1000 * second};
    kernel_.answer("cpu0 /a task-clock", counts(time, time, {1'000'000'000U * second}));
    kernel_.answer("cpu0 /a cycles", counts(time, 0ms, {0}));
    kernel_.answer("cpu0 /a instructions", counts(time, time, {100U * second}));
    (void)poll();
    const bool one = kernel_.runs("cpu0 /a cycles");
    const bool two = kernel_.runs("cpu0 /a instructions");
    EXPECT_TRUE(one || two) << "after " << second << " s";
    have_taken_turns = have_taken_turns || !one;
  }
  EXPECT_TRUE(have_taken_turns);
}

TEST_F(PollCycleDutyTest, APauseIsLongerThanItsRest) {
  cycle_->set_paused(true);
  EXPECT_EQ(polls_with("cpu0 cycles"), 0);
  EXPECT_EQ(polls_with("cpu0 branches"), 0);

  cycle_->set_paused(false);
  EXPECT_EQ(polls_with("cpu0 cycles"), 2);
  EXPECT_EQ(polls_with("cpu0 branches"), 6);
}

TEST_F(PollCycleDutyTest, APlanWithoutItLetsTheGroupGoOn) {
  while (kernel_.runs("cpu0 cycles")) (void)poll();
  const auto before = std::exchange(plan_, std::make_shared<CountingPlan>(*plan_));
  for (GroupPlan& group : plan_->cpu.groups) group.duty_cycle.reset();

  EXPECT_EQ(cycle_->change(plan_), 0U);
  targets_ = targets({{1, "/a", cgroup_}});
  const PollReport report = poll();

  EXPECT_EQ(report.groups_opened, 0U);
  EXPECT_EQ(polls_with("cpu0 cycles"), 6);
}

}  // namespace
}  // namespace pex::collect
