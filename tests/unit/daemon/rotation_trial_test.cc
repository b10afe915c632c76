#include "daemon/doctor/rotation_trial.h"

#include <cerrno>

#include "events/event_table.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using enum RunningTimes;
using Kind = test::ScriptedKernel::Answer::Kind;

struct Trial {
  const char* name;
  std::vector<RotationTimes> groups;  ///< enabled, running, and the time by the clock
  RunningTimes times;
  std::chrono::milliseconds mux_interval{4};
};

const Trial kTrials[] = {
    {"TimesAndClocksAgree",
     {{300ms, 101ms, 100ms}, {300ms, 99ms, 100ms}, {300ms, 100ms, 100ms}},
     kRight},
    {"OneGroupHasTheTimeOfAnother",
     {{300ms, 163ms, 100ms}, {300ms, 137ms, 100ms}, {300ms, 0ms, 100ms}},
     kWrong},
    {"OneGroupOfManyIsWrong",
     {{300ms, 100ms, 100ms}, {300ms, 109ms, 100ms}, {300ms, 100ms, 100ms}},
     kWrong},
    {"TwoMuxIntervalsApart", {{300ms, 108ms, 100ms}, {300ms, 92ms, 100ms}}, kRight},
    {"MoreThanTwoMuxIntervalsApart", {{300ms, 108ms + 1ns, 100ms}, {300ms, 92ms, 100ms}}, kWrong},
    {"TwoPercentOfALongTrialApart", {{1s, 320ms, 300ms}, {1s, 300ms, 300ms}}, kRight},
    {"MoreThanTwoPercentApart", {{1s, 320ms + 1ns, 300ms}, {1s, 300ms, 300ms}}, kWrong},
    {"ApartByMoreThanShortMuxIntervals", {{300ms, 109ms, 100ms}, {300ms, 91ms, 100ms}}, kWrong},
    {"ApartByLongMuxIntervals", {{300ms, 109ms, 100ms}, {300ms, 91ms, 100ms}}, kRight, 5ms},
    {"NoGroupHadToWait", {{300ms, 300ms, 299ms}, {300ms, 300ms, 299ms}}, kFewRotations},
    {"NoGroupWasLetOnThePmu", {{300ms, 0ms, 0ms}, {300ms, 0ms, 0ms}}, kFewRotations},
    {"OneGroupHadThePmuAllTheTime", {{300ms, 299ms, 299ms}, {300ms, 0ms, 0ms}}, kRight},
    {"OneGroupHadItAllTheTimeByTheClockOnly", {{300ms, 100ms, 299ms}, {300ms, 200ms, 0ms}}, kWrong},
    {"TenRotations", {{300ms, 100ms, 100ms}, {300ms, 200ms, 200ms}}, kRight, 30ms},
    {"FewerThanTenRotations", {{300ms, 100ms, 100ms}, {300ms, 200ms, 200ms}}, kFewRotations, 31ms},
    {"OtherWorkHadTheCpuForLong",
     {{224ms, 75ms, 75ms}, {225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}},
     kCpuShared},
    {"OtherWorkHadTheCpuForAQuarter",
     {{225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}, {225ms, 75ms, 75ms}},
     kRight},
    {"WrongAlthoughOtherWorkHadTheCpuForLong",
     {{124ms, 53ms, 42ms}, {124ms, 45ms, 41ms}, {123ms, 26ms, 41ms}},
     kWrong},
    {"TheGroupsNeverWantedThePmu", {{0ms, 0ms, 0ms}, {0ms, 0ms, 0ms}}, kCpuShared},
};

class RunningTimesTest : public testing::TestWithParam<Trial> {};

TEST_P(RunningTimesTest, AreJudgedByTheClocksOfTheGroups) {
  EXPECT_EQ(judge(GetParam().groups, GetParam().mux_interval, 300ms), GetParam().times);
}

INSTANTIATE_TEST_SUITE_P(Where, RunningTimesTest, testing::ValuesIn(kTrials),
                         [](const auto& row) { return row.param.name; });

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

TEST(RotationTrialTest, WorksForAsLongAsItIsAskedAndLeavesNothingOpen) {
  test::ScriptedKernel kernel;
  const auto start = std::chrono::steady_clock::now();

  ASSERT_TRUE(try_rotation(kernel, counters(4), kPlace, 20ms));

  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
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
