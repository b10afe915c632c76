#include "estimate/missing_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace pex::estimate {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// A cgroup with two clocks, of which the kernel's advances in ticks.
class Clocks {
 public:
  explicit Clocks(double ratio, unsigned seed) : ratio_(ratio), random_(seed) {}

  /// It ran for so long, of which a part was lost.
  MissingTime::Interval ran(nanoseconds time, nanoseconds not_counted, nanoseconds lost) {
    ran_ += static_cast<double>(time.count()) * ratio_;
    const double lag = std::uniform_real_distribution<>{0, 4e6}(random_);
    const double seen = std::max(seen_, ran_ - lag);
    const auto used =
        nanoseconds{static_cast<std::int64_t>(seen) - static_cast<std::int64_t>(seen_)};
    seen_ = seen;
    return {.used = used, .counted = time - not_counted, .lost = lost};
  }
  std::mt19937& random() { return random_; }

 private:
  double ratio_;
  double ran_ = 0;
  double seen_ = 0;
  std::mt19937 random_;
};

TEST(MissingTimeTest, IsThatOfTheCgroupAndNotAllThatWasLost) {
  MissingTime missing;
  Clocks clocks{1.06, 1};
  for (int poll = 0; poll < 20; ++poll) (void)missing.advance(clocks.ran(400ms, 0ms, 0ms));

  const MissingTime::Found found = missing.advance(clocks.ran(400ms, 100ms, 600ms));

  EXPECT_TRUE(found.is_estimate);
  EXPECT_NEAR(static_cast<double>(found.time.count()), 100e6, 10e6);
  EXPECT_LE(std::abs(static_cast<double>(found.time.count()) - 100e6),
            2 * std::sqrt(found.variance));
}

TEST(MissingTimeTest, IsNoneForACgroupThatDidNothing) {
  MissingTime missing;
  Clocks clocks{1.06, 1};
  EXPECT_EQ(missing.advance({.used = 0ms, .counted = 0ms, .lost = 3s}).time, 0ms);
  for (int poll = 0; poll < 20; ++poll) (void)missing.advance(clocks.ran(400ms, 0ms, 0ms));
  EXPECT_LE(missing.advance({.used = 0ms, .counted = 0ms, .lost = 3s}).time, 10ms)
      << "it may be of the last interval";
  const MissingTime::Found found = missing.advance({.used = 0ms, .counted = 0ms, .lost = 3s});
  EXPECT_EQ(found.time + found.unsure, 0ms);
}

TEST(MissingTimeTest, IsABoundWhileTheRatioOfTheClocksIsUnknown) {
  for (const double ratio : {0.95, 1.0, 1.25}) {
    MissingTime missing;
    Clocks clocks{ratio, 1};
    const MissingTime::Found found = missing.advance(clocks.ran(1s, 200ms, 400ms));
    EXPECT_FALSE(found.is_estimate);
    EXPECT_GE(found.time, 200ms) << ratio;
    EXPECT_LE(found.time, 400ms) << ratio;
  }
}

/// What may be of a tick of the kernel's account is not so again in each interval.
TEST(MissingTimeTest, IsABoundOfAllIntervalsWhileTheRatioIsUnknown) {
  for (const double ratio : {0.95, 1.0, 1.25}) {
    MissingTime missing;
    Clocks clocks{ratio, 1};
    nanoseconds bounds{};
    for (int poll = 0; poll < 100; ++poll) {
      bounds += missing.advance(clocks.ran(2ms, 200us, 400ms)).time;
    }
    EXPECT_GE(bounds, 100 * 200us) << ratio;
    EXPECT_LE(bounds, 100 * (200us + 2ms * (ratio * 1.1 - 1)) + 10ms) << ratio;
  }
}

TEST(MissingTimeTest, IsNeverCertainOfACgroupThatRan) {
  MissingTime missing;
  Clocks clocks{1.06, 1};
  for (int poll = 0; poll < 20; ++poll) (void)missing.advance(clocks.ran(400ms, 0ms, 0ms));
  const MissingTime::Found found = missing.advance(clocks.ran(400ms, 0ms, 50us));
  EXPECT_EQ(found.time + found.unsure, 50us);
}

TEST(MissingTimeTest, LearnsTheRatioOfACgroupThatRunsLittleInEachInterval) {
  MissingTime missing;
  Clocks clocks{1.06, 1};
  for (int poll = 0; poll < 30; ++poll) (void)missing.advance(clocks.ran(10ms, 0ms, 0ms));
  EXPECT_TRUE(missing.advance(clocks.ran(10ms, 5ms, 50ms)).is_estimate);
}

