#include "perf/group_trial.h"

#include <linux/perf_event.h>

#include <cerrno>

#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::perf::group_trial_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using Answer = test::ScriptedKernel::Answer;
using Outcome = Trial::Outcome;

const Place kCpu3{3, -1, {}};

/// "cycles", then other events of the generic table of hardware events.
std::vector<CounterSpec> events(std::size_t number) {
  std::vector<CounterSpec> specs;
  for (std::size_t config = 0; config < number; ++config) {
    specs.push_back({"event " + std::to_string(config),
                     {.type = PERF_TYPE_HARDWARE, .config = config % PERF_COUNT_HW_MAX}});
  }
  return specs;
}

TEST(GroupTrialTest, FindsThatAGroupCounts) {
  test::ScriptedKernel kernel;

  const Trial trial = try_group(kernel, events(3), kCpu3, {});

  EXPECT_EQ(trial.outcome, Outcome::kCounts);
  EXPECT_FALSE(trial.failure);
  EXPECT_EQ(kernel.enabled("cpu3 cycles"), 1U);
}

TEST(GroupTrialTest, FindsThatAGroupNeverReachesThePmuAlsoWhereTheContextOfTheCpuIsNotActive) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(2);

  for (const int inactive : {0, 3}) {
    kernel.deactivate_contexts(inactive);
    EXPECT_EQ(try_group(kernel, events(2), kCpu3, {}).outcome, Outcome::kCounts) << inactive;
    kernel.deactivate_contexts(inactive);
    EXPECT_EQ(try_group(kernel, events(3), kCpu3, {}).outcome, Outcome::kNeverScheduled);
    EXPECT_EQ(try_group(kernel, events(3), kCpu3, {.pinned = true}).outcome,
              Outcome::kNeverScheduled);
  }
}

TEST(GroupTrialTest, ReportsByWhichEventAGroupIsRefusedAndWhy) {
  test::ScriptedKernel kernel;
  kernel.refuse_groups_larger_than(2, EINVAL);

  const Trial trial = try_group(kernel, events(4), kCpu3, {});

  EXPECT_EQ(trial.outcome, Outcome::kRefused);
  ASSERT_TRUE(trial.failure);
  EXPECT_EQ(trial.failure->event, 2U);
  EXPECT_EQ(trial.failure->error.code, EINVAL);
}

TEST(GroupTrialTest, RefusesMoreEventsThanOneReadCanHold) {
  test::ScriptedKernel kernel;

  const Trial trial = try_group(kernel, events(kMaxGroupEvents + 1), kCpu3, {});

  EXPECT_EQ(trial.outcome, Outcome::kRefused);
  ASSERT_TRUE(trial.failure);
  EXPECT_EQ(trial.failure->event, kMaxGroupEvents);
  EXPECT_EQ(trial.failure->error.code, E2BIG);
  EXPECT_EQ(kernel.opened(), 0U);
}

TEST(GroupTrialTest, WaitsNoLongerThanItsPatience) {
  test::ScriptedKernel kernel;
  kernel.starve_groups_larger_than(0);
  const auto start = std::chrono::steady_clock::now();

  (void)try_group(kernel, events(1), kCpu3, {});

  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, kTrialTimeout);
  EXPECT_LT(waited, 50 * kTrialTimeout);  // however busy this machine is
}

TEST(GroupTrialTest, FindsThatAGroupCountsUnlessItWasSeenToMissThePmu) {
  const Answer answers[] = {
      {Answer::Kind::kCounts, milliseconds{50}, milliseconds{1}, {}, 0},  // reaches it later
      {Answer::Kind::kCounts, milliseconds{0}, milliseconds{0}, {}, 0},   // did not want it
      {Answer::Kind::kError, {}, {}, {}, EIO}};                           // is left to the polls
  for (const Answer& answer : answers) {
    test::ScriptedKernel kernel;
    kernel.answer("cpu3 cycles", answer);

    EXPECT_EQ(try_group(kernel, events(1), kCpu3, {}).outcome, Outcome::kCounts)
        << &answer - answers;
  }
}

TEST(GroupTrialTest, LeavesNothingOpenWhateverItFinds) {
  test::ScriptedKernel fitting;
  test::ScriptedKernel refusing;
  refusing.refuse_groups_larger_than(2, EINVAL);
  test::ScriptedKernel starving;
  starving.starve_groups_larger_than(2);

  for (test::ScriptedKernel* kernel : {&fitting, &refusing, &starving}) {
    (void)try_group(*kernel, events(3), kCpu3, {});
    (void)split_to_fit(*kernel, events(3), kCpu3, {});

    EXPECT_GT(kernel->opened(), 0U);
    EXPECT_EQ(kernel->still_open(), 0U);
  }
}

std::vector<std::size_t> sizes(const std::vector<Piece>& pieces) {
  std::vector<std::size_t> sizes;
  for (const Piece& piece : pieces) sizes.push_back(piece.events);
  return sizes;
}

TEST(SplitToFitTest, MakesPiecesAsLargeAsTheyCanBe) {
  struct Row {
    std::size_t events;
    std::size_t fit;
    std::vector<std::size_t> pieces;
  };
  const Row rows[] = {
      {7, 3, {3, 3, 1}}, {6, 3, {3, 3}}, {7, 7, {7}},       {7, 64, {7}}, {2, 1, {1, 1}},
      {1, 1, {1}},       {7, 6, {6, 1}}, {9, 4, {4, 4, 1}}, {0, 3, {}},
  };

  for (const Row& row : rows) {
    test::ScriptedKernel refusing;
    refusing.refuse_groups_larger_than(row.fit, EINVAL);
    test::ScriptedKernel starving;
    starving.starve_groups_larger_than(row.fit);

    EXPECT_EQ(sizes(split_to_fit(refusing, events(row.events), kCpu3, {})), row.pieces)
        << row.events << " of which " << row.fit << " are not refused";
    EXPECT_EQ(sizes(split_to_fit(starving, events(row.events), kCpu3, {})), row.pieces)
        << row.events << " of which " << row.fit << " get a turn";
  }
}

TEST(SplitToFitTest, GivesAnEventThatDoesNotFitAloneAPieceOfItsOwn) {
  test::ScriptedKernel kernel;
  kernel.refuse("instructions", EINVAL);

  EXPECT_THAT(split_to_fit(kernel, events(4), kCpu3, {}),
              ElementsAre(Piece{1, true}, Piece{1, false}, Piece{2, true}));
}

TEST(SplitToFitTest, NeverMakesAPieceThatOneReadCannotHold) {
  test::ScriptedKernel kernel;

  EXPECT_THAT(split_to_fit(kernel, events(kMaxGroupEvents + 6), kCpu3, {}),
              ElementsAre(Piece{kMaxGroupEvents, true}, Piece{6, true}));
}

TEST(SplitToFitTest, NeverCutsApartWhatBelongsTogether) {
  test::ScriptedKernel small;
  small.refuse_groups_larger_than(2, EINVAL);
  test::ScriptedKernel large;
  large.refuse_groups_larger_than(4, EINVAL);

  EXPECT_THAT(split_to_fit(small, events(5), kCpu3, {}, 3),
              ElementsAre(Piece{3, false}, Piece{2, true}));
  EXPECT_THAT(split_to_fit(large, events(5), kCpu3, {}, 3),
              ElementsAre(Piece{4, true}, Piece{1, true}));
}

}  // namespace
}  // namespace pex::perf::group_trial_test
