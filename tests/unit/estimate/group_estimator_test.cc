#include "estimate/group_estimator.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "polled_group.h"
#include "rotation.h"
#include "support/test_headers.h"

namespace pex::estimate {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using ::testing::Each;
using ::testing::Field;

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
/// In a quarter of the time, half of the reference.
constexpr Passing kHalfSeen{
    .enabled = 4s, .running = 1s, .events = 100, .sampled = 500, .reference = 1000};

// --- states of an interval -----------------------------------------------------------------------

TEST(GroupEstimatorTest, AnIntervalIsScaledByItsOwnTimesOrFilledFromTheOneBefore) {
  struct Row {
    const char* what;
    Passing before, now;
    Coverage coverage;
    std::uint64_t observed, extrapolated;
    nanoseconds imputed = 0s;
  };
  constexpr std::uint64_t kCycles = 4'000'000'000ULL * 3600;
  const Row rows[] = {
      {"an exact zero as no task wanted the PMU", {1s, 1s, 1000}, {}, Coverage::kComplete, 0, 0},
      {"increments are scaled and not totals",
       {10s, 10s, 1000},
       {2s, 1s, 100},
       Coverage::kScaled,
       100,
       100},
      {"filled without the PMU", {2s, 1s, 100}, {3s}, Coverage::kScaled, 0, 300, 3s},
      {"counted in no time, which was booked to another group: history expects 100 in all",
       {2s, 1s, 100},
       {1s, 0s, 70},
       Coverage::kScaled,
       70,
       30,
       1s},
      {"the same before, while there was no history: 100 in one of two seconds",
       {1s, 0s, 50},
       {1s, 1s, 50},
       Coverage::kScaled,
       50,
       100,
       1s},
      {"it ran longer than it wanted", {}, {1s, 2s, 100}, Coverage::kComplete, 100, 0},
      {"hours of a fast clock", {}, {2h, 1h, kCycles}, Coverage::kScaled, kCycles, kCycles},
      {"one nanosecond stands for all",
       {},
       {nanoseconds::max(), 1ns, kHalf - 1},
       Coverage::kScaled,
       kHalf - 1,
       kHalf},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    PolledGroup group;
    group.poll_after(row.before);

    group.poll_after(row.now);

    EXPECT_EQ(group.last.coverage, row.coverage);
    EXPECT_EQ(group.increments[0].observed, row.observed);
    EXPECT_EQ(group.increments[0].extrapolated, row.extrapolated);
    EXPECT_TRUE(std::isfinite(group.increments[0].variance));
    EXPECT_EQ(group.last.enabled, row.now.enabled);
    EXPECT_EQ(group.last.running, std::min(row.now.running, row.now.enabled));
    EXPECT_EQ(group.last.imputed, row.imputed);
    EXPECT_EQ(group.last.unmeasured, 0s);
  }
}

TEST(GroupEstimatorTest, TakesAGroupWithoutEvents) {
  GroupEstimator group{0};

  const GroupIncrement increment = group.advance({2s, 1s, {}, {}, {}}, {}, {}, {});

  EXPECT_EQ(increment.coverage, Coverage::kScaled);
  EXPECT_EQ(increment.running, 1s);
}

TEST(GroupEstimatorTest, LetsAnIntervalWithoutThePmuJoinTheNextOneWhileThereIsNoHistory) {
  PolledGroup group;

  EXPECT_EQ(group.poll_after({.enabled = 1s}).coverage, Coverage::kNone);
  EXPECT_EQ(group.last.imputed, 0s) << "nothing was filled yet";
  EXPECT_EQ(group.poll_after({.enabled = 1s, .running = 1s, .events = 100}).coverage,
            Coverage::kScaled);

  EXPECT_EQ(group.increments[0].extrapolated, 100u);
  EXPECT_EQ(group.imputed, 1s);
}

TEST(GroupEstimatorTest, RemembersTheRateOfSomeTwentyPolls) {
  PolledGroup group;
  for (int poll = 0; poll < 100; ++poll) {
    group.poll_after({.enabled = 2s, .running = 1s, .events = 1000});
  }
  for (int poll = 0; poll < 20; ++poll) {
    group.poll_after({.enabled = 2s, .running = 1s, .events = 2000});
  }

  group.poll_after({.enabled = 1s});

  EXPECT_NEAR(static_cast<double>(group.increments[0].extrapolated),
              1000 + 1000 * (1 - std::pow(0.95, 20)), 1);
}

TEST(GroupEstimatorTest, GivesUpAnIntervalThatNeverHadThePmuAfterAMinuteAndStartsAfresh) {
  PolledGroup group;
  for (int second = 0; second < 60; ++second) {
    ASSERT_EQ(group.poll_after({.enabled = 1s}).coverage, Coverage::kNone);
    ASSERT_EQ(group.unmeasured, 0s) << "it may still be filled";
  }

  EXPECT_EQ(group.poll_after({.enabled = 1s}).coverage, Coverage::kNone);

  EXPECT_EQ(group.unmeasured, 61s);
  EXPECT_EQ(group.imputed, 0s);

  for (int second = 61; second < 100; ++second) group.poll_after({.enabled = 1s});
  EXPECT_EQ(group.poll_after({.enabled = 2s, .running = 1s, .events = 100}).coverage,
            Coverage::kScaled);
  EXPECT_EQ(group.value, 200u) << "of the last two seconds alone";
  EXPECT_EQ(group.unmeasured, 100s);
}

TEST(GroupEstimatorTest, ScalesTheFirstSharedIntervalWithoutHistoryAsWithIt) {
  for (const bool keeps_history : {true, false}) {
    PolledGroup group{1, 4ms, keeps_history};
    group.with_clock();
    for (int second = 0; second < 3; ++second) {
      group.poll_after({.enabled = 1s, .running = 1s, .events = 100});
    }

    group.poll_after({.enabled = 1s, .running = 500ms, .events = 50});

    EXPECT_EQ(group.last.coverage, Coverage::kScaled) << keeps_history;
    EXPECT_FALSE(group.last.mistimed) << keeps_history;
    EXPECT_EQ(group.value, 400u) << keeps_history;
  }
}

TEST(GroupEstimatorTest, MeasuresAllThatGoesUnmeasuredEvenFromAWindowWithoutActivity) {
  PolledGroup group;
  group.with_reference();
  group.poll_after({.enabled = 2s, .running = 1s, .reference = 100});  // no history to fill it from
  ASSERT_EQ(group.last.coverage, Coverage::kNone);

  group.poll_after({.enabled = 60s});
  group.poll_after({.enabled = 1s});

  EXPECT_EQ(group.unmeasured, 62s) << "all but the second that had the PMU";
}

// --- totals that fall ----------------------------------------------------------------------------

struct Fall {
  const char* what;
  void (*happen)(KernelTotals&);
};
constexpr Fall kFalls[] = {
    {"a count", [](KernelTotals& totals) { totals.counts[1] -= 1; }},
    {"a count by half its range", [](KernelTotals& totals) { totals.counts[1] += kHalf; }},
    {"the time running", [](KernelTotals& totals) { totals.running -= 1500ms; }},
    {"everything",
     [](KernelTotals& totals) {
       totals = {.enabled = 1s, .running = 500ms, .counts = {7, 7}};
     }},
};

TEST(GroupEstimatorTest, MeasuresNothingInAnIntervalInWhichATotalFellAndGoesOnFromThere) {
  for (const Fall& fall : kFalls) {
    SCOPED_TRACE(fall.what);
    PolledGroup group{2};
    group.poll_after({.enabled = 2s, .running = 1s, .events = 100});
    const nanoseconds before = group.kernel.enabled;
    group.pass({.enabled = 2s, .running = 1s, .events = 0});
    fall.happen(group.kernel);

    group.poll();

    EXPECT_TRUE(group.last.anomaly);
    EXPECT_EQ(group.last.coverage, Coverage::kNone);
    EXPECT_EQ(group.last.running, 0s);
    EXPECT_EQ(group.last.unmeasured, std::max(nanoseconds{0}, group.kernel.enabled - before));
    EXPECT_EQ(group.last.enabled, group.last.unmeasured);
    EXPECT_THAT(group.increments, Each(Field(&EventIncrement::observed, 0u)));
    EXPECT_THAT(group.increments, Each(Field(&EventIncrement::extrapolated, 0u)));

    group.poll_after({.enabled = 3s, .running = 1s, .events = 100});

    EXPECT_FALSE(group.last.anomaly);
    EXPECT_EQ(group.last.coverage, Coverage::kScaled);
    EXPECT_THAT(group.increments, Each(Field(&EventIncrement::extrapolated, 200u)));
  }
}

TEST(GroupEstimatorTest, KeepsAnOpenIntervalWhenALaterOneIsLost) {
  PolledGroup group;
  group.poll_after({.enabled = 1s, .events = 0});
  ASSERT_EQ(group.last.coverage, Coverage::kNone);
  group.kernel.running -= 1ns;
  group.poll();
  ASSERT_TRUE(group.last.anomaly);

  group.poll_after({.enabled = 1s, .running = 1s, .events = 100});

  EXPECT_EQ(group.value, 200u);
}

TEST(GroupEstimatorTest, FollowsACounterAcrossItsWrap) {
  PolledGroup group;
  group.poll_after({.enabled = 1s, .running = 1s, .events = kHalf - 1});
  group.poll_after({.enabled = 1s, .running = 1s, .events = kHalf - 9});

  group.poll_after({.enabled = 1s, .running = 1s, .events = 15});

  EXPECT_FALSE(group.last.anomaly);
  EXPECT_EQ(group.increments[0].observed, 15u);
}

TEST(GroupEstimatorTest, AGroupThatWasReopenedStartsAtZeroAndRemembersItsRate) {
  PolledGroup group;
  group.poll_after({.enabled = 4s, .running = 2s, .events = 100});
  group.restart();

  group.poll_after({.enabled = 2s, .running = 1s, .events = 50});
  EXPECT_FALSE(group.last.anomaly);
  EXPECT_EQ(group.value, 300u);

  group.restart();
  group.poll_after({.enabled = 2s});
  EXPECT_EQ(group.increments[0].extrapolated, 100u);
}

// --- the clock in the group ----------------------------------------------------------------------

TEST(GroupEstimatorTest, BelievesTheClockWhereTheKernelMustBeWrong) {
  struct Row {
    const char* what;
    nanoseconds enabled, booked, clock;
    bool is_known_to_mistime;
    bool is_mistimed;
    nanoseconds running;
    std::uint64_t value;  ///< of 100 that were counted
  };
  const Row rows[] = {
      {"time of another group was booked", 1s, 900ms, 250ms, true, true, 250ms, 400},
      {"no time was booked", 1s, 0ms, 250ms, false, true, 250ms, 400},
      {"the clock stood still while events were counted", 1s, 250ms, 0ms, false, false, 250ms, 400},
      {"the clock is beyond the time enabled", 1s, 250ms, 5s, false, true, 1s, 100},
      {"Linux 6.1: some us of each wake-up are booked as not running", 1s, 985ms, 1s, false, false,
       1s, 100},
      {"a little less than the kernel's time", 1s, 500ms, 200ms, false, false, 500ms, 200},
      {"the same once it is known to mistime", 1s, 500ms, 200ms, true, true, 200ms, 500},
      {"a thousandth less", 1s, 500ms, 499ms, true, false, 500ms, 200},
      {"ahead at switches only", 20us, 10us, 19us, false, false, 10us, 200},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    PolledGroup group;
    group.with_clock();
    group.pass({.enabled = row.enabled, .events = 100});
    group.kernel.running = row.booked;
    group.kernel.clock = row.clock;

    group.poll_knowing(group.kernel, row.is_known_to_mistime);

    EXPECT_EQ(group.last.mistimed, row.is_mistimed);
    EXPECT_EQ(group.last.running, row.running);
    EXPECT_EQ(group.value, row.value);
    EXPECT_EQ(group.last.imputed, 0s);
    EXPECT_EQ(group.last.coverage,
              row.running == row.enabled ? Coverage::kComplete : Coverage::kScaled);
  }
}

TEST(GroupEstimatorTest, DoesNotFillATargetThatNeverHadThePmuFromOthers) {
  PolledGroup seeing;
  seeing.poll_after({.enabled = 1s, .running = 500ms, .events = 100});
  PolledGroup blind;
  blind.models = seeing.models;

  blind.poll_after({.enabled = 1s, .running = 0s});
  EXPECT_EQ(blind.value, 0u);
  EXPECT_EQ(blind.last.coverage, Coverage::kNone);

  blind.poll_after({.enabled = 1s, .running = 1s, .events = 10});
  EXPECT_EQ(blind.value, 20u);  // what it saw itself stands for both seconds
}

TEST(GroupEstimatorTest, FillsByTheReferenceAsSoonAsThereIsOne) {
  PolledGroup group;
  for (int poll = 0; poll < 3; ++poll) {
    group.poll_after({.enabled = 1s, .running = 500ms, .events = 2'000'000});
  }
  group.with_reference();
  group.poll_after({.enabled = 1s, .running = 500ms});  // the reference has no baseline yet
  for (int poll = 0; poll < 2; ++poll) {
    group.poll_after({.enabled = 1s,
                      .running = 500ms,
                      .events = 2'000'000,
                      .sampled = 1'000'000,
                      .reference = 2'000'000});
  }

  group.poll_after({.enabled = 1s, .running = 0s, .reference = 2'000'000});

  EXPECT_NEAR(static_cast<double>(group.increments[0].extrapolated), 4'000'000, 400'000);
}

TEST(GroupEstimatorTest, FillsWhatItsOwnerKeptOffThePmuForAsLongAsThatTakes) {
  PolledGroup group;
  group.poll_after({.enabled = 10s, .running = 10s, .events = 1000});
  for (int poll = 0; poll < 9; ++poll) {
    group.pass({.enabled = 10s});
    group.poll(group.kernel, /*is_stopped=*/true);
  }

  EXPECT_EQ(group.imputed, 90s);
  EXPECT_EQ(group.unmeasured, 0s);
  EXPECT_EQ(group.value, 10'000u);
}

/// Of a cgroup whose tasks pass the CPU to and fro. Times in ns as they were read in one second.
/// "alone": the group never lost the PMU. Those of software groups in place of hardware groups are
/// of a machine without hardware counters.
TEST(GroupEstimatorTest, ManySwitchesCostTheClockTimeAndTheCountsNothing) {
  struct Row {
    const char* what;
    bool is_known_to_mistime;
    nanoseconds enabled, running, clock, always;
  };
  const Row rows[] = {
      {"Linux 6.1, emulated, alone", false, 606995328ns, 606995328ns, 536634240ns, 598111040ns},
      {"Linux 6.1, emulated, one of four", false, 640502304ns, 163844496ns, 146211632ns,
       632440176ns},
      {"Linux 6.12.117, emulated, alone", false, 610734208ns, 610734208ns, 533058112ns,
       517493024ns},
      {"Linux 6.12.117, emulated, one of four", false, 640960080ns, 158621392ns, 139947760ns,
       482351552ns},
      {"Linux 6.18, 175 000 switches a second, software group", false, 482'200'000ns, 482'200'000ns,
       457'000'000ns, 421'800'000ns},
      {"200 000 switches a second, a clock that misses 0.9 us of each", false, 500'000'000ns,
       500'000'000ns, 410'000'000ns, 440'000'000ns},
      {"Linux 6.12.113, emulated, alone", true, 602191264ns, 602191264ns, 524531520ns, 508970736ns},
      {"Linux 6.12.113, emulated, one of four", true, 641434272ns, 161246240ns, 142247072ns,
       483073280ns},
      {"the clock that misses 0.9 us of each, of a kernel that mistimes", true, 500'000'000ns,
       500'000'000ns, 410'000'000ns, 440'000'000ns},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    PolledGroup group;
    group.with_clock();
    for (int poll = 0; poll < 10; ++poll) {
      group.kernel.enabled += row.enabled;
      group.kernel.running += row.running;
      group.kernel.counts[0] += 1'000'000;
      *group.kernel.clock += row.clock;
      group.kernel.clock_always->counted += row.always;
      group.kernel.clock_always->enabled += row.enabled;
      const GroupIncrement& polled = group.poll_knowing(group.kernel, row.is_known_to_mistime);
      EXPECT_EQ(polled.running, row.running);
      EXPECT_FALSE(polled.mistimed);
    }

    const double scaled =
        1e7 * static_cast<double>(row.enabled.count()) / static_cast<double>(row.running.count());
    EXPECT_NEAR(static_cast<double>(group.value), std::round(scaled), 1);
  }
}

/// Two groups of a cgroup take turns of 4 ms on a kernel that books the time of each burst to the
/// group that has the PMU at its end (host/kernel_faults.h). The cgroup runs for one burst of
/// so many ms in each second.
class LightLoadTest : public testing::TestWithParam<double> {};

TEST_P(LightLoadTest, IsCountedWithinAHundredthOnAKernelThatMistimes) {
  constexpr double kPerMs = 1000;
  constexpr int kPolls = 600;
  std::array<PolledGroup, 2> groups{PolledGroup{}, PolledGroup{}};
  for (PolledGroup& group : groups) group.with_clock();
  std::size_t on = 0;
  bool mistimes = false;
  for (int poll = 0; poll < kPolls; ++poll) {
    std::array<double, 2> had{};
    for (double left = GetParam(); left > 0; left -= 4) {
      had[on] += std::min(left, 4.0);
      if (left > 4) on = 1 - on;
    }
    const auto ms = [](double time) { return nanoseconds{static_cast<std::int64_t>(time * 1e6)}; };
    for (std::size_t g = 0; g < groups.size(); ++g) {
      KernelTotals& kernel = groups[g].kernel;
      kernel.enabled += ms(GetParam());
      if (g == on) kernel.running += ms(GetParam());
      kernel.counts[0] += static_cast<std::uint64_t>(had[g] * kPerMs);
      *kernel.clock += ms(had[g]);
      kernel.clock_always->counted += ms(GetParam());
      kernel.clock_always->enabled += ms(GetParam());
      mistimes = groups[g].poll_knowing(kernel, mistimes).mistimed || mistimes;
    }
  }

  for (const PolledGroup& group : groups) {
    EXPECT_NEAR(static_cast<double>(group.value) / (GetParam() * kPerMs * kPolls), 1, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(MsASecond, LightLoadTest,
                         testing::Values(5, 6, 7, 9, 12, 20, 50, 100, 400, 900));

/// What the clock that is always counted misses at switches, its own may miss as well.
TEST(GroupEstimatorTest, AGroupWhoseClockMissesNoMoreThanSwitchesTakeHadThePmuAllTheTime) {
  for (const auto& [own, running] :
       {std::pair{97'000us, 100'000us}, {96'100us, 100'000us}, {95'900us, 95'000us}}) {
    PolledGroup group;
    group.with_clock();
    group.kernel.enabled += 100ms;
    group.kernel.running += 95ms;
    group.kernel.counts[0] += 1'000'000;
    *group.kernel.clock += own;
    group.kernel.clock_always->counted += 98ms;
    group.kernel.clock_always->enabled += 100ms;

    EXPECT_EQ(group.poll_knowing(group.kernel, false).running, running);
  }
}

TEST(GroupEstimatorTest, BelievesTheKernelForAnIntervalInWhichTheClockFell) {
  PolledGroup group;
  group.with_clock();
  group.poll_after({.enabled = 1s, .running = 500ms, .events = 100});
  group.pass({.enabled = 1s, .running = 500ms, .events = 100});
  group.kernel.clock = 1ms;

  group.poll();

  EXPECT_FALSE(group.last.mistimed);
  EXPECT_EQ(group.value, 400u);
}

TEST(GroupEstimatorTest, CallsNoIntervalMistimedWhoseTimesItDidNotUse) {
  PolledGroup group;
  group.with_clock();
  group.poll_after({.enabled = 2s, .running = 1s, .events = 100});
  group.pass({.enabled = 2s, .running = 1s, .events = 100});
  group.kernel.running = 0s;

  group.poll();

  EXPECT_TRUE(group.last.anomaly);
  EXPECT_FALSE(group.last.mistimed);
}

// --- the reference -------------------------------------------------------------------------------

TEST(GroupEstimatorTest, ScalesByTheReferenceOfTheSameTime) {
  struct Row {
    const char* what;
    ReferenceTotals kernel;
    double reference, sampled;
    std::uint64_t value;  ///< of 100 that were counted in a quarter of 4 s
  };
  const Row rows[] = {
      {"read together", {500, 1000, 4s}, 1000, 500, 200},
      {"read a moment apart", {500, 1100, 4400ms}, 1000, 500, 200},
      {"the part is never less than the whole", {1001, 1000, 4s}, 1001, 1001, 100},
      {"by time while the one that always counts does not", {500, 1000, 0s}, 0, 0, 400},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    PolledGroup group;
    group.pass({.enabled = 4s, .running = 1s, .events = 100});
    group.kernel.reference = row.kernel;

    group.poll();

    EXPECT_EQ(group.value, row.value);
    EXPECT_DOUBLE_EQ(group.last.reference, row.reference);
    EXPECT_DOUBLE_EQ(group.last.reference_sampled, row.sampled);
    EXPECT_FALSE(group.last.anomaly);
  }
}

TEST(GroupEstimatorTest, ScalesByTimeWhenTheReferenceWasNotReadForAPoll) {
  PolledGroup group;
  group.with_reference();
  group.poll_after(kHalfSeen);
  group.pass(kHalfSeen);
  KernelTotals without_reference = group.kernel;
  without_reference.reference.reset();

  group.poll(without_reference);
  EXPECT_EQ(group.increments[0].extrapolated, 300u);
  EXPECT_FALSE(group.last.anomaly);

  group.poll_after(kHalfSeen);
  EXPECT_EQ(group.increments[0].extrapolated, 300u) << "what it passed since is not known";

  group.poll_after(kHalfSeen);
  EXPECT_EQ(group.increments[0].extrapolated, 100u);
}

TEST(GroupEstimatorTest, ScalesByTimeWhenTheReferenceAloneFell) {
  for (const auto fallen : {&ReferenceTotals::sampled, &ReferenceTotals::always}) {
    PolledGroup group;
    group.with_reference();
    group.poll_after(kHalfSeen);
    group.pass(kHalfSeen);
    (*group.kernel.reference).*fallen = 3;
    group.poll();
    EXPECT_TRUE(group.last.anomaly);
    EXPECT_EQ(group.last.coverage, Coverage::kScaled);
    EXPECT_EQ(group.last.unmeasured, 0s);
    EXPECT_EQ(group.last.reference, 0);
    EXPECT_EQ(group.increments[0].extrapolated, 300u);

    group.poll_after(kHalfSeen);
    EXPECT_FALSE(group.last.anomaly);
    EXPECT_EQ(group.increments[0].extrapolated, 100u);
  }
}

TEST(GroupEstimatorTest, ComparesAnIntervalByTimeWithOneByReferenceInTheSameMeasure) {
  PolledGroup group;
  group.with_reference();
  const Passing steady{
      .enabled = 4s, .running = 1s, .events = 1000, .sampled = 3'000'000, .reference = 12'000'000};
  group.poll_after(steady);
  group.poll_after(steady);
  ASSERT_NEAR(group.variance, 0, 1e-6);
  group.pass(steady);
  KernelTotals without_reference = group.kernel;
  without_reference.reference.reset();

  group.poll(without_reference);

  EXPECT_NEAR(group.increments[0].variance, 0, 1e-6) << "the rate is what it was";
}

TEST(GroupEstimatorTest, AddsNothingForAnIdleTime) {
  PolledGroup group;
  group.with_reference();
  group.poll_after(kHalfSeen);

  group.poll_after({.enabled = 4s, .running = 1s});
  EXPECT_EQ(group.last.coverage, Coverage::kScaled);
  EXPECT_EQ(group.increments[0].extrapolated, 0u);

  group.poll_after(kHalfSeen);
  EXPECT_EQ(group.increments[0].extrapolated, 100u) << "idle time taught nothing";
}

TEST(GroupEstimatorTest, WaitsWhenTheFirstWindowsSawNothingOfTheActivity) {
  PolledGroup group;
  group.with_reference();

  EXPECT_EQ(group.poll_after({.enabled = 4s, .running = 1s, .reference = 1000}).coverage,
            Coverage::kNone);
  EXPECT_EQ(group.poll_after(kHalfSeen).coverage, Coverage::kScaled);

  EXPECT_EQ(group.value, 400u) << "one of five for each of 2000";
}

TEST(GroupEstimatorTest, ScalesByTimeAfterAMinuteInWhichTheReferenceInTheGroupNeverMoved) {
  PolledGroup group;
  group.with_reference();
  const Passing unseen{.enabled = 4s, .running = 1s, .events = 100, .reference = 1000};

  for (int poll = 0; poll < 20; ++poll) group.poll_after(unseen);

  EXPECT_EQ(group.last.coverage, Coverage::kScaled);
  EXPECT_EQ(group.value, 8000u);
}

/// Of ten events for each of the reference, half of which its windows saw.
PolledGroup group_with_history() {
  PolledGroup group;
  group.with_reference();
  for (int poll = 0; poll < 10; ++poll) {
    group.poll_after(
        {.enabled = 1s, .running = 500ms, .events = 1000, .sampled = 100, .reference = 200});
  }
  return group;
}

TEST(GroupEstimatorTest, LeansOnHistoryWhenTheLoadIsOnlyThereWhenTheGroupIsNot) {
  PolledGroup group = group_with_history();

  // The windows see a hundredth of the load, and that with another mixture of events.
  group.poll_after({.enabled = 1s, .running = 500ms, .events = 40, .sampled = 1, .reference = 200});

  EXPECT_NEAR(static_cast<double>(group.increments[0].extrapolated),
              199 * (0.000625 * 40 + 0.999375 * 10), 1);
}

TEST(GroupEstimatorTest, ForgetsByWhatTheWindowsSawAndNotByPolls) {
  PolledGroup group = group_with_history();

  for (int poll = 0; poll < 100; ++poll) {
    group.models[0] = {};  // the size is the reference, and nobody else remembers anything
    group.poll_after(
        {.enabled = 1s, .running = 500ms, .events = 40, .sampled = 1, .reference = 200});
    ASSERT_NEAR(static_cast<double>(group.increments[0].extrapolated), 2000, 100)
        << "poll " << poll;
  }
}

// --- variance ------------------------------------------------------------------------------------

TEST(GroupEstimatorTest, FindsTheVarianceFromTheDifferenceOfSuccessiveIntervals) {
  PolledGroup group;
  group.poll_after({.enabled = 1s, .running = 500ms, .events = 100});
  EXPECT_EQ(group.variance, 0) << "nothing to compare it with";

  group.poll_after({.enabled = 1s, .running = 500ms, .events = 150});
  EXPECT_DOUBLE_EQ(group.increments[0].variance, 0.5 * 100 * 100 * 0.5);

  group.poll_after({.enabled = 2s, .running = 500ms, .events = 100});
  EXPECT_DOUBLE_EQ(group.increments[0].variance, 0.75 * 200 * 200 * 0.5);
}

TEST(GroupEstimatorTest, ComparesWithTheLastIntervalAcrossOneWithoutThePmu) {
  PolledGroup group;
  group.poll_after({.enabled = 1s, .running = 500ms, .events = 100});
  group.poll_after({.enabled = 1s});

  group.poll_after({.enabled = 1s, .running = 500ms, .events = 150});

  EXPECT_DOUBLE_EQ(group.increments[0].variance, 0.5 * 100 * 100 * 0.5);
}

/// Root mean square of the error of each poll by its stated standard error.
double mean_error_by_stated(bool has_reference, std::uint64_t seed) {
  Rotation rotation{4, has_reference, seed};
  double squares = 0;
  double stated = 0;
  for (int poll = 0; poll < 2000; ++poll) {
    const double error_before = rotation.error();
    const double variance_before = rotation.polled.variance;
    rotation.pass_and_poll(250ms, BusyAndIdle{});
    if (poll < 50) continue;  // the weight of the reference is not settled yet
    const double error = rotation.error() - error_before;
    squares += error * error;
    stated += rotation.polled.variance - variance_before;
  }
  return std::sqrt(squares / stated);
}

TEST(GroupEstimatorTest, StatesTheStandardErrorOfAnEstimateByTime) {
  EXPECT_NEAR(mean_error_by_stated(/*has_reference=*/false, 1), 1, 0.1);
}

/// Events that the reference explains but for noise of their own.
Activity noisy(std::mt19937_64& random) {
  const double busy = std::uniform_real_distribution{0.1, 1.0}(random);
  const double rate = std::uniform_real_distribution{0.5, 1.5}(random);
  return {1e6 * busy, 1e4 * busy * rate};
}

TEST(GroupEstimatorTest, StatesTheStandardErrorOfAnEstimateByReferenceOverAnyTimeAndTargets) {
  constexpr std::uint64_t kTargets = 4;
  constexpr int kTimes = 200;
  std::vector<Rotation> targets;
  for (std::uint64_t seed = 0; seed < kTargets; ++seed) {
    targets.emplace_back(4, /*has_reference=*/true, seed);
    for (int poll = 0; poll < 20; ++poll) targets.back().pass_and_poll(100ms, noisy);
  }

  double squares = 0;
  double stated = 0;
  for (int time = 0; time < kTimes; ++time) {
    double error = 0;
    for (Rotation& target : targets) {
      const double error_before = target.error();
      const double variance_before = target.polled.variance;
      for (int poll = 0; poll < 10; ++poll) target.pass_and_poll(100ms, noisy);
      error += target.error() - error_before;
      stated += target.polled.variance - variance_before;
    }
    squares += error * error;
  }
  // The root of the mean of 200 squares has a standard error of 1 in the root of 400, 5 %.
  EXPECT_NEAR(std::sqrt(squares / stated), 1, 0.2);
}

// --- what the reference is good for --------------------------------------------------------------

/// Root mean square of the error of a second, relative to what happens in one.
template <typename Workload>
double relative_error(bool has_reference, Workload workload) {
  Rotation rotation{4, has_reference, 11};
  for (int poll = 0; poll < 50; ++poll) rotation.pass_and_poll(1s, workload);
  constexpr int kPolls = 300;
  const double truth_before = rotation.truth;
  double squares = 0;
  for (int poll = 0; poll < kPolls; ++poll) {
    const double before = rotation.error();
    rotation.pass_and_poll(1s, workload);
    squares += std::pow(rotation.error() - before, 2);
  }
  return std::sqrt(squares / kPolls) / ((rotation.truth - truth_before) / kPolls);
}

TEST(GroupEstimatorTest, IsSeveralTimesAsPreciseWithAReferenceForLoadThatComesAndGoes) {
  EXPECT_LT(relative_error(true, BusyAndIdle{}) * 5, relative_error(false, BusyAndIdle{}));
}

TEST(GroupEstimatorTest, IsAsPreciseWithAReferenceForEventsThatFollowTime) {
  const auto timer = [load = BusyAndIdle{}](std::mt19937_64& random) mutable {
    const double noise = std::uniform_real_distribution{0.5, 1.5}(random);
    return Activity{load(random).cycles, 1e4 * noise};
  };

  EXPECT_LT(relative_error(true, timer), relative_error(false, timer) * 1.02);
}

TEST(GroupEstimatorTest, IsFiftyTimesAsPreciseWithAReferenceForLoadThatBeatsAgainstRotation) {
  const auto beat = [ms = 0.0](std::mt19937_64& random) mutable {
    const double noise = std::uniform_real_distribution{0.9, 1.1}(random);
    const bool busy = std::fmod(ms++, 16.005) < 4;
    return Activity{busy ? 3e6 : 3e4, busy ? 1e5 * noise : 1e3 * noise};
  };

  EXPECT_LT(relative_error(true, beat) * 50, relative_error(false, beat));
}

}  // namespace
}  // namespace pex::estimate
