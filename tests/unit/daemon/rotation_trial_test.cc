#include "daemon/doctor/rotation_trial.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "events/event_table.h"
#include "support/scripted_kernel.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using Kind = test::ScriptedKernel::Answer::Kind;
using Groups = std::vector<RotationTimes>;

constexpr auto kSlot = 4ms;
constexpr auto kLength = 300ms;

TEST(RunningTimesTest, AreRightWhereTimesAndClocksAgree) {
  EXPECT_EQ(judge(Groups{{300ms, 101ms, 100ms}, {300ms, 99ms, 100ms}, {300ms, 100ms, 100ms}}, kSlot,
                  kLength),
            RunningTimes::kRight);
}

TEST(RunningTimesTest, AreWrongWhereOneGroupHasTheTimeOfAnother) {
  EXPECT_EQ(judge(Groups{{300ms, 163ms, 100ms}, {300ms, 137ms, 100ms}, {300ms, 0ms, 100ms}}, kSlot,
                  kLength),
            RunningTimes::kWrong);
}

TEST(RunningTimesTest, AreWrongInOneGroupOfMany) {
  EXPECT_EQ(judge(Groups{{300ms, 100ms, 100ms}, {300ms, 109ms, 100ms}, {300ms, 100ms, 100ms}},
                  kSlot, kLength),
            RunningTimes::kWrong);
}

TEST(RunningTimesTest, MayBeTwoMuxIntervalsApartAndNotMore) {
  const Groups two_turns{{300ms, 108ms, 100ms}, {300ms, 92ms, 100ms}};
  const Groups more{{300ms, 108ms + 1ns, 100ms}, {300ms, 92ms, 100ms}};

  EXPECT_EQ(judge(two_turns, kSlot, kLength), RunningTimes::kRight);
  EXPECT_EQ(judge(more, kSlot, kLength), RunningTimes::kWrong);
}

TEST(RunningTimesTest, MayBeTwoPercentOfALongTrialApart) {
  const Groups two_percent{{1000ms, 320ms, 300ms}, {1000ms, 300ms, 300ms}};
  const Groups more{{1000ms, 320ms + 1ns, 300ms}, {1000ms, 300ms, 300ms}};

  EXPECT_EQ(judge(two_percent, kSlot, kLength), RunningTimes::kRight);
  EXPECT_EQ(judge(more, kSlot, kLength), RunningTimes::kWrong);
}

TEST(RunningTimesTest, MayBeFurtherApartWhereMuxIntervalsAreLonger) {
  const Groups groups{{300ms, 109ms, 100ms}, {300ms, 91ms, 100ms}};

  EXPECT_EQ(judge(groups, 4ms, kLength), RunningTimes::kWrong);
  EXPECT_EQ(judge(groups, 5ms, kLength), RunningTimes::kRight);
}

TEST(RunningTimesTest, CannotBeDeterminedWhereNoGroupHadToWait) {
  EXPECT_EQ(judge(Groups{{300ms, 300ms, 299ms}, {300ms, 300ms, 299ms}}, kSlot, kLength),
            RunningTimes::kFewRotations);
}

TEST(RunningTimesTest, CannotBeDeterminedWhereNoGroupWasLetOnThePmu) {
  EXPECT_EQ(judge(Groups{{300ms, 0ms, 0ms}, {300ms, 0ms, 0ms}}, kSlot, kLength),
            RunningTimes::kFewRotations);
}

TEST(RunningTimesTest, CanBeDeterminedWhereOneGroupHadThePmuAllTheTime) {
  EXPECT_EQ(judge(Groups{{300ms, 299ms, 299ms}, {300ms, 0ms, 0ms}}, kSlot, kLength),
            RunningTimes::kRight);
  EXPECT_EQ(judge(Groups{{300ms, 100ms, 299ms}, {300ms, 200ms, 0ms}}, kSlot, kLength),
            RunningTimes::kWrong);
}

TEST(RunningTimesTest, CannotBeDeterminedOfFewerThanTenRotations) {
  const Groups groups{{300ms, 100ms, 100ms}, {300ms, 200ms, 200ms}};

  EXPECT_EQ(judge(groups, 30ms, kLength), RunningTimes::kRight);
  EXPECT_EQ(judge(groups, 31ms, kLength), RunningTimes::kFewRotations);
}

