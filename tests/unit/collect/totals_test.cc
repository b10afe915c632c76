#include "collect/totals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace pex::collect {
namespace {

using namespace std::chrono_literals;

/// Two targets of a group of two events that never loses the PMU, each of which has counted.
class ExactTotalsTest : public testing::Test {
 protected:
  ExactTotalsTest() {
    totals_.add_exact(0, 1s, std::vector<std::uint64_t>{10, 20});
    totals_.add_exact(1, 1s, std::vector<std::uint64_t>{30, 40});
  }
  /// An interval in which it had the PMU for half of the time.
  void add_half(std::size_t target) {
    totals_.add(target, {.coverage = estimate::Coverage::kScaled, .enabled = 2s, .running = 1s},
                std::vector<estimate::EventIncrement>{{100, 90, 4}, {200, 180, 9}});
  }
  static void expect(const EventTotal& total, const EventTotal& expected) {
    EXPECT_EQ(total.value, expected.value);
    EXPECT_EQ(total.observed, expected.observed);
    EXPECT_EQ(total.variance, expected.variance);
  }

  GroupTotals totals_{2, false, 2};
};

TEST_F(ExactTotalsTest, AreObservedWithoutEvidence) {
  EXPECT_FALSE(totals_.is_estimated());
  expect(totals_.total(0, 1), {20, 20, 0});
}

TEST_F(ExactTotalsTest, HaveEvidenceFromTheFirstEstimateOn) {
  add_half(0);
  totals_.add_exact(0, 1s, std::vector<std::uint64_t>{1, 2});
  totals_.add_exact(1, 1s, std::vector<std::uint64_t>{3, 4});

  EXPECT_TRUE(totals_.is_estimated());
  expect(totals_.total(0, 0), {10 + 190 + 1, 10 + 100 + 1, 4});
  expect(totals_.total(0, 1), {20 + 380 + 2, 20 + 200 + 2, 9});
  expect(totals_.total(1, 0), {33, 33, 0});
  expect(totals_.total(1, 1), {44, 44, 0});
}

TEST_F(ExactTotalsTest, HaveEvidenceOnceTimeIsUnmeasured) {
  totals_.add_lost(0, 0s);
  totals_.discard_pending(0, 0s);
  EXPECT_FALSE(totals_.is_estimated());
  for (const auto lose :
       {&GroupTotals::add_lost, &GroupTotals::discard_pending, &GroupTotals::add_unmeasured}) {
    GroupTotals totals = totals_;

    (totals.*lose)(0, 1s);

    EXPECT_TRUE(totals.is_estimated());
    expect(totals.total(0, 0), {10, 10, 0});
  }
}

TEST_F(ExactTotalsTest, AreCopiedTargetByTargetAlsoWhenTheEvidenceIsNew) {
  GroupTotals copy = totals_;
  add_half(1);

  copy.copy(totals_, 1);

  EXPECT_TRUE(copy.is_estimated());
  for (std::size_t target : {0, 1}) {
    for (std::size_t event : {0, 1}) {
      expect(copy.total(target, event), totals_.total(target, event));
    }
  }
}

TEST_F(ExactTotalsTest, KeepTheirEvidenceWhenTargetsChange) {
  add_half(0);

  totals_.resize(3);
  totals_.reset(1);

  expect(totals_.total(0, 0), {200, 110, 4});
  expect(totals_.total(1, 0), {0, 0, 0});
  expect(totals_.total(2, 0), {0, 0, 0});
}

}  // namespace
}  // namespace pex::collect