TEST(MissingTimeTest, LearnsNothingFromAGroupThatDoesNotCount) {
  MissingTime missing;
  for (int poll = 0; poll < 30; ++poll) (void)missing.advance({1s, 0s, 0s});
  const MissingTime::Found found = missing.advance({1s, 800ms, 300ms});
  EXPECT_FALSE(found.is_estimate);
  EXPECT_EQ(found.time, 300ms);
}

/// Records that were lost are reported with the next one that is written: at a later poll. The
/// ratio of the clocks is known before it, since then, or not at all.
TEST(MissingTimeTest, IsFoundWhenTheLossIsReportedUpToEightIntervalsLater) {
  for (const nanoseconds after : {0ms, 400ms}) {
    for (int before = 1; before < 36; ++before) {
      for (int later = 1; later <= 8; ++later) {
        MissingTime missing;
        Clocks clocks{1.06, 1};
        const auto run = [&](nanoseconds time, nanoseconds not_counted, nanoseconds lost) {
          return missing.advance(clocks.ran(time, not_counted, lost));
        };
        for (int poll = 0; poll < before; ++poll) (void)run(400ms, 0ms, 0ms);
        (void)run(400ms, 300ms, 0ms);
        for (int poll = 1; poll < later; ++poll) (void)run(after, 0ms, 0ms);
        const MissingTime::Found found = run(after, 0ms, 1s);
        const auto time = static_cast<double>(found.time.count());
        EXPECT_GE(time, 270e6) << before << " intervals before, reported after " << later;
        EXPECT_LE(time, found.is_estimate ? 330e6 : 1e9)
            << before << " intervals before, reported after " << later;
      }
    }
  }
}

TEST(MissingTimeTest, IsFoundWhenTheLossIsReportedLaterAndTheRatioIsUnknown) {
  for (int before = 1; before <= 9; ++before) {
    MissingTime missing;
    for (int poll = 0; poll < before; ++poll) (void)missing.advance({20ms, 20ms, 20ms});
    (void)missing.advance({180ms, 0ms, 0ms});
    EXPECT_GE(missing.advance({20ms, 20ms, 1s}).time, 180ms) << before << " intervals before";
  }
}

TEST(MissingTimeTest, IsNeverMoreThanWasLost) {
  MissingTime missing;
  for (int poll = 0; poll < 20; ++poll) (void)missing.advance({1s, 1s, 0s});
  EXPECT_EQ(missing.advance({2s, 1s, 300ms}).time, 300ms);
}

/// Each cgroup loses a part of each sixth poll, of any size, while up to as much was lost of
/// others.
TEST(MissingTimeTest, IsUnbiasedAndItsErrorsAreThoseItStates) {
  double found_all = 0;
  double truth_all = 0;
  double counted_all = 0;
  int covered = 0;
  int losses = 0;
  for (unsigned cgroup = 0; cgroup < 200; ++cgroup) {
    Clocks clocks{0.95 + 0.3 * cgroup / 200, cgroup};
    const auto part = [&] { return std::uniform_real_distribution<>{0, 1}(clocks.random()); };
    const double share = 0.05 + 0.9 * part();
    MissingTime missing;
    for (int poll = 0; poll < 90; ++poll) {
      const double ran = 1e9 * share * (0.7 + 0.6 * part());
      const double lost = poll >= 30 && poll % 6 == 5 ? ran * part() : 0;
      const double of_all = lost > 0 ? lost + 5e8 * part() : 0;
      const auto time = [](double ns) { return nanoseconds{static_cast<std::int64_t>(ns)}; };
      const MissingTime::Found found =
          missing.advance(clocks.ran(time(ran), time(lost), time(of_all)));
      if (poll < 30) continue;
      found_all += static_cast<double>(found.time.count());
      truth_all += lost;
      counted_all += ran - lost;
      if (lost <= 0) continue;
      ++losses;
      const double error = std::abs(static_cast<double>(found.time.count()) - lost);
      covered += error <= 2 * std::sqrt(found.variance) + 1 ? 1 : 0;
    }
  }
  EXPECT_NEAR(found_all / (counted_all + truth_all), truth_all / (counted_all + truth_all), 0.005);
  EXPECT_GE(covered, losses * 90 / 100) << losses;
}

}  // namespace
}  // namespace pex::estimate
