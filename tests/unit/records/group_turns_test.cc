#include "records/group_turns.h"

#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// A PMU that has room for so many groups. Where more are enabled, the kernel rotates them. One
/// that was rotated out when another is stopped comes back with the next start, or when the
/// kernel's timer fires.
class GroupTurnsTest : public testing::Test {
 protected:
  void add(std::size_t group) {
    members_.push_back({group, true, {}});
    turns_.add_member(now_);
  }
  void remove(std::size_t group) {
    std::erase_if(members_, [group](const auto& member) { return member.group == group; });
  }

  void pass(nanoseconds time) {
    now_ += time;
    busy_ += is_idle_ ? time / 100 : time;
    const std::size_t enabled = enabled_ones();
    for (GroupTurns::Member& member : members_) {
      if (!member.is_enabled) continue;
      if (enabled > room_) {
        member.off_pmu += time * (enabled - room_) / enabled;
        rotated_out_.insert(member.group);
      } else if (rotated_out_.erase(member.group) > 0) {
        member.off_pmu += std::min(time, kTimer);
      }
    }
  }
  std::vector<std::size_t> next() {
    std::vector<std::size_t> groups = turns_.next(members_, now_, busy_);
    bool any_started = false;
    for (GroupTurns::Member& member : members_) {
      const bool was_enabled = member.is_enabled;
      member.is_enabled = std::find(groups.begin(), groups.end(), member.group) != groups.end();
      any_started = any_started || (member.is_enabled && !was_enabled);
    }
    if (any_started) rotated_out_.clear();
    return groups;
  }
  /// Until the end of the turn, or for a second.
  std::vector<std::size_t> next_turn() {
    pass(turns_.end() ? *turns_.end() - now_ : nanoseconds{1s});
    return next();
  }
  void begin(std::initializer_list<std::size_t> groups, std::size_t room) {
    room_ = room;
    for (const std::size_t group : groups) add(group);
    next();
  }
  void begin_turns_of_two() {
    begin({1, 2}, 1);
    await(1);
  }
  /// How long it takes until another number counts at once.
  nanoseconds time_until_not(std::size_t together) {
    const nanoseconds begin = now_;
    while (next_turn().size() == together) {
    }
    return now_ - begin;
  }
  /// Until so many count together.
  void await(std::size_t together) {
    for (int turn = 0; turn < 1000; ++turn) {
      if (next_turn().size() == together) return;
    }
    FAIL() << "never " << together << " at once";
  }

  static constexpr nanoseconds kTimer = 4ms;
  std::size_t room_ = 2;
  nanoseconds now_ = 1h;
  bool is_idle_ = false;
  nanoseconds busy_{};
  std::vector<GroupTurns::Member> members_;
  GroupTurns turns_{0};

 private:
  std::size_t enabled_ones() const {
    return static_cast<std::size_t>(std::count_if(
        members_.begin(), members_.end(), [](const auto& member) { return member.is_enabled; }));
  }
  std::set<std::size_t> rotated_out_;
};

TEST_F(GroupTurnsTest, AllCountWhileTheyFit) {
  add(1);
  add(4);

  for (int i = 0; i < 3; ++i) EXPECT_THAT(next_turn(), ElementsAre(1, 4));

  EXPECT_FALSE(turns_.end()) << "one turn has shown it";
}

TEST_F(GroupTurnsTest, WithoutGroupsThereAreNoTurns) {
  EXPECT_THAT(next_turn(), IsEmpty());
  EXPECT_FALSE(turns_.end());
}

TEST_F(GroupTurnsTest, AsManyCountInOneTurnAsFit) {
  for (room_ = 1; room_ < 8; ++room_) {
    SCOPED_TRACE(room_);
    members_.clear();
    turns_ = GroupTurns{0};
    for (std::size_t group = 1; group <= 8; ++group) add(group);
    next();
    await(room_);

    std::set<std::size_t> together;
    for (int i = 0; i < 100; ++i) together.insert(next_turn().size());

    EXPECT_THAT(together, ElementsAre(room_));
  }
}

