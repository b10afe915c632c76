#include "estimate/event_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace pex::estimate {
namespace {

constexpr double kSecond = 1e9;  // ns

/// Polls of a second, a quarter of it on the PMU, under a load that comes and goes: the windows
/// see between 0.5 and 1.5 times their share of the reference.
class Load {
 public:
  explicit Load(std::uint64_t seed) : random_(seed) {}

  /// An event with so many for each ns, and so many for each reference event.
  Observed next(double per_time, double per_reference) {
    Observed interval;
    interval.enabled = kSecond;
    interval.running = kSecond / 4;
    interval.reference = kSecond * between(0.2, 0.8);
    interval.sampled = interval.reference / 4 * between(0.5, 1.5);
    interval.events = per_time * interval.running + per_reference * interval.sampled;
    return interval;
  }

 private:
  double between(double low, double high) {
    return std::uniform_real_distribution{low, high}(random_);
  }
  std::mt19937_64 random_;
};

ModelUpdate update_of(const Observed& interval) {
  ModelUpdate update;
  update.add(interval);
  return update;
}

void teach(EventModel& model, Load& load, int polls, double per_time, double per_reference) {
  for (int i = 0; i < polls; ++i) model.learn(update_of(load.next(per_time, per_reference)));
}

TEST(EventModelTest, FollowsTheReferenceWhileNothingIsKnown) {
  const EventModel model;

  EXPECT_EQ(model.reference_weight(), 1.0);
  EXPECT_EQ(model.reference_rate(), 0.0);
  EXPECT_EQ(model.mean().running, 0.0);
}

TEST(EventModelTest, FollowsTheReferenceAsFarAsTheEventDoesAndStaysBetweenItAndTime) {
  struct Row {
    const char* what;
    double per_time, per_reference;
    double least, most;
  };
  const Row rows[] = {
      {"proportional to the reference", 0, 3, 0.999, 1},
      {"proportional to time", 3, 0, 0, 0.01},
      {"to both, as the mean reference is half an event for each ns", 1, 2, 0.45, 0.55},
      {"fewer when active", 3, -1, 0, 0},
      {"overreacts", -0.5, 3, 1, 1},
  };

  for (std::uint64_t seed = 1; const Row& row : rows) {
    SCOPED_TRACE(row.what);
    EventModel model;
    Load load{seed++};

    teach(model, load, 200, row.per_time, row.per_reference);

    EXPECT_GE(model.reference_weight(), row.least);
    EXPECT_LE(model.reference_weight(), row.most);
  }
}

TEST(EventModelTest, KnowsTheRateOfTheReferenceInTheWindows) {
  EventModel model;
  ModelUpdate update;
  update.add({.events = 10, .running = 100, .enabled = 400, .sampled = 50, .reference = 90});
  update.add({.events = 10, .running = 300, .enabled = 400, .sampled = 50, .reference = 90});

  model.learn(update);

  EXPECT_DOUBLE_EQ(model.reference_rate(), 100.0 / 400.0);
}

TEST(EventModelTest, LearnsNothingAboutTheReferenceFromAnIntervalThatWasCountedWhole) {
  EventModel model;

  model.learn(
      update_of({.events = 10, .running = 400, .enabled = 400, .sampled = 90, .reference = 90}));

  EXPECT_EQ(model.reference_rate(), 0.0);
  EXPECT_EQ(model.mean().running, 400.0) << "but something about the event";
}

TEST(EventModelTest, LearnsNothingFromAnIntervalWithoutThePmu) {
  EventModel model;

  model.learn(update_of({.events = 10, .enabled = 400, .reference = 90}));

  EXPECT_EQ(model.reference_rate(), 0.0);
  EXPECT_EQ(model.mean().enabled, 0.0);
}

TEST(EventModelTest, RemembersTheRateOfAReferenceThatStoppedToBeSeen) {
  EventModel model;
  ModelUpdate without;
  for (int i = 0; i < 1000; ++i) {
    without.add({.events = 1, .running = 1, .enabled = 4, .reference = 9});
  }
  model.learn(
      update_of({.events = 8, .running = 100, .enabled = 400, .sampled = 50, .reference = 200}));

  for (int poll = 0; poll < 1000; ++poll) model.learn(without);

  EXPECT_GT(model.reference_rate(), 1e-9) << "a size by time must not vanish";
}

TEST(EventModelTest, LearnsNothingFromNoLessons) {
  EventModel model;
  Load load{6};
  teach(model, load, 10, 1, 1);
  const double weight = model.reference_weight();
  const double rate = model.reference_rate();

  for (int i = 0; i < 1000; ++i) model.learn(ModelUpdate{});

  EXPECT_EQ(model.reference_weight(), weight);
  EXPECT_EQ(model.reference_rate(), rate);
}

TEST(EventModelTest, ForgetsWithinSomeThousandIntervalsAndNotWithinAHundred) {
  EventModel model;
  Load load{7};
  teach(model, load, 3000, 0, 3);
  ASSERT_GT(model.reference_weight(), 0.999);

  teach(model, load, 100, 1.5, 0);
  EXPECT_GT(model.reference_weight(), 0.8);

  teach(model, load, 5000, 1.5, 0);
  EXPECT_LT(model.reference_weight(), 0.05);
}

TEST(EventModelTest, ForgetsByIntervalsAndNotByPolls) {
  EventModel one_target;
  EventModel hundred_targets;
  Load load{8};
  Load same_load{8};
  teach(one_target, load, 3000, 0, 3);
  teach(hundred_targets, same_load, 3000, 0, 3);

  for (int poll = 0; poll < 10; ++poll) {
    ModelUpdate update;
    for (int target = 0; target < 100; ++target) {
      const Observed interval = load.next(1.5, 0);
      one_target.learn(update_of(interval));
      update.add(interval);
    }
    hundred_targets.learn(update);
  }

  EXPECT_NEAR(hundred_targets.reference_weight(), one_target.reference_weight(), 0.02);
}

TEST(EventModelTest, TakesTheFirstMeanAsItIsAndThenATwentiethOfEach) {
  EventModel model;

  model.learn(update_of({.events = 100, .running = 10, .enabled = 20}));
  EXPECT_DOUBLE_EQ(model.mean().events, 100);

  model.learn(update_of({.events = 300, .running = 30, .enabled = 60}));
  EXPECT_DOUBLE_EQ(model.mean().events, 110);
  EXPECT_DOUBLE_EQ(model.mean().running, 11);
  EXPECT_DOUBLE_EQ(model.mean().enabled, 22);
}

TEST(EventModelTest, MeansTheIntervalsOfAllTargets) {
  EventModel model;
  ModelUpdate update;
  update.add({.events = 100, .running = 10, .enabled = 20});
  update.add({.events = 300, .running = 30, .enabled = 60});

  model.learn(update);

  EXPECT_DOUBLE_EQ(model.mean().events, 200);
  EXPECT_DOUBLE_EQ(model.mean().running, 20);
}

RC_GTEST_PROP(LessonsTest, TeachTheSameTogetherAsOneByOne, ()) {
  const auto targets = *rc::gen::inRange(0, 20);
  const auto split = *rc::gen::inRange(0, targets + 1);
  Load load{*rc::gen::arbitrary<std::uint64_t>()};
  ModelUpdate one_by_one;
  ModelUpdate first;
  ModelUpdate second;
  for (int target = 0; target < targets; ++target) {
    const Observed interval = load.next(1, 2);
    one_by_one.add(interval);
    (target < split ? first : second).add(interval);
  }
  first.add(second);

  EventModel together;
  EventModel apart;
  together.learn(first);
  apart.learn(one_by_one);

  RC_ASSERT(std::abs(together.reference_weight() - apart.reference_weight()) < 1e-6);
  RC_ASSERT(std::abs(together.reference_rate() - apart.reference_rate()) < 1e-12);
  RC_ASSERT(std::abs(together.mean().events - apart.mean().events) <= 1e-12 * apart.mean().events);
}

}  // namespace
}  // namespace pex::estimate
