#include "count/poll_cycle.h"

#include <cerrno>

#include "count/descriptor_source.h"
#include "support/cgroups.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;
using Answer = test::ScriptedKernel::Answer;

Answer counts(milliseconds enabled, milliseconds running, std::vector<std::uint64_t> numbers) {
  return {Answer::Kind::kCounts, enabled, running, std::move(numbers), 0};
}
/// Of a group that had the PMU all the time.
Answer counts(milliseconds enabled, std::vector<std::uint64_t> numbers) {
  return counts(enabled, enabled, std::move(numbers));
}
const Answer kOffPmu{Answer::Kind::kEof, {}, {}, {}, 0};
const Answer kUnreadable{Answer::Kind::kError, {}, {}, {}, EIO};

/// One CPU, one group for it and one for each cgroup, over a scripted kernel.
class PollCycleTest : public testing::Test {
 protected:
  PollCycleTest() : kernel_(tree_.root()) {
    plan_->cpu = test::scope_plan({{"core", {"cycles", "instructions"}}});
    plan_->cgroup = test::scope_plan({{"software", {"context-switches"}}});
  }

  std::shared_ptr<const cgroup::Cgroup> make_cgroup(const std::string& path) {
    return test::make_cgroup(tree_, path);
  }

  static std::shared_ptr<const TargetSet> targets(std::vector<CgroupTarget> cgroups,
                                                  MachineCpus cpus = {{0}, {}, {}}) {
    return test::targets_of(std::move(cgroups), std::move(cpus));
  }

  test::CountedCycle& cycle() {
    if (!cycle_) cycle_.emplace(source(0), plan_, 0);
    return *cycle_;
  }
  PollReport run(const std::shared_ptr<const TargetSet>& targets) { return run(cycle(), targets); }
  PollCycle::Outcome reconcile(const std::shared_ptr<const TargetSet>& targets) {
    return cycle().reconcile(targets, EventModels{*plan_});
  }
  /// With this answer of a group.
  PollReport run_after(const std::string& group, const Answer& answer,
                       const std::shared_ptr<const TargetSet>& now = targets({})) {
    kernel_.answer(group, answer);
    return run(now);
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

  /// Of groups that share the PMU, next to a clock that is always counted.
  static ScopePlan next_to_a_clock(std::vector<test::GroupOf> groups) {
    groups.insert(groups.begin(), {"clock", {"task-clock"}});
    ScopePlan plan = test::scope_plan(groups);
    for (std::size_t group = 1; group < groups.size(); ++group) {
      plan.groups[group].shares_pmu = true;
      plan.groups[group].auxiliary.always_on = 0;
    }
    return plan;
  }

  test::TempTree tree_;
  test::ScriptedKernel kernel_;
  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  std::optional<test::CountedCycle> cycle_;  ///< made when it is needed first
  const std::shared_ptr<const cgroup::Cgroup> a_ = make_cgroup("/a");
  PollFeedback feedback_;  ///< of the last run()
};

TEST_F(PollCycleTest, OpensReadsAndAccumulatesInOnePoll) {
  const PollReport report = run_after("cpu0 cycles", counts(10ms, {100, 200}));

  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_EQ(report.groups_read, 1U);
  EXPECT_EQ(report.now.open_events, 3U);  // two, and the one that tells of the CPU
  EXPECT_EQ(cycle().cpu_groups()[0].totals()[1].value, 200U);
}

TEST_F(PollCycleTest, BetweenPollsOpensWhatIsNewAndReadsOnlyWhatGoes) {
  const PollReport opened = reconcile(targets({{1, "/a", a_}})).report;
  kernel_.answer("cpu0 cycles", counts(10ms, {100, 200}));
  kernel_.answer("cpu0 /a context-switches", counts(1ms, {5}));
  tree_.remove("a");

  const auto [closed, feedback] = reconcile(targets({{1, "/a", nullptr}}));

  EXPECT_EQ(opened.groups_opened, 2U);
  EXPECT_EQ(opened.groups_read, 0U);
  EXPECT_EQ(closed.groups_closed, 1U);
  EXPECT_EQ(closed.groups_read, 1U);
  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 5U);
  EXPECT_EQ(cycle().cpu_groups()[0].totals()[1].value, 0U);
  EXPECT_TRUE(feedback.unopened.empty());
}

TEST_F(PollCycleTest, ACgroupThatEndsBeforeItsFirstPollWasWantedInNone) {
  (void)reconcile(targets({{1, "/a", make_cgroup("/a")}}));
  (void)reconcile(targets({{1, "/a", nullptr}}));

  (void)run(targets({{1, "/a", nullptr}}));

  EXPECT_EQ(cycle().groups_of_cgroups()[0].polls_wanted(0), 0U);
}

TEST_F(PollCycleTest, ReportsACgroupThatHadGoneBeforeAllOfItWasOpen) {
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  const PollReport gone = run(targets({{7, "/a", a_}}));
  EXPECT_TRUE(gone.refusals.empty());
  EXPECT_TRUE(gone.failures.empty());
  EXPECT_TRUE(feedback_.unopened.empty());

  (void)run(targets({{7, "/a", nullptr}}));
  EXPECT_EQ(feedback_.unopened, (std::set<std::uint64_t>{7}));
  (void)run(targets({{7, "/a", nullptr}}));
  EXPECT_TRUE(feedback_.unopened.empty());
}

