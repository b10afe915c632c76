#include "count/increments.h"

#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

/// What each slot gets, summed up.
struct Sums {
  std::map<std::size_t, EventTotal> totals;
  std::map<std::size_t, GroupTimes> times;
  std::map<std::size_t, std::chrono::nanoseconds> lost;
  std::map<std::size_t, std::vector<GroupState>> states;

  void add_exact(std::size_t slot, std::chrono::nanoseconds enabled,
                 std::span<const std::uint64_t> counts) {
    times[slot].add({.enabled = enabled, .running = enabled});
    totals[slot].add({counts[0], counts[0], 0});
  }
  void add(std::size_t slot, const GroupTimes& more, std::span<const EventTotal> counts) {
    times[slot].add(more);
    totals[slot].add(counts[0]);
  }
  void add_lost(std::size_t slot, std::chrono::nanoseconds time) { lost[slot] += time; }
  void change_state(std::size_t slot, const GroupState& before, const GroupState& now) {
    states[slot] = {before, now};
  }
  std::map<std::size_t, std::uint64_t> values() const {
    std::map<std::size_t, std::uint64_t> values;
    for (const auto& [slot, total] : totals) values[slot] = total.value;
    return values;
  }
};

Sums sums_in(const Increments& increments, SlotRange range = {0, 100}) {
  Sums sums;
  increments.for_each(range, sums);
  return sums;
}

constexpr estimate::GroupIncrement kHalf{
    .coverage = estimate::Coverage::kScaled, .enabled = 2s, .running = 1s};
const std::vector<std::uint64_t> kFive = {5};

TEST(IncrementsTest, HaveAllThatWasAdded) {
  Increments increments{1};
  increments.add_exact(3, 1s, kFive);
  increments.add(3, kHalf, std::vector<estimate::EventIncrement>{{100, 90, 4}});
  increments.add_times(3, {.enabled = 7s, .unmeasured = 7s});
  increments.add_lost(3, 2s);

  const Sums sums = sums_in(increments);

  EXPECT_EQ(sums.totals.at(3).value, 5U + 100 + 90);
  EXPECT_EQ(sums.lost.at(3), 2s);
  EXPECT_EQ(sums.totals.at(3).observed, 5U + 100);
  EXPECT_EQ(sums.totals.at(3).variance, 4);
  EXPECT_EQ(sums.times.at(3).enabled, 10s);
  EXPECT_EQ(sums.times.at(3).running, 2s);
  EXPECT_EQ(sums.times.at(3).unmeasured, 7s);
}

TEST(IncrementsTest, AreEstimatedOnceAnyIs) {
  Increments increments{1};
  increments.add_exact(0, 1s, kFive);
  EXPECT_FALSE(increments.is_estimated());

  increments.add_times(0, {.enabled = 1s, .unmeasured = 1s});
  EXPECT_TRUE(increments.is_estimated());
}

TEST(IncrementsTest, OfARangeAreThoseOfItsSlotsInWhateverOrderTheyWereCounted) {
  Increments rising{1};
  for (const std::size_t slot : {1, 2, 3, 4}) rising.add_exact(slot, 1s, kFive);
  Increments mixed{1};
  for (const std::size_t slot : {4, 2, 3, 1, 2}) mixed.add_exact(slot, 1s, kFive);

  EXPECT_THAT(sums_in(rising, {2, 4}).values(), ElementsAre(Pair(2, 5), Pair(3, 5)));
  EXPECT_THAT(sums_in(mixed, {2, 4}).values(), ElementsAre(Pair(2, 10), Pair(3, 5)));
}

TEST(IncrementsTest, HaveTheChangesOfState) {
  Increments increments{1};
  increments.change_state(2, {}, {.is_wanted = true});

  EXPECT_THAT(sums_in(increments).states,
              ElementsAre(Pair(2, ElementsAre(GroupState{}, GroupState{.is_wanted = true}))));
}

TEST(IncrementsTest, AreNoneOnceTheyAreCleared) {
  Increments increments{1};
  increments.add_exact(3, 1s, kFive);
  increments.add_times(2, {.enabled = 1s});
  increments.change_state(2, {}, {.is_wanted = true});
  increments.clear();
  increments.add_exact(1, 1s, kFive);

  const Sums sums = sums_in(increments);

  EXPECT_THAT(sums.values(), ElementsAre(Pair(1, 5)));
  EXPECT_TRUE(sums.states.empty());
  EXPECT_FALSE(increments.is_estimated());
}

}  // namespace
}  // namespace pex::collect
