#include "estimate/group_estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace pex::estimate {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

/// A group of one event.
class One {
 public:
  Coverage advance(nanoseconds enabled, nanoseconds running, std::uint64_t count) {
    const std::array counts{count};
    std::array<std::uint64_t, 1> increments{777};
    const Coverage coverage = group_.advance(enabled, running, counts, increments);
    increment = increments[0];
    return coverage;
  }

  std::uint64_t increment = 0;  ///< of the last interval

 private:
  GroupEstimator group_{1};
};

TEST(ScaleTest, IsExactWhenTheGroupAlwaysHadThePmu) {
  const Estimate estimate = scale(123, 1s, 1s);

  EXPECT_EQ(estimate.observed, 123u);
  EXPECT_EQ(estimate.extrapolated, 0.0);
  EXPECT_EQ(estimate.coverage, Coverage::kComplete);
}

TEST(ScaleTest, IsAnExactZeroWhenThePmuWasNeverWanted) {
  const Estimate estimate = scale(0, 0s, 0s);

  EXPECT_EQ(estimate.observed, 0u);
  EXPECT_EQ(estimate.extrapolated, 0.0);
  EXPECT_EQ(estimate.coverage, Coverage::kComplete);
}

TEST(ScaleTest, ExtrapolatesTheTimeThatWasMissed) {
  const Estimate estimate = scale(100, 4s, 1s);

  EXPECT_EQ(estimate.observed, 100u);
  EXPECT_DOUBLE_EQ(estimate.extrapolated, 300.0);
  EXPECT_EQ(estimate.coverage, Coverage::kScaled);
}

TEST(ScaleTest, HasNoValueWhenThePmuWasWantedInVain) {
  EXPECT_EQ(scale(0, 1s, 0s).coverage, Coverage::kNone);
}

TEST(ScaleTest, TakesHoursOfAFastClock) {
  const std::uint64_t cycles = 4'000'000'000ULL * 3600;

  const Estimate estimate = scale(cycles, 2h, 1h);

  EXPECT_EQ(estimate.observed, cycles);
  EXPECT_DOUBLE_EQ(estimate.extrapolated, static_cast<double>(cycles));
}

RC_GTEST_PROP(ScaleTest, IsFiniteAndNeverNegativeForAnyInput,
              (std::uint64_t raw, std::int64_t enabled, std::int64_t running)) {
  const Estimate estimate = scale(raw, nanoseconds{enabled}, nanoseconds{running});

  RC_ASSERT(std::isfinite(estimate.extrapolated));
  RC_ASSERT(estimate.extrapolated >= 0.0);
  RC_ASSERT(estimate.observed <= raw);
  RC_ASSERT(estimate.coverage == Coverage::kNone || estimate.observed == raw);
}

TEST(GroupEstimatorTest, IsExactWhileTheGroupHasThePmu) {
  One event;

  EXPECT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);
  EXPECT_EQ(event.increment, 1000u);
  EXPECT_EQ(event.advance(2s, 2s, 1001), Coverage::kComplete);
  EXPECT_EQ(event.increment, 1u);
}

TEST(GroupEstimatorTest, GivesAnExactZeroWhenNoTaskWantedThePmu) {
  One event;
  ASSERT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);

  EXPECT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);
  EXPECT_EQ(event.increment, 0u);
}

TEST(GroupEstimatorTest, ScalesIncrementsAndNotTotals) {
  One event;
  ASSERT_EQ(event.advance(10s, 10s, 1000), Coverage::kComplete);

  EXPECT_EQ(event.advance(12s, 11s, 1100), Coverage::kScaled);
  EXPECT_EQ(event.increment, 200u);
}

TEST(GroupEstimatorTest, ScalesEveryEventOfTheGroupAlike) {
  GroupEstimator group{3};
  std::array<std::uint64_t, 3> increments{};

  const Coverage coverage =
      group.advance(2s, 1s, std::array<std::uint64_t, 3>{10, 0, 7}, increments);

  EXPECT_EQ(coverage, Coverage::kScaled);
  EXPECT_THAT(increments, ElementsAre(20, 0, 14));
}