TEST_F(PollCycleTest, ACgroupThatIsThereAgainLacksNothingOfACpuThatMissedItAndIsOffline) {
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  (void)run(targets({{7, "/a", a_}}));
  (void)run(targets({{7, "/a", nullptr}}));
  ASSERT_TRUE(cycle().cgroup_groups(0)[0].has_failed());

  (void)run(targets({{7, "/a", make_cgroup("/a")}}, {{1}, {}, {}}));

  EXPECT_FALSE(cycle().cgroup_groups(0)[0].has_failed());
}

TEST_F(PollCycleTest, ReportsItAlsoWhenItsSeriesEndsAtOnce) {
  const auto b = make_cgroup("/b");
  (void)run(targets({{6, "/b", b}}));
  kernel_.refuse("context-switches", ENOENT);
  tree_.remove("a");
  (void)run(targets({{6, "/b", b}, {7, "/a", a_}}));

  (void)run(targets({{6, "/b", b}}));
  EXPECT_EQ(feedback_.unopened, (std::set<std::uint64_t>{7}));
  (void)run(targets({}));
  EXPECT_TRUE(feedback_.unopened.empty());  // b is there, and was counted
}

TEST_F(PollCycleTest, ReportsACgroupThatCameAndEndedWhileTheCpuWasGivenNoTargets) {
  for (const bool has_missed_targets : {true, false}) {
    cycle_.reset();
    (void)run(targets({{1, "/a", a_}}));
    cycle().set_missed_targets(has_missed_targets);

    (void)run(targets({{1, "/a", a_}, {2, "/b", nullptr}}));

    EXPECT_EQ(feedback_.unopened,
              has_missed_targets ? std::set<std::uint64_t>{2} : std::set<std::uint64_t>{});
    EXPECT_EQ(cycle().cgroup_groups(1)[0].has_failed(), has_missed_targets);
    EXPECT_FALSE(cycle().cgroup_groups(0)[0].has_failed());
  }
}

TEST_F(PollCycleTest, LacksNothingOfSuchACgroupWhereItsGroupIsNotCounted) {
  plan_->cgroup.groups[0].pmu = "other";
  cycle().set_missed_targets(true);

  (void)run(targets({{2, "/b", nullptr}}, {{0, 1}, {{"other", {1}}}, {}}));

  EXPECT_TRUE(feedback_.unopened.empty());
  EXPECT_FALSE(cycle().cgroup_groups(0)[0].has_failed());
}

TEST_F(PollCycleTest, ReportsWhichCgroupsLackedADescriptor) {
  kernel_.refuse("cpu0 /a context-switches", EMFILE);
  kernel_.refuse("cpu0 /b context-switches", EACCES);

  (void)run(targets({{1, "/a", make_cgroup("/a")}, {2, "/b", make_cgroup("/b")}}));

  EXPECT_EQ(feedback_.exhausted, (std::map<std::string, int>{{"/a", EMFILE}}));
}

TEST_F(PollCycleTest, ReadsARemovedCgroupOnceMoreAndThenClosesIt) {
  (void)run_after("cpu0 /a context-switches", counts(1ms, {5}), targets({{1, "/a", a_}}));

  const PollReport report =
      run_after("cpu0 /a context-switches", counts(2ms, {8}), targets({{1, "/a", nullptr}}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 8U);
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 cycles", "cpu0 dummy"}));
}

TEST_F(PollCycleTest, ASeriesThatTakesTheSlotOfOneThatHasEndedStartsAtZero) {
  const auto b = make_cgroup("/b");
  const auto c = make_cgroup("/c");
  kernel_.answer("cpu0 /a context-switches", counts(1ms, {1}));
  kernel_.answer("cpu0 /b context-switches", counts(1ms, {2}));
  (void)run_after("cpu0 /c context-switches", counts(1ms, {3}),
                  targets({{1, "/a", a_}, {2, "/b", b}}));

  (void)run(targets({{3, "/c", c}, {2, "/b", b}}));

  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 3U);
  EXPECT_EQ(cycle().cgroup_groups(1)[0].totals()[0].value, 2U);
  EXPECT_EQ(kernel_.still_open(), 5U);  // two of the CPU, one each of b and c, and the dummy
}

TEST_F(PollCycleTest, AnIntervalOfMoreThanACpuCanCountIsUnmeasured) {
  constexpr std::uint64_t kJump = std::uint64_t{1} << 48;
  plan_->cpu.groups[0].shares_pmu = plan_->cpu.groups[0].refuses_impossible = true;
  (void)run_after("cpu0 cycles", counts(1s, {5000, 4000}));

  const PollReport report = run_after("cpu0 cycles", counts(2s, {6000 + kJump, 4500}));
  (void)run_after("cpu0 cycles", counts(3s, {7000 + kJump, 5500}));

  EXPECT_EQ(report.errors.at("core").anomalies, 1U);
  EXPECT_EQ(cycle().cpu_groups()[0].totals()[0].value, 6000U);
  EXPECT_EQ(cycle().cpu_groups()[0].totals()[1].value, 5000U);
  EXPECT_EQ(cycle().cpu_groups()[0].totals().times().unmeasured, 1s);
}

TEST_F(PollCycleTest, OneGroupThatCannotBeReadDoesNotCostTheOthers) {
  kernel_.answer("cpu0 cycles", kUnreadable);

  const PollReport report =
      run_after("cpu0 /a context-switches", counts(1ms, {5}), targets({{1, "/a", a_}}));

  EXPECT_EQ(report.errors.at("core").read_failures, 1U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(describe(report.failures.begin()->second.first),
            "read group 'core' on CPU 0: Input/output error (EIO)");
  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 5U);
}

