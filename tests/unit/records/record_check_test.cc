#include "records/record_check.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/events.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using Side = CgroupSums::Sum;

std::optional<std::string> difference(const Side& records, const Side& descriptors) {
  const ScopePlan plan = test::scope_plan({{"software", {"task-clock", "page-faults"}}});
  return find_difference({records, descriptors}, plan.groups[0].events);
}

TEST(FindDifference, IsNothingForTheSameCounts) {
  EXPECT_EQ(difference({50ms, {50'000'000, 1000}}, {50ms, {50'000'000, 1000}}), std::nullopt);
}

TEST(FindDifference, IsNothingForWhatHappensAtTheBordersOfTheInterval) {
  EXPECT_EQ(difference({50ms, {0, 1004}}, {50ms, {0, 1000}}), std::nullopt);
  EXPECT_EQ(difference({50ms, {0, 100'200}}, {50ms, {0, 100'000}}), std::nullopt);
}

TEST(FindDifference, IsNothingForTheTimeThatTheClockOfDescriptorsStops) {
  EXPECT_EQ(difference({105ms, {105'000'000, 0}}, {98ms, {98'000'000, 0}}), std::nullopt);
}

TEST(FindDifference, NamesTheCountThatDiffersMost) {
  EXPECT_EQ(difference({70ms, {70'000'000, 9000}}, {50ms, {50'000'000, 1000}}),
            "page-faults: records 9000, descriptors 1000");
}

TEST(FindDifference, FindsATimeThatIsTooLong) {
  EXPECT_EQ(difference({70ms, {50'000'000, 1000}}, {50ms, {50'000'000, 1000}}),
            "ns on the CPU: records 70000000, descriptors 50000000");
}

TEST(FindDifference, FindsAClockThatIsTooSlow) {
  EXPECT_EQ(difference({50ms, {30'000'000, 1000}}, {50ms, {50'000'000, 1000}}),
            "task-clock: records 30000000, descriptors 50000000");
}

}  // namespace
}  // namespace pex::collect