TEST(GroupEstimatorTest, CarriesFractionsToTheNextInterval) {
  One event;
  std::uint64_t total = 0;

  for (int i = 1; i <= 1000; ++i) {  // each interval: 1 seen in 2 of 3 ns, so 1.5
    ASSERT_EQ(event.advance(nanoseconds{3 * i}, nanoseconds{2 * i}, static_cast<std::uint64_t>(i)),
              Coverage::kScaled);
    total += event.increment;
    EXPECT_NEAR(static_cast<double>(total), 1.5 * i, 1.0);
  }
}

TEST(GroupEstimatorTest, LetsAnIntervalWithoutThePmuJoinTheNextOne) {
  One event;
  ASSERT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);

  EXPECT_EQ(event.advance(2s, 1s, 1000), Coverage::kNone);
  EXPECT_EQ(event.increment, 0u);
  EXPECT_EQ(event.advance(3s, 2s, 1100), Coverage::kScaled);
  EXPECT_EQ(event.increment, 200u) << "100 in one of the two seconds since it last had the PMU";
}

TEST(GroupEstimatorTest, KeepsWhatWasCountedWhileNoTimeWasTold) {
  One event;
  ASSERT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);

  ASSERT_EQ(event.advance(2s, 1s, 1050), Coverage::kNone);
  ASSERT_EQ(event.advance(3s, 3s, 1100), Coverage::kComplete);

  EXPECT_EQ(event.increment, 100u);
}

TEST(GroupEstimatorTest, FollowsACounterAcrossItsWrap) {
  One event;
  ASSERT_EQ(event.advance(1s, 1s, kHalf - 1), Coverage::kComplete);
  ASSERT_EQ(event.advance(2s, 2s, kMax - 9), Coverage::kComplete);

  EXPECT_EQ(event.advance(3s, 3s, 5), Coverage::kComplete);
  EXPECT_EQ(event.increment, 15u);
}

TEST(GroupEstimatorTest, GivesZeroForACountThatFallsAndGoesOnFromThere) {
  One event;
  ASSERT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);

  event.advance(2s, 2s, 400);
  EXPECT_EQ(event.increment, 0u);
  event.advance(3s, 3s, 450);
  EXPECT_EQ(event.increment, 50u);
}

TEST(GroupEstimatorTest, GivesZeroForACountThatJumpsByHalfItsRange) {
  One event;

  event.advance(1s, 1s, kHalf);

  EXPECT_EQ(event.increment, 0u);
}

TEST(GroupEstimatorTest, GoesOnAfterBothTimesFell) {
  One event;
  ASSERT_EQ(event.advance(10s, 5s, 1000), Coverage::kScaled);

  EXPECT_EQ(event.advance(1s, 1s, 1000), Coverage::kComplete);
  EXPECT_EQ(event.increment, 0u);
  EXPECT_EQ(event.advance(3s, 2s, 1100), Coverage::kScaled);
  EXPECT_EQ(event.increment, 200u);
}

TEST(GroupEstimatorTest, GivesWhatWasSeenWhenItRanLongerThanItWanted) {
  One event;

  EXPECT_EQ(event.advance(1s, 2s, 100), Coverage::kComplete);
  EXPECT_EQ(event.increment, 100u);
}

TEST(GroupEstimatorTest, TakesHoursOfAFastClock) {
  One event;
  const std::uint64_t cycles = 4'000'000'000ULL * 3600;

  EXPECT_EQ(event.advance(2h, 1h, cycles), Coverage::kScaled);

  EXPECT_EQ(event.increment, 2 * cycles);
}

TEST(GroupEstimatorTest, StaysWithinItsRangeWhenOneNanosecondStandsForAll) {
  One event;

  EXPECT_EQ(event.advance(nanoseconds::max(), 1ns, kHalf - 1), Coverage::kScaled);

  EXPECT_EQ(event.increment, kHalf - 1 + kHalf);
}

/// What happens in one interval on a kernel that keeps its promises.
struct Interval {
  std::int64_t enabled;
  std::int64_t running;
  std::uint64_t raw;
};

rc::Gen<Interval> honest_interval() {
  const auto duration = rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 10),
                                       rc::gen::inRange<std::int64_t>(0, 3'600'000'000'000));
  return rc::gen::mapcat(duration, [](std::int64_t enabled) {
    const auto running = rc::gen::oneOf(rc::gen::just<std::int64_t>(0), rc::gen::just(enabled),
                                        rc::gen::inRange<std::int64_t>(0, enabled + 1));
    return rc::gen::mapcat(running, [enabled](std::int64_t had) {
      const auto most = static_cast<std::uint64_t>(had) * 4;  // 4 GHz
      return rc::gen::map(rc::gen::inRange<std::uint64_t>(0, most + 1), [=](std::uint64_t raw) {
        return Interval{enabled, had, raw};
      });
    });
  });
}