TEST_F(GroupTurnsTest, ItIsFoundSoonAfterTheStartThatNotAllFit) {
  add(1);
  add(2);
  add(3);
  EXPECT_EQ(turns_.end(), now_);
  const nanoseconds begin = now_;
  next();

  await(2);

  EXPECT_LT(now_ - begin, 3 * GroupTurns::kMaxTurn);
}

TEST_F(GroupTurnsTest, EachHasAsManyTurnsAsTheOthers) {
  begin({1, 2, 5, 7, 8}, 2);
  await(2);
  next_turn();

  std::map<std::size_t, int> turns;
  for (int i = 0; i < 20; ++i) {
    for (const std::size_t group : next_turn()) ++turns[group];
  }

  EXPECT_EQ(turns, (std::map<std::size_t, int>{{1, 8}, {2, 8}, {5, 8}, {7, 8}, {8, 8}}));
}

TEST_F(GroupTurnsTest, TurnsDifferInLengthAroundTheMean) {
  begin_turns_of_two();

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
  begin_turns_of_two();

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

TEST_F(GroupTurnsTest, OneMoreIsTriedForOneTurnAfterAMinuteAndStaysIfItFits) {
  begin_turns_of_two();

  const nanoseconds time = time_until_not(1);
  EXPECT_GE(time, GroupTurns::kTriesAgain);
  EXPECT_LT(time, GroupTurns::kTriesAgain + 2 * GroupTurns::kMaxTurn);
  ASSERT_TRUE(turns_.end());
  EXPECT_LT(*turns_.end() - now_, GroupTurns::kMaxTurn * 3 / 2);
  EXPECT_EQ(next_turn().size(), 1U) << "it did not fit";

  room_ = 2;  // another program has ended
  (void)time_until_not(1);
  EXPECT_THAT(next_turn(), ElementsAre(1, 2));
  EXPECT_FALSE(turns_.end());
}

TEST_F(GroupTurnsTest, AnotherOneMoreIsTriedAMinuteLater) {
  begin_turns_of_two();
  add(3);
  room_ = 3;
  (void)time_until_not(1);

  EXPECT_GE(time_until_not(2), GroupTurns::kTriesAgain);
}

TEST_F(GroupTurnsTest, OnesThatLoseThePmuAloneAreLeftToTheKernelForAMinute) {
  begin({1, 2}, 0);  // the events of another program are pinned
  await(1);
  await(2);
  EXPECT_FALSE(turns_.end());

  const nanoseconds time = time_until_not(2);

  EXPECT_GE(time, GroupTurns::kTriesAgain);
  EXPECT_LT(time, GroupTurns::kTriesAgain + 4s);
  room_ = 1;
  await(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(next_turn().size(), 1U);
}

TEST_F(GroupTurnsTest, OneThatIsEnabledMeanwhileIsNoReasonForFewer) {
  begin({1, 2, 3, 4}, 3);
  await(3);
  remove(4);  // paused
  next_turn();

  add(4);  // and so one more than fits, until the turn
  pass(1ms);
  next();

  for (int i = 0; i < 100; ++i) EXPECT_EQ(next_turn().size(), 3U);
}

TEST_F(GroupTurnsTest, AllCountWhileNoTurnCanBegin) {
  begin_turns_of_two();
  next_turn();

  turns_.interrupt();

  EXPECT_FALSE(turns_.end());
  for (GroupTurns::Member& member : members_) member.is_enabled = true;
  EXPECT_EQ(next_turn().size(), 1U) << "it is known how many fit";
}

TEST_F(GroupTurnsTest, ALittleTimeOffThePmuIsNoReason) {
  begin({1, 2}, 2);
  next_turn();

  pass(1s);
  members_[1].off_pmu += 19ms;

  EXPECT_THAT(next(), ElementsAre(1, 2));
}

TEST_F(GroupTurnsTest, GroupsComeAndGoMeanwhile) {
  begin_turns_of_two();

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