TEST_F(PollCycleTest, TriesARefusedGroupLessAndLessOftenHoweverManyChecksThereAre) {
  kernel_.refuse("cpu0 instructions", EMFILE);
  const auto nothing_new = targets({});

  std::vector<int> polls_with_a_try;
  std::size_t tries_between_polls = 0;
  for (int poll = 1; poll <= 20; ++poll) {
    if (!run(nothing_new).refusals.empty()) polls_with_a_try.push_back(poll);
    for (int look = 0; look < 20; ++look) {
      tries_between_polls += reconcile(nothing_new).report.refusals.size();
    }
  }

  EXPECT_EQ(polls_with_a_try, (std::vector{1, 3, 6, 11, 20}));  // after 1, 2, 4 and 8 polls' rest
  EXPECT_EQ(tries_between_polls, 0U);
  EXPECT_EQ(kernel_.open_groups(), (std::vector<std::string>{"cpu0 dummy"}));  // no half group
}

TEST_F(PollCycleTest, AnOfflineCpuIsReadOnceMoreAndKeepsItsTotals) {
  (void)run_after("cpu0 cycles", counts(1ms, {100, 10}));
  kernel_.answer("cpu0 cycles", {Answer::Kind::kBrokenUp, 2ms, 2ms, {150, 15}, 0});

  const PollReport report = run(targets({}, {{1}, {}, {}}));

  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.now.open_events, 0U);
  EXPECT_EQ(cycle().cpu_groups()[0].totals()[1].value, 15U);
  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(PollCycleTest, ACpuThatWasAwayBetweenTwoPollsIsReadOnceMoreAndReopened) {
  (void)run_after("cpu0 cycles", counts(5ms, {100, 10}));
  kernel_.pass(1000ms);
  kernel_.answer("cpu0 dummy", counts(400ms, {}));  // stood since
  kernel_.answer("cpu0 cycles", {Answer::Kind::kBrokenUp, 405ms, 405ms, {130, 13}, 0});

  const PollReport report = run(targets({}));

  EXPECT_TRUE(cycle().cpu_was_offline());
  EXPECT_EQ(report.groups_closed, 1U);
  EXPECT_EQ(report.groups_opened, 1U);
  EXPECT_TRUE(report.failures.contains({"absence of a CPU", 0}));
  const test::CountedTotals totals = cycle().cpu_groups()[0].totals();
  EXPECT_EQ(totals[1].value, 13U);
  EXPECT_EQ(totals.times().unmeasured, 600ms);  // what happened since is in no count
}

TEST_F(PollCycleTest, ATimeThatLagsALittleIsNoAbsence) {
  (void)run(targets({}));
  kernel_.pass(1000ms);
  kernel_.answer("cpu0 dummy", counts(981ms, {}));

  EXPECT_TRUE(run(targets({})).failures.empty());
  EXPECT_FALSE(cycle().cpu_was_offline());
}

TEST_F(PollCycleTest, ATimeThatStandsStillAtEachSwitchBetweenCgroupsIsNoAbsence) {
  (void)run(targets({}));
  for (int second = 0; second < 3; ++second) {
    kernel_.pass(850ms);
    kernel_.pass_in_switches(150ms);

    const PollReport report = run(targets({}));

    EXPECT_TRUE(report.failures.empty());
    EXPECT_EQ(report.groups_closed, 0U);
    EXPECT_FALSE(cycle().cpu_was_offline());
  }
}

TEST_F(PollCycleTest, AnAbsenceIsFoundHoweverShortTheChecksAre) {
  (void)run(targets({}));
  kernel_.answer("cpu0 dummy", counts(1ms, {}));
  (void)reconcile(targets({}));
  int looks = 0;
  for (; !cycle().cpu_was_offline() && looks < 10; ++looks) {
    kernel_.pass(5ms);
    (void)reconcile(targets({}));
  }

  EXPECT_EQ(looks, 5);
}

TEST_F(PollCycleTest, ACgroupMayHaveRunWhileItsCpuWasAway) {
  (void)run_after("cpu0 /a context-switches", counts(1ms, {5}), targets({{1, "/a", a_}}));
  kernel_.pass(1000ms);

  (void)run_after("cpu0 dummy", counts(400ms, {}), targets({{1, "/a", a_}}));

  EXPECT_TRUE(cycle().cpu_was_offline());
  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals().times().unmeasured, 600ms);
}

TEST_F(PollCycleTest, ACpuThatIsBackMayHaveRunSinceItWasLastKnownToBeOffline) {
  plan_->cpu = test::scope_plan({{"software", {"context-switches"}}});
  (void)run(targets({{1, "/a", a_}}));
  for (int poll = 0; poll < 3; ++poll) {
    kernel_.pass(1000ms);
    (void)run(targets({{1, "/a", a_}}, {}));
  }
  kernel_.pass(700ms);

  (void)run(targets({{1, "/a", a_}}));

  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals().times().unmeasured, 700ms);
  EXPECT_EQ(cycle().cpu_groups()[0].totals().times().unmeasured, 700ms);
  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 0U);
}