std::ostream& operator<<(std::ostream& out, const Interval& interval) {
  return out << interval.enabled << " ns enabled, " << interval.running << " ns running, "
             << interval.raw << " counted";
}

// The observed part is never lost and never counted twice; what is added to it is the extrapolation
// of each closed interval, to less than one event in all.
RC_GTEST_PROP(GroupEstimatorTest, AddsUpToTheScaledWholeWithinOneEvent, ()) {
  const auto intervals = *rc::gen::container<std::vector<Interval>>(honest_interval());
  One event;
  Interval total{0, 0, 0};
  Interval open{0, 0, 0};
  std::uint64_t estimated = 0;
  long double expected = 0;
  std::uint64_t observed = 0;

  for (const Interval& interval : intervals) {
    total = {total.enabled + interval.enabled, total.running + interval.running,
             total.raw + interval.raw};
    open = {open.enabled + interval.enabled, open.running + interval.running,
            open.raw + interval.raw};
    const Coverage coverage =
        event.advance(nanoseconds{total.enabled}, nanoseconds{total.running}, total.raw);
    estimated += event.increment;

    RC_ASSERT((coverage == Coverage::kNone) == (open.enabled > 0 && open.running == 0));
    if (coverage != Coverage::kNone) {
      observed += open.raw;
      expected += open.running == 0 ? 0.0L
                                    : static_cast<long double>(open.raw) *
                                          static_cast<long double>(open.enabled) /
                                          static_cast<long double>(open.running);
      open = {0, 0, 0};
    }
    RC_ASSERT(estimated >= observed);
    // A double holds 53 bits: beyond 2^53 events the last ones are not told apart.
    RC_ASSERT(std::abs(static_cast<long double>(estimated) - expected) <=
              1.0L + expected * 0x1p-50L);
  }
}

rc::Gen<std::uint64_t> hostile_number() {
  return rc::gen::oneOf(
      rc::gen::element<std::uint64_t>(0, 1, kHalf - 1, kHalf, kHalf + 1, kMax - 1, kMax),
      rc::gen::inRange<std::uint64_t>(0, 1000), rc::gen::arbitrary<std::uint64_t>(),
      rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 1000),
                   [](std::uint64_t below) { return kMax - below; }));
}

nanoseconds as_time(std::uint64_t word) { return nanoseconds{static_cast<std::int64_t>(word)}; }

// Whatever the kernel says: no undefined arithmetic (the sanitizers look), what was counted is
// there and what was not counted is not.
RC_GTEST_PROP(GroupEstimatorTest, StaysWithinBoundsForAnyInput, ()) {
  using Words = std::array<std::uint64_t, 3>;
  const auto readings =
      *rc::gen::container<std::vector<Words>>(rc::gen::container<Words>(hostile_number()));
  One event;
  std::uint64_t baseline = 0;

  for (const auto& [enabled, running, count] : readings) {
    const Coverage coverage = event.advance(as_time(enabled), as_time(running), count);

    const std::uint64_t raw = count - baseline < kHalf ? count - baseline : 0;
    if (coverage == Coverage::kNone) {
      RC_ASSERT(event.increment == 0u);
      continue;
    }
    baseline = count;
    RC_ASSERT(event.increment >= raw);
    RC_ASSERT(event.increment - raw <= kHalf);
    if (coverage == Coverage::kComplete) RC_ASSERT(event.increment - raw <= 1u);
  }
}

// Times and counts that stand still add nothing, however they came to be.
RC_GTEST_PROP(GroupEstimatorTest, AddsNothingWhenNothingMoves, ()) {
  const auto enabled = *hostile_number();
  const auto running = *hostile_number();
  const auto count = *hostile_number();
  One event;
  event.advance(as_time(enabled), as_time(running), count);
  if (event.advance(as_time(enabled), as_time(running), count) == Coverage::kNone) return;

  for (int i = 0; i < 3; ++i) {
    event.advance(as_time(enabled), as_time(running), count);
    RC_ASSERT(event.increment == 0u);
  }
}

}  // namespace
}  // namespace pex::estimate
