#include "daemon/run/start_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pex::daemon {
namespace {

using StartStep = StartState::Step;

StartState a_start(const std::string& boot = "one") { return {"1.0", "hash", boot}; }

/// A start that ended in this step.
StartState that_ended(StartState state, StartStep step, const std::string& group = {}) {
  state.step = step;
  state.group = group;
  return state;
}

TEST(StartStateTest, CountsEverythingAtFirst) {
  const StartState first = next_start({}, a_start());

  EXPECT_EQ(first.counted, Counted::kAll);
  EXPECT_EQ(first.step, StartStep::kPlanning);
}

TEST(StartStateTest, CountsLessAfterThreeCrashesAndNothingAfterThreeMore) {
  StartState state = next_start({}, a_start());
  std::vector<Counted> counted;
  for (int crash = 0; crash < 7; ++crash) {
    const StartStep step = crash % 2 == 0 ? StartStep::kPlanning : StartStep::kOpening;
    state = next_start(that_ended(state, step), a_start());
    counted.push_back(state.counted);
  }

  using enum Counted;
  EXPECT_EQ(counted,
            (std::vector{kAll, kAll, kSoftware, kSoftware, kSoftware, kNothing, kNothing}));
}

TEST(StartStateTest, SaysWhereTheLastStartCrashed) {
  StartState state = next_start({}, a_start());
  for (int crash = 0; crash < 3; ++crash) {
    state = next_start(that_ended(state, StartStep::kPlanning, "core"), a_start());
  }
  EXPECT_EQ(state.cause, "the exporter crashed three times, at last while it tried group 'core'");

  state = next_start(that_ended(state, StartStep::kOpening), a_start("two"));
  EXPECT_EQ(state.cause, "the machine stopped in its first poll");
  EXPECT_EQ(state.counted, Counted::kNothing);
}

TEST(StartStateTest, TakesAStopOfTheMachineUpToAMinuteAfterTheFirstPollForACrash) {
  const StartState first = next_start({}, a_start());
  const auto counted_after = [&](StartStep step) {
    return next_start(that_ended(first, step), a_start("two")).counted;
  };

  EXPECT_EQ(counted_after(StartStep::kPlanning), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kOpening), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kPolled), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kSettled), Counted::kAll);
  EXPECT_EQ(counted_after(StartStep::kEnded), Counted::kAll);
}

TEST(StartStateTest, AnEndAfterTheFirstPollOrOnRequestIsNoCrash) {
  for (const StartStep step : {StartStep::kPolled, StartStep::kSettled, StartStep::kEnded}) {
    StartState state = next_start({}, a_start());
    for (int end = 0; end < 9; ++end) state = next_start(that_ended(state, step), a_start());
    EXPECT_EQ(state.counted, Counted::kAll);
    EXPECT_EQ(state.crashes, 0U);
  }
}

TEST(StartStateTest, StaysReducedOverGoodStartsUntilTheVersionOrTheConfigurationIsAnother) {
  StartState state = next_start(that_ended(a_start(), StartStep::kOpening), a_start("two"));
  state = next_start(that_ended(state, StartStep::kSettled), a_start("three"));
  EXPECT_EQ(state.counted, Counted::kSoftware);
  EXPECT_EQ(state.cause, "the machine stopped in its first poll");

  for (const StartState& other :
       {StartState{"1.1", "hash", "three"}, StartState{"1.0", "other", "three"}}) {
    EXPECT_EQ(next_start(that_ended(state, StartStep::kOpening), other).counted, Counted::kAll);
  }
}

TEST(StartStateTest, IsReadAsItWasWritten) {
  StartState state = a_start();
  state.counted = Counted::kSoftware;
  state.cause = "the machine stopped while it tried group 'a'";
  state.crashes = 2;
  state.group = "core";

  EXPECT_EQ(start_state_of(to_text(state)), state);
}

TEST(StartStateTest, AnIncompleteTextIsNone) {
  const std::string text = to_text(a_start());
  for (const std::string& part :
       {std::string{}, std::string{"step=planning\n"}, text.substr(0, text.find("step")),
        std::string{"step=planning\ncounted=all\ncrashes=3\n"}}) {
    EXPECT_FALSE(start_state_of(part)) << part;
  }
}

}  // namespace
}  // namespace pex::daemon
