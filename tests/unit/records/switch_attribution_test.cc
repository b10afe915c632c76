#include "records/switch_attribution.h"

#include <cstdint>
#include <limits>
#include <ostream>

#include "support/slot_sums.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::IsEmpty;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t kBase = 0;
constexpr std::size_t kOther = 1;
constexpr std::uint64_t kWorker = 9;  // the cgroup of the thread that drains

/// Attribution of one CPU, on which each cgroup is a target.
class AttributedCpu {
 public:
  AttributedCpu() {
    attribution.add_group(kBase, 1, true);
    attribution.add_group(kOther, 1, false);
    for (const std::uint64_t id : kIds) {
      for (const std::size_t group : {kBase, kOther}) {
        (void)slots_.open(id, "/" + std::to_string(id), group);
      }
    }
  }

  test::SlotSums::Sum read(std::uint64_t id, std::size_t group = kBase) {
    return slots_.read(slots_.slot_of(id), group);
  }
  nanoseconds enabled(std::uint64_t id) { return read(id).enabled; }
  std::uint64_t count(std::uint64_t id, std::size_t group = kBase) {
    return read(id, group).counts[0];
  }
  nanoseconds enabled_of_all() {
    nanoseconds all{};
    for (const std::uint64_t id : kIds) all += enabled(id);
    return all;
  }
  /// Since the last call.
  nanoseconds lost(std::uint64_t id) {
    (void)read(id);
    return slots_.lost() - std::exchange(lost_[id], slots_.lost());
  }

  static constexpr std::array<std::uint64_t, 4> kIds = {1, 2, 3, kWorker};

 private:
  CgroupSums sums_;
  test::SlotSums slots_{sums_};
  std::map<std::uint64_t, nanoseconds> lost_;

 public:
  SwitchAttribution attribution{sums_};
};

/// A group in the kernel.
struct GroupTotalsOfKernel {
  nanoseconds enabled{};
  nanoseconds running{};
  std::uint64_t switches = 0;
  std::uint64_t moves = 0;  ///< of tasks to another cgroup
  Words counts = {0};

  void pass(nanoseconds time, std::uint64_t count, bool is_on_pmu = true) {
    enabled += time;
    if (!is_on_pmu) return;
    running += time;
    counts[0] += count;
  }
  perf::SwitchRecord values(std::size_t group, std::uint64_t cgroup) const {
    return {group, cgroup, enabled, running, {switches, moves}, counts};
  }
};

class SwitchAttributionTest : public testing::Test, protected AttributedCpu {
 protected:
  /// The base counts, and at its end the cgroup leaves the CPU.
  void run(std::uint64_t cgroup, nanoseconds time, std::uint64_t count) {
    base_.pass(time, count);
    leave(cgroup);
  }
  void leave(std::uint64_t cgroup) {
    ++base_.switches;
    attribution.record(base_.values(kBase, cgroup));
  }
  void leave_other(std::uint64_t cgroup) {
    ++other_.switches;
    attribution.record(other_.values(kOther, cgroup));
  }
  /// The same as run(), and no record of it is found.
  void run_without_record(nanoseconds time, std::uint64_t count) {
    base_.pass(time, count);
    ++base_.switches;
  }

  GroupTotalsOfKernel base_;
  GroupTotalsOfKernel other_;
};

// --- whole intervals ----------------------------------------------------------------------------

TEST_F(SwitchAttributionTest, TheDifferenceBetweenTwoRecordsIsWhatTheCgroupDidThatLeft) {
  run(1, 10ms, 100);
  run(2, 20ms, 200);
  run(1, 1ms, 5);

  EXPECT_EQ(count(1), 105U);
  EXPECT_EQ(count(2), 200U);
  EXPECT_EQ(enabled(1), 11ms);
  EXPECT_EQ(read(1).running, 11ms);
  EXPECT_EQ(attribution.statistics(),
            (SwitchAttribution::Statistics{.records = 3, .root_time = 11ms, .time = 31ms}));
}

TEST_F(SwitchAttributionTest, TheTimeEnabledOfAllGroupsIsThatOfTheBase) {
  run(1, 10ms, 0);
  other_.pass(10ms - 100ns, 7);
  leave_other(1);

  EXPECT_EQ(read(1, kOther).enabled, 10ms);
  EXPECT_EQ(read(1, kOther).running, 10ms - 100ns);
  EXPECT_EQ(count(1, kOther), 7U);
}