TEST_F(PollCycleTest, TheEventOfPresenceStandsBeforeAllOthersAndCountsFromItsOpening) {
  plan_->cpu = test::scope_plan({{"software", {"context-switches"}}});
  kernel_.deactivate_contexts(0);

  (void)run(targets({}));

  EXPECT_EQ(kernel_.opened_groups(),
            (std::vector<std::string>{"cpu0 dummy", "cpu0 context-switches"}));
  EXPECT_GT(cycle().cpu_groups()[0].totals().times().running, 0ms);
}

TEST_F(PollCycleTest, AGroupThatStandsStillIsOpenedAgainAndItsTimeIsUnmeasured) {
  (void)run_after("cpu0 cycles", counts(5ms, {100, 10}));
  kernel_.pass(1000ms);  // and the group says what it had said

  const PollReport report = run(targets({}));
  (void)run_after("cpu0 cycles", counts(500ms, {7, 3}));

  EXPECT_EQ(report.errors.at("core").standstills, 1U);
  EXPECT_EQ(describe(report.failures.at({"standstill of core", 0}).first),
            "group 'core' did not count on CPU 0: the kernel did not schedule it, which happens "
            "if another program also counts cgroups; it was reopened. Remedy: if this happens "
            "again, stop other programs that count cgroups, such as cAdvisor with perf events");
  EXPECT_EQ(report.groups_opened, 1U);
  const test::CountedTotals totals = cycle().cpu_groups()[0].totals();
  EXPECT_EQ(totals[0].value, 107U);
  EXPECT_EQ(totals.times().unmeasured, 1000ms);
  EXPECT_EQ(totals.times().enabled, 1505ms);
}

TEST_F(PollCycleTest, AGroupOfACgroupMayStandStill) {
  (void)run_after("cpu0 /a context-switches", counts(1ms, {5}), targets({{1, "/a", a_}}));
  kernel_.pass(1000ms);

  EXPECT_EQ(run(targets({{1, "/a", a_}})).groups_opened, 0U);
}

TEST_F(PollCycleTest, AMemberThatAnswersForItsFormerLeaderOrNotAtAllKeepsItsCount) {
  const std::set<std::size_t> none, member{1};
  for (const auto& [silent, former] : {std::pair{member, none}, {none, member}}) {
    cycle_.reset();
    (void)run_after("cpu0 cycles", counts(1ms, {100, 10}));

    const PollReport report =
        run_after("cpu0 cycles", {Answer::Kind::kBrokenUp, 2ms, 2ms, {150, 15}, 0, silent, former},
                  targets({}, {{1}, {}, {}}));

    const test::CountedTotals totals = cycle().cpu_groups()[0].totals();
    EXPECT_EQ(totals[0].value, 150U);
    EXPECT_EQ(totals[1].value, 10U);
    EXPECT_EQ(totals.times().enabled, 2ms);
    ASSERT_TRUE(report.failures.contains({"last counts of core", 0}));
    EXPECT_THAT(report.failures.at({"last counts of core", 0}).first.attempted,
                testing::HasSubstr("lost the last counts of 'instructions' in group 'core'"));
  }
}

TEST_F(PollCycleTest, APinnedGroupOffThePmuIsEnabledAgain) {
  plan_->cpu.groups[0].mode.pinned = true;

  const PollReport report = run_after("cpu0 cycles", kOffPmu);

  EXPECT_EQ(report.now.groups_off_pmu, 1U);
  EXPECT_EQ(kernel_.enabled("cpu0 cycles"), 2U);              // when opened, and now
  EXPECT_TRUE(report.failures.contains({"pinned core", 0}));  // so that the log tells of it
}

TEST_F(PollCycleTest, AFailureIsReportedOnceForEachCauseWithItsTimes) {
  const auto b = make_cgroup("/b");
  kernel_.refuse("context-switches", EMFILE);

  const PollReport report = run(targets({{1, "/a", a_}, {2, "/b", b}}));

  EXPECT_EQ(report.refusals.at({"context-switches", EMFILE}), 2U);
  ASSERT_EQ(report.failures.size(), 1U);
  const auto& [cause, failure] = *report.failures.begin();
  EXPECT_EQ(cause, (PollReport::Cause{"context-switches", EMFILE}));
  EXPECT_EQ(failure.times, 2U);
  EXPECT_TRUE(failure.first.attempted.ends_with("for cgroup '/a' on CPU 0"))
      << failure.first.attempted;
}

TEST_F(PollCycleTest, AGroupOfSoftwareIsNeverScaledUp) {
  (void)run_after("cpu0 /a context-switches", counts(1000ms, 985ms, {420}),
                  targets({{1, "/a", a_}}));

  EXPECT_EQ(cycle().cgroup_groups(0)[0].totals()[0].value, 420U);
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
                   counts(now, {kSecond * static_cast<std::uint64_t>(second), all}));
    kernel_.answer("cpu0 instructions", counts(now, now / 2, {instructions, sampled}));
  }

  /// The clock of the CPU is at `now`, and the pinned group answers.
  PollReport poll_pinned(milliseconds now, const Answer& answer) {
    kernel_.answer("cpu0 cpu-clock", counts(now, {}));
    return run_after("cpu0 cycles", answer);
  }

  test::CountedTotals totals(std::size_t group) { return cycle().cpu_groups()[group].totals(); }
};

