#include "collect/records/group_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// A PMU that has room for so many groups; the first ones of those that are enabled have it.
class GroupTurnsTest : public testing::Test {
 protected:
  void add(std::size_t group) { members_.push_back({group, true, {}}); }
  void remove(std::size_t group) {
    std::erase_if(members_, [group](const auto& member) { return member.group == group; });
  }

  void pass(nanoseconds time) {
    now_ += time;
    busy_ += is_idle_ ? time / 100 : time;
    std::size_t enabled = 0;
    for (GroupTurns::Member& member : members_) {
      if (member.is_enabled && enabled++ >= room_) member.off_pmu += time;
    }
  }
  std::vector<std::size_t> next() {
    std::vector<std::size_t> groups = turns_.next(members_, now_, busy_);
    for (GroupTurns::Member& member : members_) {
      member.is_enabled = std::find(groups.begin(), groups.end(), member.group) != groups.end();
    }
    return groups;
  }
  /// Until the end of the turn, or for a second.
  std::vector<std::size_t> next_turn() {
    pass(turns_.end() ? *turns_.end() - now_ : nanoseconds{1s});
    return next();
  }

  std::size_t room_ = 2;
  nanoseconds now_ = 1h;
  bool is_idle_ = false;
  nanoseconds busy_{};
  std::vector<GroupTurns::Member> members_;
  GroupTurns turns_{0};
};

TEST_F(GroupTurnsTest, AllCountWhileTheyFit) {
  add(1);
  add(4);

  for (int i = 0; i < 3; ++i) EXPECT_THAT(next_turn(), ElementsAre(1, 4));

  EXPECT_FALSE(turns_.end());
}

TEST_F(GroupTurnsTest, WithoutGroupsThereAreNoTurns) {
  EXPECT_THAT(next_turn(), IsEmpty());
  EXPECT_FALSE(turns_.end());
}

TEST_F(GroupTurnsTest, AsManyCountInOneTurnAsFit) {
  for (const std::size_t group : {1, 2, 3, 4}) add(group);
  next();

  std::vector<std::size_t> sizes;
  for (int i = 0; i < 6; ++i) sizes.push_back(next_turn().size());

  EXPECT_THAT(sizes, ElementsAre(3, 2, 2, 2, 2, 2));
}

TEST_F(GroupTurnsTest, EachHasAsManyTurnsAsTheOthers) {
  for (const std::size_t group : {1, 2, 5, 7, 8}) add(group);
  while (next_turn().size() > 2) {
  }

  std::map<std::size_t, int> turns;
  for (int i = 0; i < 20; ++i) {
    for (const std::size_t group : next_turn()) ++turns[group];
  }

  EXPECT_THAT(turns, testing::UnorderedElementsAre(testing::Pair(1, 8), testing::Pair(2, 8),
                                                   testing::Pair(5, 8), testing::Pair(7, 8),
                                                   testing::Pair(8, 8)));
}

TEST_F(GroupTurnsTest, TurnsDifferInLengthAroundTheMean) {
  room_ = 1;
  add(1);
  add(2);
  while (next_turn().size() > 1) {
  }

  std::set<nanoseconds> lengths;
  const nanoseconds begin = now_;
  for (int i = 0; i < 400; ++i) {
    lengths.insert(*turns_.end() - now_);
    next_turn();
  }

  EXPECT_GT(lengths.size(), 390U);
  EXPECT_GE(*lengths.begin(), GroupTurns::kTurn / 2);
  EXPECT_LE(*lengths.rbegin(), GroupTurns::kTurn * 3 / 2);
  EXPECT_NEAR(static_cast<double>((now_ - begin).count()),
              400 * static_cast<double>(GroupTurns::kTurn.count()), 0.05 * 400 * 50e6);
}

TEST_F(GroupTurnsTest, TurnsGetLongerWhileTheCpuIsIdle) {
  room_ = 1;
  add(1);
  add(2);
  while (next_turn().size() > 1) {
  }

  is_idle_ = true;
  for (int i = 0; i < 10; ++i) next_turn();
  const nanoseconds when_idle = *turns_.end() - now_;
  is_idle_ = false;
  next_turn();
  const nanoseconds when_busy = *turns_.end() - now_;

  EXPECT_GE(when_idle, GroupTurns::kMaxTurn / 2);
  EXPECT_LE(when_idle, GroupTurns::kMaxTurn * 3 / 2);
  EXPECT_LE(when_busy, GroupTurns::kTurn * 3 / 2);
}

TEST_F(GroupTurnsTest, OneMoreIsTriedAfterAMinuteAndStaysIfItFits) {
  room_ = 1;
  add(1);
  add(2);
  while (next_turn().size() > 1) {
  }
  const nanoseconds begin = now_;

  while (next_turn().size() == 1) {
  }
  EXPECT_GE(now_ - begin, GroupTurns::kTriesAgain);
  EXPECT_LT(now_ - begin, GroupTurns::kTriesAgain + 2 * GroupTurns::kTurn);
  EXPECT_EQ(next_turn().size(), 1U) << "it did not fit";

  room_ = 2;  // another program has ended
  while (next_turn().size() == 1) {
  }
  EXPECT_FALSE(turns_.end());
  EXPECT_THAT(next_turn(), ElementsAre(1, 2));
}

TEST_F(GroupTurnsTest, OneThatLosesThePmuAloneHasItsTurns) {
  room_ = 0;  // the events of another program are pinned
  add(1);
  add(2);
  while (next_turn().size() > 1) {
  }

  const std::vector<std::size_t> now = next_turn();
  const std::vector<std::size_t> later = next_turn();

  EXPECT_EQ(now.size(), 1U);
  EXPECT_EQ(later.size(), 1U);
  EXPECT_NE(now, later);
}

TEST_F(GroupTurnsTest, ALittleTimeOffThePmuIsNoReason) {
  add(1);
  add(2);
  next();

  pass(1s);
  members_[1].off_pmu += 19ms;

  EXPECT_THAT(next(), ElementsAre(1, 2));
}

TEST_F(GroupTurnsTest, GroupsComeAndGoMeanwhile) {
  room_ = 1;
  add(1);
  add(2);
  while (next_turn().size() > 1) {
  }

  add(3);  // enabled, as it was opened just now
  std::set<std::size_t> counted;
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::size_t> groups = next_turn();
    EXPECT_EQ(groups.size(), 1U);
    counted.insert(groups.begin(), groups.end());
  }
  EXPECT_THAT(counted, ElementsAre(1, 2, 3));

  remove(1);
  remove(2);
  EXPECT_THAT(next_turn(), ElementsAre(3));
  EXPECT_FALSE(turns_.end());
}

}  // namespace
}  // namespace pex::collect