TEST_F(SwitchAttributionTest, AShortTimeOffThePmuIsThatOfTheSwitch) {
  base_.enabled = 20us;
  leave(1);
  base_.pass(980ms, 3);
  base_.enabled += 20ms;
  leave(2);

  EXPECT_EQ(enabled(1), 20us);
  EXPECT_EQ(enabled(2), 1s);
  EXPECT_EQ(count(2), 3U);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

TEST_F(SwitchAttributionTest, AfterALongerTimeOffThePmuTheNextRecordOfTheBaseDecides) {
  run(1, 1ms, 10);
  other_.pass(1ms, 10);
  other_.enabled += SwitchAttribution::kMaxOffPmu + 1us;
  leave_other(1);

  EXPECT_EQ(enabled(1), 1ms);
  EXPECT_EQ(count(1), 10U);
  EXPECT_EQ(read(1, kOther).running, 0ns);
  EXPECT_EQ(count(1, kOther), 0U);

  run(2, 1ms, 1);
  EXPECT_EQ(read(1, kOther).running, 1ms);
  EXPECT_EQ(count(1, kOther), 10U);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

/// In the same order as the kernel has the groups, which changes when it starts one again.
class IntervalOffThePmuTest : public SwitchAttributionTest {
 protected:
  /// Whether the base was first before the interval, and is at its end.
  static constexpr std::pair<bool, bool> kOrders[] = {
      {true, true}, {false, true}, {true, false}, {false, false}};

  void pass(nanoseconds time, bool is_on_pmu = true) {
    base_.pass(time, 1);
    other_.pass(time, 1, is_on_pmu);
  }
  void run_both(std::uint64_t cgroup, bool is_base_first) {
    pass(1ms);
    leave_both(cgroup, is_base_first);
  }
  void leave_both(std::uint64_t cgroup, bool is_base_first) {
    if (is_base_first) leave(cgroup);
    leave_other(cgroup);
    if (!is_base_first) leave(cgroup);
  }
};

TEST_F(IntervalOffThePmuTest, IsWholeHoweverLongItIsIfTheBaseHadNoOtherSwitch) {
  for (const auto& [was_base_first, is_base_first] : kOrders) {
    SCOPED_TRACE(testing::Message() << was_base_first << is_base_first);
    const test::SlotSums::Sum before = read(2, kOther);
    run_both(1, was_base_first);
    pass(100ms);
    pass(300ms, false);
    pass(50ms);
    leave_both(2, is_base_first);
    run_both(3, is_base_first);
    const test::SlotSums::Sum after = read(2, kOther);
    EXPECT_EQ(after.counts[0] - before.counts[0], 2U);
    EXPECT_EQ(after.running - before.running, 150ms);
    EXPECT_EQ(after.enabled - before.enabled, 450ms);
  }
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

TEST_F(IntervalOffThePmuTest, CountsForNobodyIfTheBaseHadASwitchMeanwhile) {
  for (const auto& [was_base_first, is_base_first] : kOrders) {
    SCOPED_TRACE(testing::Message() << was_base_first << is_base_first);
    run_both(3, was_base_first);
    const std::uint64_t before = attribution.statistics().dropped;
    pass(200ms);
    pass(2ms, false);
    leave(1);
    pass(2ms, false);
    pass(2ms);
    leave_both(2, is_base_first);
    run_both(4, is_base_first);
    EXPECT_EQ(count(2, kOther), 0U);
    EXPECT_EQ(attribution.statistics().dropped - before, 1U);
    EXPECT_EQ(attribution.statistics().skipped, 0U);
  }
}

TEST_F(IntervalOffThePmuTest, CountsForNobodyIfTheBaseLeftOutARecordOfASwitch) {
  run_both(1, false);
  pass(100ms);
  pass(2ms, false);
  ++base_.switches;  // to 2, without a record
  pass(2ms);
  leave_both(3, true);
  run_both(1, true);

  EXPECT_EQ(count(3, kOther), 0U);
  EXPECT_EQ(count(1, kOther), 2U);
  EXPECT_EQ(attribution.statistics().dropped, 2U) << "one of the base";
}

TEST_F(IntervalOffThePmuTest, IsDecidedByAReadingOfTheBaseThatShowsNoFurtherSwitch) {
  run_both(1, true);
  pass(400ms);
  pass(300ms, false);
  leave_both(2, true);
  pass(1ms);
  EXPECT_EQ(count(2, kOther), 0U);

  attribution.reading(base_.values(kBase, kWorker));

  EXPECT_EQ(count(2, kOther), 1U);
  EXPECT_EQ(read(2, kOther).running, 400ms);
  attribution.reading(other_.values(kOther, kWorker));
  leave_both(kWorker, true);
  EXPECT_EQ(count(kWorker, kOther), 1U);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

TEST_F(IntervalOffThePmuTest, IsNotDecidedByAReadingOfTheBaseThatShowsOne) {
  run_both(1, true);
  pass(400ms);
  pass(300ms, false);
  leave_both(2, true);
  ++base_.switches;  // without a record

  attribution.reading(base_.values(kBase, kWorker));

  EXPECT_EQ(count(2, kOther), 0U);
}

TEST_F(IntervalOffThePmuTest, CountsForNobodyIfTheSameCgroupLeftTwice) {
  run_both(1, true);
  pass(100ms);
  pass(2ms, false);
  leave_both(2, true);
  leave(2);

  EXPECT_EQ(count(2, kOther), 0U) << "as after context switches within a cgroup";
}

TEST_F(IntervalOffThePmuTest, CountsForNobodyIfItSpansThreeSwitches) {
  pass(200ms);
  pass(1ms, false);
  leave(1);
  pass(1ms, false);
  leave(2);
  pass(2ms, false);
  pass(2ms);
  leave(3);
  leave_other(3);
  run_both(1, true);

  EXPECT_EQ(count(3, kOther), 0U);
  EXPECT_EQ(attribution.statistics().dropped, 1U);
}

TEST_F(IntervalOffThePmuTest, OfAReadingCountsForNobodyIfTheBaseHadASwitchMeanwhile) {
  pass(1ms);
  leave_other(3);
  leave(3);
  pass(200ms);
  pass(2ms, false);
  leave(1);
  pass(1ms, false);
  attribution.reading(other_.values(kOther, kWorker));

  EXPECT_EQ(count(kWorker, kOther), 0U);

  pass(100ms);
  leave(kWorker);
  leave_other(kWorker);
  pass(100ms);
  pass(1ms, false);
  attribution.reading(other_.values(kOther, 2));
  EXPECT_EQ(count(2, kOther), 1U) << "no switch";
}

/// A group that is stopped and started while the thread that drains has the CPU.
class StoppedGroupTest : public IntervalOffThePmuTest {
 protected:
  StoppedGroupTest() {
    run_both(1, true);
    pass(1ms);
    attribution.reading(base_.values(kBase, kWorker));
    attribution.reading(other_.values(kOther, kWorker));
  }
  void pass_without_it(nanoseconds time) { base_.pass(time, 1); }
  void resume() {
    attribution.reading(base_.values(kBase, kWorker));
    attribution.resume(kOther);
  }
};

TEST_F(StoppedGroupTest, LosesNothingAndCountsNothingMeanwhile) {
  pass_without_it(1ms);
  leave(kWorker);
  pass_without_it(5ms);
  leave(2);
  pass_without_it(1ms);
  resume();
  pass(2ms);
  leave_both(kWorker, true);
  pass(3ms);
  leave_both(3, false);

  EXPECT_EQ(count(1, kOther), 1U);
  EXPECT_EQ(count(2, kOther), 0U);
  EXPECT_EQ(read(2, kOther).running, 0ms);
  EXPECT_EQ(read(2, kOther).enabled, 5ms);
  EXPECT_EQ(count(kWorker, kOther), 2U);
  EXPECT_EQ(read(kWorker, kOther).running, 3ms);
  EXPECT_EQ(read(kWorker, kOther).enabled, 5ms);
  EXPECT_EQ(count(3, kOther), 1U);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
  EXPECT_EQ(attribution.statistics().skipped, 0U);
}

TEST_F(StoppedGroupTest, ThatIsKeptOffThePmuAtTheStartCountsForTheOneThatStartedIt) {
  leave(kWorker);
  pass_without_it(5ms);
  leave(2);
  resume();
  pass(1ms, false);
  pass(2ms);
  leave_both(kWorker, true);
  run_both(3, true);

  EXPECT_EQ(count(kWorker, kOther), 2U);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

TEST_F(StoppedGroupTest, ThatWasKeptOffThePmuUntilASwitchOfTheBaseCountsForNobody) {
  leave(kWorker);
  pass_without_it(5ms);
  leave(2);
  resume();
  pass(1ms, false);
  leave(kWorker);
  pass(1ms, false);
  run_both(3, true);
  run_both(1, true);

  EXPECT_EQ(count(3, kOther), 0U);
  EXPECT_EQ(count(1, kOther), 2U);
  EXPECT_EQ(attribution.statistics().dropped, 1U);
}

// --- intervals that are not whole ---------------------------------------------------------------

TEST_F(SwitchAttributionTest, AnIntervalWithALostRecordIsNobodysAndMayBeAnyCgroups) {
  run(1, 30ms, 1);
  run(2, 10ms, 10);
  run_without_record(30ms, 100);
  attribution.loss(1);
  run(2, 10ms, 1000);
  run(1, 10ms, 10'000);

  const SwitchAttribution::Statistics poll = attribution.end_poll({});

  EXPECT_EQ(count(1), 10'001U);
  EXPECT_EQ(count(2), 10U);
  for (const auto& [id, ran] : {std::pair{1, 40ms}, {2, 10ms}, {3, 0ms}}) {
    const auto of = static_cast<std::uint64_t>(id);
    EXPECT_EQ(enabled(of), ran) << id;
    EXPECT_EQ(read(of).running, ran) << id;
    EXPECT_EQ(lost(of), 40ms) << id;
    EXPECT_EQ(lost(of), 0ms) << id << ": twice";
  }
  EXPECT_EQ(poll, (SwitchAttribution::Statistics{.records = 4,
                                                 .lost = 1,
                                                 .dropped = 1,
                                                 .dropped_time = 40ms,
                                                 .lost_time = 40ms,
                                                 .root_time = 40ms,
                                                 .time = 90ms}));
}

TEST_F(SwitchAttributionTest, AnIntervalWithASkippedRecordIsNobodysHoweverLongItIs) {
  for (const nanoseconds idle : {2ms, 900ms}) {
    run(1, 3ms, 1);
    run_without_record(idle, 100);
    run(2, 1ms, 1000);
    run(1, 3ms, 1);

    EXPECT_TRUE(attribution.end_poll({}).are_complete);
    EXPECT_EQ(lost(1), idle + 1ms);
    EXPECT_EQ(count(2), 0U);
  }
  EXPECT_EQ(enabled(1), 12ms);
  EXPECT_EQ(enabled(2), 0ms);
  EXPECT_EQ(attribution.statistics().skipped, 2U);
  EXPECT_EQ(attribution.statistics().lost, 0U);
}

TEST_F(SwitchAttributionTest, RecordsAreIncompleteOnceOneOfAHundredIsSkippedInALargeSample) {
  for (const auto& [one_of, may_be] :
       {std::pair{172, true}, {120, true}, {80, false}, {2, false}}) {
    AttributedCpu cpu;
    GroupTotalsOfKernel kernel;
    bool are_complete = true;
    for (int record = 0; record < 5000; ++record) {
      kernel.pass(1ms, 1);
      kernel.switches += record % one_of == 0 ? 2 : 1;
      cpu.attribution.record(kernel.values(kBase, 1));
      if (record % 10 == 0)
        are_complete = cpu.attribution.end_poll({}).are_complete && are_complete;
    }

    EXPECT_EQ(are_complete, may_be) << "1 of " << one_of;
  }
}

TEST_F(SwitchAttributionTest, WhatWasCountedSinceTheLastRecordIsLostWhenTheRecordingEnds) {
  run(1, 3ms, 1);
  base_.pass(2ms, 10);

  attribution.end(base_.values(kBase, 0));
  attribution.end(base_.values(kBase, 0));

  EXPECT_EQ(lost(1), 2ms);
  EXPECT_EQ(count(1), 1U);
}

TEST_F(SwitchAttributionTest, ALossConcernsTheCurrentIntervalOfEachGroup) {
  run(1, 1ms, 1);
  attribution.loss(1);
  other_.pass(1ms, 10);
  leave_other(1);
  run(2, 1ms, 1);
  run(2, 1ms, 1);
  other_.pass(1ms, 10);
  leave_other(2);

  EXPECT_EQ(count(1, kOther), 0U);
  EXPECT_EQ(count(2, kOther), 10U);
  EXPECT_EQ(count(2), 1U);
}

TEST_F(SwitchAttributionTest, ALeaderThatStandsStillHasSkippedToo) {
  run(1, 1ms, 1);
  base_.pass(1ms, 10);
  attribution.record(base_.values(kBase, 2));

  EXPECT_EQ(count(2), 0U);
  EXPECT_EQ(attribution.statistics().skipped, 1U);
}

TEST_F(SwitchAttributionTest, ATotalThatFallsIsNotCountedAndCountingGoesOnFromThere) {
  run(1, 10ms, 100);
  base_.counts[0] = 50;
  run(1, 1ms, 0);
  run(1, 1ms, 7);

  EXPECT_EQ(count(1), 107U);
  EXPECT_EQ(attribution.statistics().dropped, 1U);
  EXPECT_EQ(attribution.statistics().skipped, 0U);
}

TEST_F(SwitchAttributionTest, AGroupThatWasOpenedAgainCountsFromZero) {
  run(1, 10ms, 100);

  attribution.add_group(kBase, 1, true);
  base_ = {};
  run(1, 1ms, 7);

  EXPECT_EQ(count(1), 107U);
  EXPECT_EQ(enabled(1), 11ms);
  EXPECT_EQ(attribution.statistics().dropped, 0U);
}

TEST_F(SwitchAttributionTest, RecordsOfUnknownGroupsAndSizesAreIgnored) {
  const Words two = {1, 2};
  attribution.record(base_.values(7, 1));
  attribution.record({kBase, 1, 1ms, 1ms, {1, 0}, two});
  attribution.remove_group(kOther);
  attribution.record(base_.values(kOther, 1));
  attribution.reading(base_.values(kOther, 1));

  EXPECT_EQ(attribution.statistics(), SwitchAttribution::Statistics{});
  EXPECT_EQ(enabled(1), 0ns);
  EXPECT_THAT(read(1, kOther).counts, IsEmpty());
}

// --- readings -----------------------------------------------------------------------------------

TEST_F(SwitchAttributionTest, AReadingThatARecordFollowedIsNotUsed) {
  base_.pass(2ms, 10);
  const GroupTotalsOfKernel at_reading = base_;
  run(kWorker, 1ms, 100);

  attribution.reading(at_reading.values(kBase, kWorker));
  run(1, 1ms, 1);

  EXPECT_EQ(count(kWorker), 110U);
  EXPECT_EQ(count(1), 1U);
}

TEST_F(SwitchAttributionTest, AReadingAfterALossWaitsForTheNextRecord) {
  run(1, 1ms, 1);
  attribution.loss(1);
  base_.pass(2ms, 10);
  attribution.reading(base_.values(kBase, kWorker));
  run(kWorker, 1ms, 100);
  (void)attribution.end_poll({});

  EXPECT_EQ(count(kWorker), 0U);
  EXPECT_EQ(enabled_of_all(), 1ms);
  EXPECT_EQ(attribution.statistics().lost_time, 3ms);
}

TEST_F(SwitchAttributionTest, AReadingOfAGroupThatWasOffThePmuEndsAnIntervalThatCountsForNobody) {
  other_.pass(1ms, 5);
  other_.pass(1ms, 0, false);  // meanwhile its leader may have missed switches
  attribution.reading(other_.values(kOther, kWorker));
  other_.pass(1ms, 7);
  leave_other(kWorker);

  EXPECT_EQ(count(kWorker, kOther), 7U);
}

// --- moves of tasks ----------------------------------------------------------------------------

/// Whose base notes moves.
class MovedTaskTest : public IntervalOffThePmuTest {
 protected:
  /// The current task has moved itself, and is in this cgroup now.
  void move_to(std::uint64_t cgroup) {
    ++base_.moves;
    attribution.record(base_.values(kBase, cgroup));
  }
};

TEST_F(MovedTaskTest, WhatWasCountedUpToTheMoveIsNobodysAndTheRestIsTheNewCgroups) {
  run(1, 1ms, 7);
  base_.pass(5ms, 500);
  move_to(2);
  run(2, 2ms, 20);
  run(3, 1ms, 3);

  EXPECT_EQ(count(1), 7U);
  EXPECT_EQ(count(2), 20U);
  EXPECT_EQ(count(3), 3U);
  EXPECT_EQ(enabled(2), 2ms);
  EXPECT_EQ(read(2).running, 2ms);
  for (const std::uint64_t id : kIds) EXPECT_EQ(lost(id), 5ms) << id;
  EXPECT_EQ(enabled_of_all() + 5ms, base_.enabled);
  EXPECT_EQ(attribution.statistics(), (SwitchAttribution::Statistics{.records = 4,
                                                                     .dropped = 1,
                                                                     .dropped_time = 5ms,
                                                                     .lost_time = 5ms,
                                                                     .moved_time = 5ms,
                                                                     .root_time = 1ms,
                                                                     .time = 9ms}));
}

TEST_F(MovedTaskTest, BetweenTwoMovesWithoutASwitchTheCgroupOfTheFirstRuns) {
  run(1, 1ms, 7);
  for (const std::uint64_t cgroup : {2, 3, 2}) {
    base_.pass(1ms, 100);
    move_to(cgroup);
  }
  run(2, 1ms, 20);
  base_.pass(1ms, 1000);
  move_to(3);

  EXPECT_EQ(count(2), 120U);
  EXPECT_EQ(count(3), 100U);
  EXPECT_EQ(lost(2), 2ms) << "before the first move after a switch";
}

TEST_F(MovedTaskTest, HoweverManyMovesThereAreNoRecordIsMissing) {
  bool are_complete = true;
  for (int move = 0; move < 5000; ++move) {
    base_.pass(1ms, 1);
    move_to(2);
    run(2, 1ms, 1);
    if (move % 10 == 0) are_complete = attribution.end_poll({}).are_complete && are_complete;
  }

  EXPECT_TRUE(are_complete);
  EXPECT_EQ(attribution.statistics().skipped, 0U);
  EXPECT_EQ(count(2), 5000U);
}

TEST_F(MovedTaskTest, AnIntervalInWhichTheRecordOfTheMoveIsMissingIsNobodys) {
  for (const bool is_reported : {false, true}) {
    run(1, 1ms, 0);
    base_.pass(5ms, 500);
    ++base_.moves;
    if (is_reported) attribution.loss(1);
    run(2, 2ms, 20);
    run(3, 1ms, 1);

    EXPECT_EQ(count(2), 0U);
    EXPECT_EQ(lost(2), 7ms);
    EXPECT_EQ(attribution.statistics().skipped, 1U) << "that of the loss that is not reported";
    EXPECT_EQ(attribution.statistics().moved_time, 0ms);
  }
  EXPECT_EQ(count(3), 2U);
}

TEST_F(MovedTaskTest, ALossBeforeAMoveIsNotTakenForTimeOfMoves) {
  run(1, 1ms, 0);
  attribution.loss(1);
  base_.pass(5ms, 500);
  move_to(2);
  run(2, 1ms, 20);

  EXPECT_EQ(count(2), 20U);
  EXPECT_EQ(attribution.statistics().lost_time, 5ms);
  EXPECT_EQ(attribution.statistics().moved_time, 0ms);
}

TEST_F(MovedTaskTest, TheIntervalOfAnotherGroupIsNotWhole) {
  for (const bool is_base_first : {true, false}) {
    SCOPED_TRACE(is_base_first);
    const std::uint64_t dropped = attribution.imperfect(kOther);
    const std::uint64_t before = count(3, kOther);
    run_both(1, is_base_first);
    pass(1ms);
    move_to(2);
    run_both(2, is_base_first);
    run_both(3, is_base_first);

    EXPECT_EQ(count(2, kOther), 0U);
    EXPECT_EQ(count(3, kOther), before + 1);
    EXPECT_EQ(attribution.imperfect(kOther), dropped + 1);
  }
  EXPECT_EQ(count(2), 2U) << "of the base it is";
}

TEST_F(MovedTaskTest, TheIntervalOfAGroupThatIsOffThePmuMeanwhileIsNotWhole) {
  run_both(1, true);
  pass(1ms);
  pass(2ms, false);
  move_to(2);
  pass(2ms, false);
  run_both(2, true);
  run_both(3, true);

  EXPECT_EQ(count(2, kOther), 0U);
  EXPECT_EQ(count(3, kOther), 1U);
}

TEST_F(MovedTaskTest, AnIntervalOffThePmuThatEndedBeforeTheMoveIsDecidedByIt) {
  run_both(1, true);
  pass(1ms);
  pass(2ms, false);
  leave_both(2, true);
  EXPECT_EQ(count(2, kOther), 0U);
  pass(1ms);

  move_to(3);

  EXPECT_EQ(count(2, kOther), 1U);
  EXPECT_EQ(read(2, kOther).running, 1ms);
}

TEST_F(MovedTaskTest, IntervalsOffThePmuAreCountedAgainWhenTheSameCgroupLeavesTwiceInARow) {
  for (const bool is_base_first : {true, false}) {
    SCOPED_TRACE(is_base_first);
    const std::uint64_t before = count(2, kOther);
    run_both(1, is_base_first);
    pass(1ms);
    move_to(1);
    run_both(1, is_base_first);
    pass(1ms);
    pass(2ms, false);
    run_both(2, is_base_first);
    run_both(3, is_base_first);

    EXPECT_EQ(count(2, kOther), before + 2);
  }
}

TEST_F(MovedTaskTest, AReadingAfterAMoveThatHasNoRecordYetIsNobodys) {
  run(1, 1ms, 1);
  base_.pass(2ms, 10);
  ++base_.moves;
  attribution.reading(base_.values(kBase, kWorker));

  EXPECT_EQ(count(kWorker), 0U);
  EXPECT_EQ(enabled_of_all(), 1ms);
}

/// All positions and lengths of a loss in a row of records, each attributed from the start.
TEST(SwitchAttributionLossTest, CostsTheIntervalsThatItTouchesWhereverItIs) {
  constexpr std::size_t kRecords = 8;
  const auto cgroup = [](std::size_t at) { return AttributedCpu::kIds[at % 3]; };
  for (std::size_t first = 0; first < kRecords; ++first) {
    for (std::size_t lost = 1; first + lost < kRecords; ++lost) {
      AttributedCpu cpu;
      GroupTotalsOfKernel kernel;
      std::map<std::uint64_t, std::uint64_t> expected;
      for (std::size_t at = 0; at < kRecords; ++at) {
        kernel.pass(1ms, std::uint64_t{1} << at);
        ++kernel.switches;
        if (at == first + lost) cpu.attribution.loss(lost);
        if (at >= first && at < first + lost) continue;
        if (at != first + lost) expected[cgroup(at)] += std::uint64_t{1} << at;
        cpu.attribution.record(kernel.values(kBase, cgroup(at)));
      }
      (void)cpu.attribution.end_poll({});

      for (std::size_t at = 0; at < 3; ++at) {
        EXPECT_EQ(cpu.count(cgroup(at)), expected[cgroup(at)])
            << lost << " records lost from " << first << " on";
      }
      EXPECT_EQ(cpu.enabled_of_all() + cpu.lost(1), kRecords * 1ms);
      EXPECT_EQ(cpu.attribution.statistics().dropped, 1U);
      EXPECT_EQ(cpu.attribution.statistics().skipped, 0U);
    }
  }
}

// --- against what really happened ---------------------------------------------------------------

/// A cgroup runs, and leaves the CPU.
struct CpuStep {
  std::size_t cgroup = 0;  ///< of kIds
  std::int64_t time = 0;   ///< us
  std::uint64_t count = 0;
  bool is_base_recorded = true;
  bool is_other_recorded = true;
  bool is_loss_reported = true;  ///< of what is not recorded
  bool loses_pmu = false;        ///< the other group, halfway, or it has it again
  bool polls = false;            ///< the worker runs instead, and reads
  bool moves = false;            ///< the task moves itself to the next cgroup halfway
  bool is_move_recorded = true;  ///< else it is reported as lost
};

std::ostream& operator<<(std::ostream& out, const CpuStep& step) {
  out << AttributedCpu::kIds[step.cgroup] << " for " << step.time << " us, " << step.count;
  if (!step.is_base_recorded) out << ", no record of the base";
  if (!step.is_other_recorded) out << ", no record of the other";
  if (step.is_loss_reported) out << ", reported";
  if (step.loses_pmu) out << ", loses the PMU";
  if (step.moves) out << ", moves" << (step.is_move_recorded ? "" : " without a record");
  if (step.polls) out << ", polls";
  return out;
}

enum class Faults { kNone, kReported, kAny };

rc::Gen<std::vector<CpuStep>> any_cpu_steps(Faults faults) {
  const auto seldom = [](bool is_possible) {
    return rc::gen::map(rc::gen::inRange(0, 8),
                        [is_possible](int draw) { return is_possible && draw == 0; });
  };
  const auto mostly = [&](bool may_fail) {
    return rc::gen::map(seldom(may_fail), [](bool fails) { return !fails; });
  };
  const bool any = faults != Faults::kNone;
  const auto step = rc::gen::construct<CpuStep>(
      rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange<std::int64_t>(2000, 9000),
      rc::gen::inRange<std::uint64_t>(0, 1000), mostly(any), mostly(any),
      mostly(faults == Faults::kAny), seldom(any), seldom(true), seldom(any), mostly(any));
  return rc::gen::scale(2, rc::gen::container<std::vector<CpuStep>>(step));
}

/// That no sum is smaller than at the check before.
class NoFalls {
 public:
  void check(AttributedCpu& cpu) {
    for (const std::uint64_t id : AttributedCpu::kIds) {
      for (const std::size_t group : {kBase, kOther}) {
        const test::SlotSums::Sum now = cpu.read(id, group);
        test::SlotSums::Sum& before = before_[{id, group}];
        before.counts.resize(1);
        RC_ASSERT(now.counts[0] >= before.counts[0]);
        RC_ASSERT(now.enabled >= before.enabled);
        RC_ASSERT(now.running >= before.running);
        before = now;
      }
    }
  }

 private:
  std::map<std::pair<std::uint64_t, std::size_t>, test::SlotSums::Sum> before_;
};

/// A CPU with both groups in a ring that loses records, and what really happened on it. While the
/// other group is off the PMU, its leader counts nothing and writes nothing.
class SimulatedCpu {
 public:
  struct Truth {
    nanoseconds time{};
    std::uint64_t count = 0;
  };

  void take(const CpuStep& step) {
    std::uint64_t id = step.polls ? kWorker : AttributedCpu::kIds[step.cgroup];
    const nanoseconds half = std::chrono::microseconds{step.time} / 2;
    pass(id, half, step.count);
    if (step.loses_pmu) is_other_on_ = !is_other_on_;
    if (step.polls) poll();
    if (step.moves && !step.polls) {
      id = AttributedCpu::kIds[(step.cgroup + 1) % 3];
      ++base_.moves;
      write(kBase, base_, id, step.is_move_recorded, true);
    }
    pass(id, half, step.count / 2);
    leave(id, step);
  }

  void check_bounds() {
    nanoseconds enabled{};
    for (const std::uint64_t id : AttributedCpu::kIds) {
      enabled += cpu.enabled(id);
      for (const std::size_t group : {kBase, kOther}) {
        const test::SlotSums::Sum reading = cpu.read(id, group);
        RC_ASSERT(reading.counts[0] <= truth[id].count);
        RC_ASSERT(reading.running <= truth[id].time);
      }
    }
    falls_.check(cpu);
    RC_ASSERT(enabled + cpu.attribution.statistics().lost_time == attributed_up_to_);
  }

  void end() {
    take({.cgroup = 0, .time = 2000, .count = 1});
    attributed_up_to_ = base_.enabled;
    (void)cpu.attribution.end_poll({});
  }

  AttributedCpu cpu;
  std::map<std::uint64_t, Truth> truth;

 private:
  void pass(std::uint64_t id, nanoseconds time, std::uint64_t count) {
    base_.pass(time, count);
    other_.pass(time, count, is_other_on_);
    truth[id].time += time;
    truth[id].count += count;
  }

  void leave(std::uint64_t id, const CpuStep& step) {
    ++base_.switches;
    write(kBase, base_, id, step.is_base_recorded, step.is_loss_reported);
    if (!is_other_on_) return;
    ++other_.switches;
    write(kOther, other_, id, step.is_other_recorded, step.is_loss_reported);
  }

  /// A loss is reported before the next record, of whatever group.
  void write(std::size_t group, const GroupTotalsOfKernel& totals, std::uint64_t id,
             bool is_recorded, bool is_loss_reported) {
    if (!is_recorded) {
      lost_ += is_loss_reported ? 1 : 0;
      return;
    }
    if (lost_ > 0) {
      cpu.attribution.loss(std::exchange(lost_, 0));
      has_base_loss_ = true;
    }
    cpu.attribution.record(totals.values(group, id));
    if (group != kBase) return;
    recorded_ = totals.switches + totals.moves;
    recorded_until_ = totals.enabled;
    has_base_loss_ = false;
  }

  void poll() {
    cpu.attribution.reading(base_.values(kBase, kWorker));
    cpu.attribution.reading(other_.values(kOther, kWorker));
    const bool is_recorded = recorded_ == base_.switches + base_.moves;
    if (is_recorded && !has_base_loss_) recorded_until_ = base_.enabled;
    (void)cpu.attribution.end_poll({});
    attributed_up_to_ = recorded_until_;
    check_bounds();
  }

  GroupTotalsOfKernel base_;
  GroupTotalsOfKernel other_;
  bool is_other_on_ = true;
  std::uint64_t lost_ = 0;
  bool has_base_loss_ = false;    ///< reported since the last record of the base
  std::uint64_t recorded_ = 0;    ///< switches and moves of the base
  nanoseconds recorded_until_{};  ///< and its time, or that of a reading
  nanoseconds attributed_up_to_{};
  NoFalls falls_;
};

RC_GTEST_PROP(SwitchAttributionPropertyTest, IsExactWhileNothingIsLost, ()) {
  SimulatedCpu simulated;

  for (const CpuStep& step : *any_cpu_steps(Faults::kNone)) simulated.take(step);
  simulated.end();

  simulated.check_bounds();
  for (const std::uint64_t id : AttributedCpu::kIds) {
    for (const std::size_t group : {kBase, kOther}) {
      const test::SlotSums::Sum reading = simulated.cpu.read(id, group);
      RC_ASSERT(reading.counts[0] == simulated.truth[id].count);
      RC_ASSERT(reading.enabled == simulated.truth[id].time);
      RC_ASSERT(reading.running == simulated.truth[id].time);
    }
  }
  RC_ASSERT(simulated.cpu.attribution.statistics().dropped == 0U);
}

RC_GTEST_PROP(SwitchAttributionPropertyTest, NothingIsCountedToAnotherCgroupAndNoTimeDisappears,
              ()) {
  SimulatedCpu simulated;

  for (const CpuStep& step : *any_cpu_steps(Faults::kAny)) simulated.take(step);
  simulated.end();

  simulated.check_bounds();
}

RC_GTEST_PROP(SwitchAttributionPropertyTest, NothingIsSkippedIfEachLossIsReported, ()) {
  SimulatedCpu simulated;

  for (const CpuStep& step : *any_cpu_steps(Faults::kReported)) simulated.take(step);
  simulated.end();

  RC_ASSERT(simulated.cpu.attribution.statistics().skipped == 0U);
}

/// A total of the kernel, out of the whole range, with its corners more often.
rc::Gen<std::uint64_t> any_total_of_kernel() {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  return rc::gen::oneOf(rc::gen::element<std::uint64_t>(0, 1, kHalf - 1, kHalf, kEnd),
                        rc::gen::inRange<std::uint64_t>(0, 1000),
                        rc::gen::arbitrary<std::uint64_t>());
}

// No undefined arithmetic either: the sanitizers look.
RC_GTEST_PROP(SwitchAttributionPropertyTest, NothingFallsForAnyInput, ()) {
  AttributedCpu cpu;
  NoFalls falls;
  const auto steps = *rc::gen::container<std::vector<std::array<std::uint64_t, 5>>>(
      rc::gen::container<std::array<std::uint64_t, 5>>(any_total_of_kernel()));
  for (const auto& [choice, enabled, running, switches, count] : steps) {
    const Words counts = {count};
    const perf::SwitchRecord values{
        choice % 5 == 0 ? kOther : kBase,
        choice % 4,
        nanoseconds{static_cast<std::int64_t>(enabled)},
        nanoseconds{static_cast<std::int64_t>(running)},
        {choice % 3 == 0 ? switches : choice, choice % 5 == 1 ? count : 0},
        counts};
    if (choice % 7 == 0) cpu.attribution.loss(switches);
    if (choice % 2 == 0) cpu.attribution.record(values);
    if (choice % 2 != 0) cpu.attribution.reading(values);
    if (choice % 11 == 0) (void)cpu.attribution.end_poll({});
    falls.check(cpu);
  }
}

}  // namespace
}  // namespace pex::collect