TEST(RunningTimesTest, CannotBeDeterminedRightWhereOtherWorkHadTheCpuForLong) {
  const Groups groups{{224ms, 75ms, 75ms}, {225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}};
  const Groups longer{{225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}};

  EXPECT_EQ(judge(groups, kSlot, kLength), RunningTimes::kCpuShared);
  EXPECT_EQ(judge(longer, kSlot, kLength), RunningTimes::kRight);
}

TEST(RunningTimesTest, AreWrongEvenWhereOtherWorkHadTheCpuForLong) {
  const Groups groups{{124ms, 53ms, 42ms}, {124ms, 45ms, 41ms}, {123ms, 26ms, 41ms}};

  EXPECT_EQ(judge(groups, kSlot, kLength), RunningTimes::kWrong);
}

TEST(RunningTimesTest, CannotBeDeterminedWhereTheGroupsNeverWantedThePmu) {
  EXPECT_EQ(judge(Groups{{0ms, 0ms, 0ms}, {0ms, 0ms, 0ms}}, kSlot, kLength),
            RunningTimes::kCpuShared);
}

/// A PMU on which `general` branch-misses can be counted at once.
plan::FreeCounters counters(std::size_t general) {
  return {general, 0, events::generic_counter("branch-misses")};
}

const perf::Place kPlace{1, -1, {}};
const std::string kGroup = "cpu1 branch-misses";

TEST(RotationTrialTest, GivesWhatTheKernelAndTheClockOfEachGroupSay) {
  test::ScriptedKernel kernel;
  kernel.answer(kGroup, {.enabled = 300ms, .running = 137ms, .counts = {7, 100'000'000, 7}});

  const auto times = try_rotation(kernel, counters(3), kPlace, 1ms);

  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), 3U);
  for (const RotationTimes& group : *times) {
    EXPECT_EQ(group.enabled, 300ms);
    EXPECT_EQ(group.running, 137ms);
    EXPECT_EQ(group.clock, 100ms);
  }
}

TEST(RotationTrialTest, OpensThreeGroupsOfWhichNoTwoFitAndEachAloneDoes) {
  for (const std::size_t general : {1U, 2U, 3U, 4U, 7U, 8U}) {
    test::ScriptedKernel kernel;

    ASSERT_TRUE(try_rotation(kernel, counters(general), kPlace, 1ms));

    const std::size_t hardware = kernel.opened() / 3 - 1;  // but for the clock
    EXPECT_EQ(kernel.opened() % 3, 0U);
    EXPECT_LE(hardware, general);
    EXPECT_GT(2 * hardware, general);
  }
}

TEST(RotationTrialTest, WorksForAsLongAsItIsAsked) {
  test::ScriptedKernel kernel;
  const auto start = std::chrono::steady_clock::now();

  ASSERT_TRUE(try_rotation(kernel, counters(4), kPlace, 20ms));

  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
}

TEST(RotationTrialTest, LeavesNothingOpen) {
  test::ScriptedKernel kernel;

  ASSERT_TRUE(try_rotation(kernel, counters(4), kPlace, 1ms));

  EXPECT_EQ(kernel.still_open(), 0U);
}

TEST(RotationTrialTest, ReportsWhichEventWasRefusedAndLeavesNothingOpen) {
  test::ScriptedKernel kernel;
  kernel.refuse("cpu-clock", EACCES);

  const auto times = try_rotation(kernel, counters(4), kPlace, 1ms);

  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, EACCES);
  EXPECT_EQ(times.error().attempted, "open event 'cpu-clock' on CPU 1");
  EXPECT_EQ(kernel.still_open(), 0U);
}

TEST(RotationTrialTest, FailsWhenAGroupCannotBeRead) {
  test::ScriptedKernel kernel;
  kernel.answer(kGroup, {.kind = Kind::kError, .counts = {}, .code = ENODEV});

  const auto times = try_rotation(kernel, counters(4), kPlace, 1ms);

  ASSERT_FALSE(times);
  EXPECT_EQ(describe(times.error()), "read a group on CPU 1: No such device (ENODEV)");
}

}  // namespace
}  // namespace pex::daemon
