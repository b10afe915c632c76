#include "estimate/ratio_estimator.h"

#include <gtest/gtest.h>

#include "estimate/event_model.h"

namespace pex::estimate {
namespace {

constexpr double kSlot = 4;  // times here are in ms, for the eye; the estimator takes any unit
constexpr Observed kNoHistory{};

/// A model to which the event is proportional to the reference, of which there are two for each ms.
EventModel follows_the_reference(const Observed& mean = {}) {
  EventModel model;
  ModelUpdate update;
  update.add(
      mean.running > 0
          ? mean
          : Observed{
                .events = 1000, .running = 100, .enabled = 400, .sampled = 200, .reference = 800});
  model.learn(update);
  return model;
}

Estimate by_time(const Observed& interval, const Observed& history = kNoHistory) {
  return estimate(interval, /*has_reference=*/false, history, EventModel{}, kSlot);
}

Estimate by_reference(const Observed& interval, const Observed& history,
                      const EventModel& model = EventModel{}) {
  return estimate(interval, /*has_reference=*/true, history, model, kSlot);
}

TEST(RatioEstimatorTest, ScalesByTimeWithoutAReference) {
  const Estimate result = by_time({.events = 100, .running = 250, .enabled = 1000});

  EXPECT_DOUBLE_EQ(result.extrapolated, 300);
  EXPECT_DOUBLE_EQ(result.sampled_size / result.size, 0.25);
  EXPECT_DOUBLE_EQ(result.information, 1);
}

TEST(RatioEstimatorTest, ScalesByTheReferenceOfWhichTheWindowsSawAPartAndElseByTime) {
  struct Row {
    const char* what;
    double sampled, reference;
    double extrapolated;  ///< for 100 in a quarter of the time
  };
  const Row rows[] = {
      {"half of the reference in a quarter of the time", 10, 20, 100},
      {"events without activity", 0, 0, 300},
      {"no activity in the windows", 0, 20, 300},
  };

  for (const auto& [what, sampled, reference, extrapolated] : rows) {
    const Estimate result = by_reference({.events = 100,
                                          .running = 250,
                                          .enabled = 1000,
                                          .sampled = sampled,
                                          .reference = reference},
                                         kNoHistory);

    EXPECT_DOUBLE_EQ(result.extrapolated, extrapolated) << what;
  }
}

TEST(RatioEstimatorTest, AddsNothingWhenThereWasNoActivity) {
  const Estimate result = by_reference({.running = 250, .enabled = 1000},
                                       {.events = 5, .running = 1, .enabled = 1, .sampled = 1});

  EXPECT_EQ(result.extrapolated, 0);
  EXPECT_EQ(result.size, 0) << "nothing could be learned";
}

TEST(RatioEstimatorTest, BelievesWindowsThatSawTwoFifthsOfTheirShare) {
  const Observed history{.events = 7000, .running = 1000, .enabled = 1000};

  // Two fifths of a share of 1/4 are a tenth of the reference, 80 of 800.
  const Estimate result = by_reference(
      {.events = 160, .running = 250, .enabled = 1000, .sampled = 80, .reference = 800}, history,
      follows_the_reference());

  EXPECT_DOUBLE_EQ(result.extrapolated, 720 * 2.0);
  EXPECT_DOUBLE_EQ(result.information, 0.4);
}

TEST(RatioEstimatorTest, LeansOnHistoryByTheSquareOfWhatIsMissing) {
  const Observed history{
      .events = 1000, .running = 100, .enabled = 400, .sampled = 200, .reference = 800};

  // Half of what is needed, so a quarter of the rate in the windows, and three of history's.
  const Estimate result =
      by_reference({.events = 40, .running = 250, .enabled = 1000, .sampled = 40, .reference = 800},
                   history, follows_the_reference());

  EXPECT_DOUBLE_EQ(result.extrapolated, 760 * (0.25 * 1 + 0.75 * 5));
  EXPECT_DOUBLE_EQ(result.information, 0.2);
}

TEST(RatioEstimatorTest, LeansOnHistoryWhenTheWindowsWereShorterThanASlot) {
  struct Row {
    const char* what;
    Observed interval;
    double extrapolated;
  };
  const Row rows[] = {
      {"2 of the 4 ms of a mux_interval", {2, 2, 20}, 18 * (0.25 * 1 + 0.75 * 3)},
      {"a slot is believed", {4, 4, 20}, 16},
      {"filled without the PMU", {.enabled = 1000}, 3000},
      {"counted in no time: a part of what history expects", {700, 0, 1000}, 2300},
      {"counted in no time: more than that", {4000, 0, 1000}, 0},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);

    const Estimate result = by_time(row.interval, {.events = 300, .running = 100, .enabled = 400});

    EXPECT_DOUBLE_EQ(result.extrapolated, row.extrapolated);
    EXPECT_EQ(result.sampled_size, row.interval.running) << "nothing is learned without the PMU";
  }
}

TEST(RatioEstimatorTest, FillsATargetWithoutHistoryFromWhatAllTargetsKnow) {
  const EventModel model = follows_the_reference();

  const Estimate result = by_reference({.enabled = 1000, .reference = 2000}, kNoHistory, model);

  EXPECT_DOUBLE_EQ(result.extrapolated, 2000 * 5.0);
}

TEST(RatioEstimatorTest, GivesATargetsOwnHistoryTwentyTimesTheWeightOfTheCommonOne) {
  const EventModel model = follows_the_reference();  // 5 for each of the reference
  const Observed history{
      .events = 400, .running = 100, .enabled = 400, .sampled = 200, .reference = 800};

  const Estimate result = by_reference({.enabled = 400, .reference = 800}, history, model);

  EXPECT_DOUBLE_EQ(result.extrapolated, 800 * (400 + 0.05 * 1000) / (200 + 0.05 * 200));
}

TEST(RatioEstimatorTest, StaysFiniteWithAHistoryThatHasFadedToNothing) {
  const Observed faded{.events = 1e19, .running = 1, .enabled = 1, .sampled = 5e-324};

  const Estimate seen_well = by_reference(
      {.events = 100, .running = 250, .enabled = 1000, .sampled = 10, .reference = 20}, faded);
  const Estimate not_seen = by_reference({.running = 250, .enabled = 1000, .reference = 20}, faded);

  EXPECT_DOUBLE_EQ(seen_well.extrapolated, 100);
  EXPECT_LE(not_seen.extrapolated, 0x1p63);
}

TEST(SuccessiveDifferenceTest, ReportsNothingOfTheFirstInterval) {
  const Estimate first{.extrapolated = 300, .sampled_size = 250, .size = 1000};

  EXPECT_EQ(successive_difference_variance(first, 100, 0, 0), 0);
}

TEST(SuccessiveDifferenceTest, IsTheSquareOfTheDifferenceByShares) {
  // 400 events where the interval before, of which as much was seen, would have had 300.
  const Estimate second{.extrapolated = 300, .sampled_size = 250, .size = 1000};

  EXPECT_DOUBLE_EQ(successive_difference_variance(second, 100, 0.3, 250),
                   0.75 * 100 * 100 * 250 / 500);
  EXPECT_DOUBLE_EQ(successive_difference_variance(second, 100, 0.3, 750),
                   0.75 * 100 * 100 * 750 / 1000);
}

TEST(SuccessiveDifferenceTest, IsZeroForWhatWasCountedWhole) {
  const Estimate whole{.extrapolated = 0, .sampled_size = 1000, .size = 1000};

  EXPECT_EQ(successive_difference_variance(whole, 100, 0.3, 250), 0);
}

}  // namespace
}  // namespace pex::estimate