TEST_F(PollCycleWithWitnessesTest, ScalesByTheReferenceThatIsAlwaysCounted) {
  pass(1, /*all=*/1000, /*sampled=*/250, /*instructions=*/500);

  (void)run(targets({}));

  EXPECT_EQ(totals(1)[0].value, 2000U);  // by time it would be 1000
  EXPECT_EQ(totals(1)[0].observed, 500U);
  EXPECT_EQ(totals(1).times().reference, 1000);
  EXPECT_EQ(totals(1).times().reference_sampled, 250);
}

TEST_F(PollCycleWithWitnessesTest, LearnsHowFarAnEventFollowsTheReference) {
  EventModels models{*plan_};
  std::uint64_t all = 0, sampled = 0, instructions = 0;
  for (int second = 1; second <= 200; ++second) {  // 2 for each reference event, whatever the time
    all += 1000;
    sampled += second % 2 == 0 ? 300 : 700;
    instructions += second % 2 == 0 ? 600 : 1400;
    pass(second, all, sampled, instructions);
    (void)cycle().run(targets({}), models);
    const ModelUpdates* const updates[] = {&cycle().model_updates()};
    models.learn(updates);
  }

  EXPECT_GT(models.cpu[1][0].reference_weight(), 0.99);
  EXPECT_NEAR(static_cast<double>(totals(1)[0].value), 400'000, 400);
}

TEST_F(PollCycleWithWitnessesTest, BelievesTheClockOfAGroupMoreThanItsRunningTime) {
  kernel_.answer("cpu0 branches",
                 counts(1000ms, 100ms, {300, kSecond / 4}));  // a quarter of the second

  const PollReport report = run(targets({}));

  EXPECT_EQ(totals(2)[0].value, 1200U);  // by running time it would be 3000
  EXPECT_EQ(totals(2).times().running, 250ms);
  EXPECT_EQ(report.errors.at("b").mistimed, 1U);
}

TEST_F(PollCycleWithWitnessesTest, AKernelThatMistimedOneGroupIsBelievedOfNoOther) {
  plan_->cpu.groups.push_back(plan_->cpu.groups[2]);
  plan_->cpu.groups.back().events[0] = test::counter("branch-misses");
  EventModels models{*plan_};
  const auto poll = [&](int second, milliseconds running, milliseconds clock) {
    const milliseconds now{1000 * second};
    kernel_.answer("cpu0 cpu-clock", counts(now, {kSecond * static_cast<std::uint64_t>(second)}));
    kernel_.answer("cpu0 branch-misses",
                   counts(now, running,
                          {static_cast<std::uint64_t>(300 * second),
                           static_cast<std::uint64_t>(std::chrono::nanoseconds{clock}.count())}));
    (void)cycle().run(targets({}), models);
    const ModelUpdates* const updates[] = {&cycle().model_updates()};
    models.learn(updates);
  };
  // 900 ms are booked for 250 ms on the PMU, which could be the cost of switches to the clock.
  poll(1, 900ms, 250ms);
  EXPECT_EQ(totals(4)[0].value, 333U);
  // Of another group 100 ms are booked while its clock counted 250 ms.
  kernel_.answer("cpu0 branches", counts(2000ms, 100ms, {300, kSecond / 4}));
  poll(2, 1800ms, 500ms);

  EXPECT_TRUE(models.kernel_mistimes);
  poll(3, 2700ms, 750ms);
  EXPECT_EQ(totals(4).times().running, milliseconds{900 + 250 + 250});
}

TEST_F(PollCycleWithWitnessesTest, TheTimeOfAPinnedGroupWithoutItsPlaceIsUnmeasured) {
  (void)poll_pinned(1s, counts(1000ms, {700}));

  const PollReport report =
      poll_pinned(2s, kOffPmu);  // for how much of this second is not known yet
  (void)poll_pinned(4s, kOffPmu);
  EXPECT_EQ(totals(3).times().unmeasured, 2000ms);
  EXPECT_EQ(report.errors.at("pinned").pinned_errors, 1U);

  // Back for half a second; of second 2 it had been on the PMU for 300 ms.
  (void)poll_pinned(5s, counts(1800ms, {1260}));
  const test::CountedTotals pinned = totals(3);
  EXPECT_EQ(pinned.times().enabled, 5000ms);
  EXPECT_EQ(pinned.times().running, 1800ms);
  EXPECT_EQ(pinned.times().unmeasured, 3200ms);
  EXPECT_EQ(pinned[0].value, 1260U);
}

/// A pinned group of a cgroup, next to a clock of the cgroup.
class PinnedInACgroupTest : public PollCycleTest {
 protected:
  PinnedInACgroupTest() {
    plan_->cpu = {};
    plan_->cgroup = next_to_a_clock({{"pinned", {"cycles", "instructions"}, {.pinned = true}}});
    plan_->cgroup.groups[0].is_published = false;
  }

  void poll_at(milliseconds now, const Answer& pinned, bool is_there) {
    kernel_.answer("cpu0 /a task-clock", counts(now, {}));
    kernel_.answer("cpu0 /a cycles", pinned);
    (void)run(targets({{1, "/a", is_there ? a_ : nullptr}}));
  }
  test::CountedTotals pinned_totals() const { return cycle_->cgroup_groups(0)[1].totals(); }

  const Answer lost_{Answer::Kind::kEof, 1700ms, 1700ms, {1700, 17}};
};

TEST_F(PinnedInACgroupTest, KeepsWhatItHadCountedWhenItIsClosedWithoutItsPlace) {
  for (const bool was_seen_without_it : {true, false}) {
    cycle_.reset();
    poll_at(1000ms, counts(1000ms, {1000, 10}), true);
    if (was_seen_without_it) poll_at(2000ms, lost_, true);

    poll_at(3000ms, lost_, false);

    EXPECT_EQ(pinned_totals()[0].value, 1700U);
    EXPECT_EQ(pinned_totals()[1].value, 17U);
    EXPECT_EQ(pinned_totals().times().enabled, 3000ms);
    EXPECT_EQ(pinned_totals().times().running, 1700ms);
    EXPECT_EQ(pinned_totals().times().unmeasured, 1300ms);
  }
}

TEST_F(PinnedInACgroupTest, AloneAndRefusedItsPlaceToTheEndIsUnmeasuredSinceItWasLastRead) {
  plan_->cgroup.groups[1].events.pop_back();
  poll_at(1000ms, counts(1000ms, {1000}), true);
  poll_at(2000ms, lost_, true);

  poll_at(3000ms, lost_, false);

  EXPECT_EQ(pinned_totals()[0].value, 1000U);
  EXPECT_EQ(pinned_totals().times().enabled, 3000ms);
  EXPECT_EQ(pinned_totals().times().unmeasured, 2000ms);
}

TEST_F(PollCycleWithWitnessesTest, APinnedGroupWithoutItsPlaceFromTheStartMissesOnlyTimeSinceThen) {
  (void)poll_pinned(5s, kOffPmu);

  (void)poll_pinned(6s, kOffPmu);

  EXPECT_EQ(totals(3).times().unmeasured, 1000ms);
}

TEST_F(PollCycleWithWitnessesTest,
       APinnedGroupThatLosesItsPlaceAgainAndAgainMissesNoMoreThanPassed) {
  milliseconds on_pmu{};
  for (int second = 1; second <= 200; ++second) {  // loses it after 9 of 10 seconds' tenths
    on_pmu += milliseconds{second % 2 == 0 ? 900 : 1000};
    (void)poll_pinned(1000ms * second, second % 2 == 0 ? kOffPmu : counts(on_pmu, {7}));
  }

  const GroupTimes times = totals(3).times();
  EXPECT_EQ(times.enabled, 199'000ms);
  EXPECT_EQ(times.unmeasured, 9'900ms);
}

TEST_F(PollCycleWithWitnessesTest, AClockThatComesBackDisclosesNothingOfTheTimeItWasAway) {
  kernel_.answer("cpu0 cycles", kOffPmu);
  (void)run_after("cpu0 cpu-clock", kUnreadable);
  (void)run(targets({}));

  (void)run_after("cpu0 cpu-clock", counts(864'000'000ms, 864'000'000ms, {}));

  EXPECT_EQ(totals(3).times().unmeasured, 0ms);
}

TEST_F(PollCycleWithWitnessesTest, IsCountedWithoutAuxiliaryCountersThatTheKernelRefuses) {
  kernel_.refuse("ref-cycles", EACCES);
  plan_->cpu.groups[0].optional_events = plan_->cpu.groups[1].optional_events = 1;
  kernel_.answer("cpu0 instructions", counts(1000ms, 500ms, {500}));

  const PollReport report = run_after("cpu0 cpu-clock", counts(1000ms, {kSecond}));

  EXPECT_EQ(totals(1)[0].value, 1000U);  // by time
  EXPECT_FALSE(cycle().cpu_groups()[0].has_failed());
  EXPECT_EQ(report.refusals.at({"ref-cycles", EACCES}), 2U);
}

TEST_F(PollCycleWithWitnessesTest, AnAuxiliaryCounterThatMeetsTheEndOfItsCpuIsNoFailure) {
  kernel_.refuse("ref-cycles", ENODEV);
  kernel_.refuse("instructions", ENODEV);
  kernel_.refuse("cpu-clock", ENODEV);
  plan_->cpu.groups[0].optional_events = plan_->cpu.groups[1].optional_events = 1;

  const PollReport report = run(targets({}));

  EXPECT_TRUE(report.failures.empty());
}

TEST_F(PollCycleWithWitnessesTest, AnAuxiliaryCounterThatLacksADescriptorIsTriedAgainWithItsGroup) {
  kernel_.refuse("ref-cycles", EMFILE);
  plan_->cpu.groups[1].optional_events = 1;
  (void)run(targets({}));
  ASSERT_TRUE(cycle().cpu_groups()[1].has_failed());
  kernel_.refuse("ref-cycles", 0);

  (void)run(targets({}));
  (void)run(targets({}));

  EXPECT_EQ(cycle().cpu_groups()[1].open_events(), 2U);
}

TEST_F(PollCycleWithWitnessesTest, WhatWaitedForAValueIsUnmeasuredWhenTheGroupIsClosed) {
  (void)run_after("cpu0 branches", counts(5000ms, 0ms, {}));
  ASSERT_EQ(totals(2).times().unmeasured, 0ms);

  (void)run(targets({}, {{1}, {}, {}}));  // the CPU has gone offline

  EXPECT_EQ(totals(2).times().enabled, 5000ms);
  EXPECT_EQ(totals(2).times().unmeasured, 5000ms);
}

TEST_F(PollCycleWithWitnessesTest, HasNoValueBeforeItsFirstEstimate) {
  pass(1, /*all=*/1000, /*sampled=*/0, /*instructions=*/10);  // activity, and none in the windows

  (void)run(targets({}));

  EXPECT_FALSE(totals(1).counted());
}

TEST_F(PollCycleWithWitnessesTest, AuxiliaryCountersAreOpenedAndNotCountedAsEvents) {
  const PollReport report = run(targets({}));

  EXPECT_EQ(report.now.open_events, 8U);  // 2 + 2 + 2 + 1, and the one that tells of the CPU
  EXPECT_EQ(totals(1).size(), 1U);
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
  kernel_.answer("cpu0 cycles", counts(1ms, {100}));
  (void)run(cpu0_, read_on(0));
  kernel_.answer("cpu0 cycles", counts(2ms, {150}));

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
  test::CountedCycle cpu0{source(0), plan_, 0};
  const auto with_cgroup = [&](int cpu) {
    return targets({{1, "/a", a_}}, {.online = {0, 4}, .pmus = {{"imc", {cpu}}}, .places = {}});
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
  PollReport poll() { return run(targets({{1, "/a", a_}})); }
  void answer(const std::string& group, std::uint64_t count) {
    kernel_.answer(group, counts(milliseconds(count), milliseconds(count), {count}));
  }
  std::uint64_t total_of_cpu(std::size_t group) {
    return cycle_->cpu_groups()[group].totals()[0].value;
  }
};

TEST_F(PollCycleChangeTest, GroupsOfBothPlansStayOpenAndGoOn) {
  (void)poll();
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
  (void)poll();
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
  (void)poll();
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
  (void)poll();

  EXPECT_EQ(cycle_->change(plan_), 0U);

  EXPECT_TRUE(cycle_->is_reconciled());
}

TEST_F(PollCycleChangeTest, GroupsThatTakeTurnsGoOnAfterAChangeOfOneOfThem) {
  plan_->cgroup = next_to_a_clock({{"one", {"cycles"}}, {"two", {"instructions"}}});
  (void)poll();
  for (int poll_number = 1; poll_number <= 4; ++poll_number) {  // the kernel starves the second one
    const milliseconds time{10 * poll_number};
    kernel_.answer("cpu0 /a task-clock", counts(time, {10'000'000U * poll_number}));
    kernel_.answer("cpu0 /a cycles", counts(time, {100U * poll_number}));
    kernel_.answer("cpu0 /a instructions", counts(time, 0ms, {0}));
    (void)poll();
  }
  ASSERT_FALSE(kernel_.runs("cpu0 /a cycles"));
  CountingPlan next = *plan_;
  next.cgroup.groups[2] = next_to_a_clock({{"two", {"branches"}}}).groups[1];

  (void)change(next);
  (void)poll();
  EXPECT_TRUE(kernel_.runs("cpu0 /a cycles"));
  EXPECT_FALSE(kernel_.runs("cpu0 /a branches"));

  kernel_.answer("cpu0 /a task-clock", counts(50ms, {50'000'000U}));
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
    (void)run(targets({}));
  }
  PollReport poll(bool paused) {
    cycle_->set_paused(paused);
    kernel_.pass(1s);
    return run(targets({}));
  }
  GroupTimes times(std::size_t group) { return cycle_->cpu_groups()[group].totals().times(); }
};

TEST_F(PollCyclePauseTest, StopsHardwareEventsAndNoOthers) {
  (void)poll(true);
  EXPECT_FALSE(kernel_.runs("cpu0 cycles"));
  EXPECT_TRUE(kernel_.runs("cpu0 page-faults"));

  (void)poll(false);
  EXPECT_TRUE(kernel_.runs("cpu0 cycles"));
}

TEST_F(PollCyclePauseTest, ItsTimeIsEnabledWithoutThePmu) {
  kernel_.answer("cpu0 cycles", counts(10s, {1000}));
  (void)poll(true);
  const GroupTimes before = times(0);

  for (int second = 0; second < 70; ++second) (void)poll(true);

  EXPECT_EQ(times(0).running, before.running);
  EXPECT_NEAR(static_cast<double>((times(0).enabled - before.enabled).count()), 70e9, 0.1e9);
  EXPECT_LE(times(0).imputed, 61s);
  EXPECT_GE(times(0).unmeasured, 9s);
}

TEST_F(PollCyclePauseTest, TheTimeForWhichTheCpuWasAwayMeanwhileIsUnmeasuredOnce) {
  kernel_.answer("cpu0 cycles", counts(10s, {1000}));
  (void)poll(true);
  const GroupTimes before = times(0);
  const EventTotal counted = cycle_->cpu_groups()[0].totals()[0];
  kernel_.pass(1s);
  kernel_.answer("cpu0 dummy", counts(1400ms, {}));  // stood since
  kernel_.answer("cpu0 cycles", {Answer::Kind::kBrokenUp, 10s, 10s, {1000}, 0});

  (void)run(targets({}));

  ASSERT_TRUE(cycle_->cpu_was_offline());
  EXPECT_NEAR(static_cast<double>((times(0).enabled - before.enabled).count()), 1e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>((times(0).unmeasured - before.unmeasured).count()), 6e8, 0.1e9);
  EXPECT_LT(cycle_->cpu_groups()[0].totals()[0].value - counted.value, 50U) << "of 400 ms";
}

TEST_F(PollCyclePauseTest, AGroupThatStandsStillInItIsNotTakenForOneThatTheKernelDoesNotCount) {
  kernel_.answer("cpu0 cycles", counts(10s, {1000}));
  PollReport report = poll(true);
  for (int second = 0; second < 3; ++second) report.merge(poll(true));
  report.merge(poll(false));

  EXPECT_EQ(report.of_group("core").standstills, 0U);
  EXPECT_EQ(report.groups_opened, 0U);
}

TEST_F(PollCyclePauseTest, WhatIsOpenedMeanwhileIsStoppedToo) {
  (void)poll(true);
  (void)run(targets({}, {.online = {}, .pmus = {}, .places = {}}));
  ASSERT_TRUE(kernel_.open_groups().empty());

  (void)run(targets({}));

  EXPECT_FALSE(kernel_.runs("cpu0 cycles"));
  EXPECT_TRUE(kernel_.runs("cpu0 page-faults"));
}

TEST_F(PollCyclePauseTest, TheTimeOfACgroupThatIsOpenedMeanwhileIsUnmeasured) {
  plan_ = std::make_shared<CountingPlan>();
  plan_->cgroup = next_to_a_clock({{"core", {"instructions"}}});
  cycle_.emplace(source(0), plan_, 0);
  (void)poll(true);
  (void)reconcile(targets({{1, "/a", a_}}));
  kernel_.answer("cpu0 /a task-clock", counts(300ms, {300'000'000}));

  (void)run(targets({{1, "/a", nullptr}}));  // it was brief

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
  kernel_.answer("cpu0 cycles", kOffPmu);
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
    plan_->cgroup = next_to_a_clock({});
    pass_to(1000ms);
    (void)run(targets({{1, "/a", a_}}));
  }
  /// For so long it has been on the CPU.
  void pass_to(milliseconds time) { kernel_.answer("cpu0 /a task-clock", counts(time, {})); }
  void add_group(perf::GroupMode mode = {}) {
    auto next = std::make_shared<CountingPlan>(*plan_);
    next->cgroup = next_to_a_clock({{"core", {"instructions"}, mode}});
    plan_ = next;
    (void)cycle_->change(plan_);
    targets_ = targets({{1, "/a", a_}});
  }
  GroupTimes times() { return cycle_->cgroup_groups(0)[1].totals().times(); }

  std::shared_ptr<const TargetSet> targets_;
};

TEST_F(PollCycleAddedGroupTest, InAPauseHasNoTimeOfBefore) {
  cycle_->set_paused(true);
  pass_to(1300ms);
  add_group();

  const PollReport opened = run(targets_);
  EXPECT_EQ(times().enabled, 0ms);
  EXPECT_EQ(opened.now.open_events, 3U);  // with the one that shows whether the CPU was offline

  pass_to(1500ms);
  (void)run(targets_);
  EXPECT_EQ(times().enabled, 200ms);
}

TEST_F(PollCycleAddedGroupTest, BeforeAPauseHasNoTimeOfBeforeEither) {
  pass_to(1300ms);
  add_group();
  (void)reconcile(targets_);
  cycle_->set_paused(true);
  pass_to(1500ms);

  (void)run(targets_);

  EXPECT_EQ(times().enabled, 200ms);
}

TEST_F(PollCycleAddedGroupTest, WithoutItsPlaceFromTheStartHasNoTimeOfBeforeEither) {
  pass_to(1300ms);
  add_group({.pinned = true});
  (void)reconcile(targets_);
  kernel_.answer("cpu0 /a instructions", kOffPmu);
  pass_to(1500ms);
  (void)run(targets_);

  (void)run(targets({{1, "/a", nullptr}}));

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
    targets_ = targets({{1, "/a", a_}});
    (void)poll(0s);
  }
  PollReport poll(std::chrono::nanoseconds passed = 1s) {
    kernel_.pass(passed);
    return run(targets_);
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

  std::shared_ptr<const TargetSet> targets_;
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
  plan_->cgroup = next_to_a_clock({{"one", {"cycles"}}, {"two", {"instructions"}}});
  plan_->cgroup.groups[2].duty_cycle = DutyCycle{1ms, 60s, 0.5};  // off for the next half minute
  (void)poll();
  for (int second = 1; second <= 8; ++second) {
    const milliseconds time{1000 * second};
    kernel_.answer("cpu0 /a task-clock", counts(time, {1'000'000'000U * second}));
    kernel_.answer("cpu0 /a cycles", counts(time, {100U * second}));
    (void)poll();
    EXPECT_FALSE(kernel_.runs("cpu0 /a instructions"));
    EXPECT_TRUE(kernel_.runs("cpu0 /a cycles"));  // else they take turns
  }
}

TEST_F(PollCycleDutyTest, ItHasNoTurnInItsRest) {
  cycle_.reset();
  plan_->cgroup = next_to_a_clock({{"one", {"cycles"}}, {"two", {"instructions"}}});
  plan_->cgroup.groups[2].duty_cycle = DutyCycle{30s, 60s};
  (void)poll();
  while (!kernel_.runs("cpu0 /a instructions")) (void)poll();
  bool have_taken_turns = false;
  for (int second = 1; second <= 60; ++second) {  // the kernel starves the first one
    const milliseconds time{1000 * second};
    kernel_.answer("cpu0 /a task-clock", counts(time, {1'000'000'000U * second}));
    kernel_.answer("cpu0 /a cycles", counts(time, 0ms, {0}));
    kernel_.answer("cpu0 /a instructions", counts(time, {100U * second}));
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
  targets_ = targets({{1, "/a", a_}});
  const PollReport report = poll();

  EXPECT_EQ(report.groups_opened, 0U);
  EXPECT_EQ(polls_with("cpu0 cycles"), 6);
}

}  // namespace
}  // namespace pex::collect
