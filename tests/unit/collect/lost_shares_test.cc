#include "collect/records/lost_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace pex::collect {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMs = 1'000'000;
constexpr double kLittle = 1e-3;

/// It ran for 10 ms in 10 000 intervals of 1 us, resp. in 2 of 5 ms.
constexpr RecordedRuns kOften = {10 * kMs, 10'000};
constexpr RecordedRuns kSeldom = {10 * kMs, 2};

TEST(LostSharesTest, AreThoseOfTheRecordedTimeWhereTheLostIntervalsWereLikeThem) {
  const std::vector<RecordedRuns> ran = {kOften, kSeldom};

  EXPECT_THAT(lost_shares(ran, 20 * kMs, 10'002), ElementsAre(DoubleEq(0.5), DoubleEq(0.5)));
}

TEST(LostSharesTest, GiveATimeOfManyShortIntervalsToTheCgroupThatSwitchesOften) {
  const std::vector<RecordedRuns> ran = {kOften, kSeldom};

  EXPECT_THAT(lost_shares(ran, 100 * kMs, 100'000),
              ElementsAre(DoubleNear(1, kLittle), DoubleNear(0, kLittle)));
}

TEST(LostSharesTest, DivideATimeOfBothKindsOfIntervalsByTheirNumber) {
  const std::vector<RecordedRuns> ran = {kOften, kSeldom};

  // 80 ms in 80 000 intervals of the one, and 20 ms in 4 of the other.
  EXPECT_THAT(lost_shares(ran, 100 * kMs, 80'004),
              ElementsAre(DoubleNear(0.8, kLittle), DoubleNear(0.2, kLittle)));
}

TEST(LostSharesTest, GiveATimeOfShorterIntervalsThanAnyToTheOneWithTheShortest) {
  const std::vector<RecordedRuns> ran = {kSeldom, kOften, {30 * kMs, 30'000}};

  EXPECT_THAT(
      lost_shares(ran, 100 * kMs, 1'000'000),
      ElementsAre(DoubleNear(0, kLittle), DoubleNear(0.25, kLittle), DoubleNear(0.75, kLittle)));
}

TEST(LostSharesTest, DivideATimeOfShortIntervalsAmongAllThatSwitchAboutAsOften) {
  const std::vector<RecordedRuns> ran = {kOften, {11 * kMs, 10'000}, kSeldom};

  EXPECT_THAT(lost_shares(ran, 50 * kMs, 100'000),
              ElementsAre(DoubleNear(0.55, 0.05), DoubleNear(0.45, 0.05), DoubleNear(0, kLittle)));
}

TEST(LostSharesTest, AreThoseOfTheRecordedTimeWhereTheLostIntervalsWereLonger) {
  const std::vector<RecordedRuns> ran = {kOften, {30 * kMs, 6}};

  EXPECT_THAT(lost_shares(ran, 100 * kMs, 1), ElementsAre(DoubleEq(0.25), DoubleEq(0.75)));
}

TEST(LostSharesTest, AreThoseOfTheRecordedTimeWhereTheNumberOfIntervalsIsNotKnown) {
  const std::vector<RecordedRuns> ran = {kOften, {30 * kMs, 6}};

  EXPECT_THAT(lost_shares(ran, 100 * kMs, 0), ElementsAre(DoubleEq(0.25), DoubleEq(0.75)));
}

TEST(LostSharesTest, AreEqualWhereNoCgroupHasAnyTime) {
  EXPECT_THAT(lost_shares(std::vector<RecordedRuns>(2), kMs, 7),
              ElementsAre(DoubleEq(0.5), DoubleEq(0.5)));
}

TEST(LostSharesTest, GiveNothingToACgroupOfWhichNoIntervalWasRecorded) {
  const std::vector<RecordedRuns> ran = {{}, kOften};

  EXPECT_THAT(lost_shares(ran, kMs, 100'000), ElementsAre(DoubleEq(0), DoubleEq(1)));
}

TEST(LostSharesTest, AreNoneOfNoCgroup) { EXPECT_THAT(lost_shares({}, kMs, 7), IsEmpty()); }

RC_GTEST_PROP(LostSharesTest, AreOneInAllWhateverWasRecorded, ()) {
  const auto numbers =
      rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<std::uint64_t>(0, 1000));
  std::vector<RecordedRuns> ran(*rc::gen::inRange<std::size_t>(1, 10));
  for (RecordedRuns& runs : ran) runs = {*numbers, *numbers};

  const std::vector<double> shares = lost_shares(ran, *numbers, *numbers);

  for (const double share : shares) RC_ASSERT(share >= 0 && share <= 1 + 1e-9);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  RC_ASSERT(all > 1 - 1e-9 && all < 1 + 1e-9);
}

}  // namespace
}  // namespace pex::collect
