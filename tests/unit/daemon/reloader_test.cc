#include "daemon/run/reloader.h"

#include "support/patience.h"
#include "support/test_headers.h"

namespace pex::daemon::reloader_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const Clock::time_point kNow = Clock::now();

/// Reloads of a configuration that has an error, so that nothing is adopted.
class ReloaderTest : public testing::Test {
 protected:
  bool ask_as_client(Clock::time_point now) {
    return reloader_.request_for_client([this](const Reloader::Outcome&) { ++answered_; }, now);
  }

  void ask_as_operator(Clock::time_point now) {
    reloader_.request([this](const Reloader::Outcome&) { ++answered_; }, now);
  }

  /// Runs the loop until as many are there.
  void await(const int& number, int wanted) {
    (void)test::comes_true([&] {
      loop_.restart();
      loop_.run_for(1ms);
      return number >= wanted;
    });
    ASSERT_EQ(number, wanted);
  }
  void await_answers(int answers) { await(answered_, answers); }

  boost::asio::io_context loop_;
  int begun_ = 0;
  std::optional<Reloader::Configuration> last_;  ///< that was begun with
  int answered_ = 0;
  Reloader reloader_{
      loop_,
      {.begin =
           [this](Reloader::Configuration configuration, const std::function<void()>& go) {
             ++begun_;
             last_ = configuration;
             go();
           },
       .plan =
           [](Reloader::Configuration) {
             return Result<CountingSession, std::vector<Error>>{std::vector{Error{0, "no", ""}}};
           },
       .release = {},
       .adopt = {},
       .left_behind = {},
       .end = [](Reloader::Configuration, const Reloader::Outcome&) {}}};
};

TEST_F(ReloaderTest, RefusesAClientThatComesSoonAfterAReload) {
  EXPECT_TRUE(ask_as_client(kNow));
  await_answers(1);
  EXPECT_FALSE(ask_as_client(kNow + Reloader::kBetweenClients - 1ns));
  EXPECT_EQ(begun_, 1);

  EXPECT_TRUE(ask_as_client(kNow + Reloader::kBetweenClients));
  await_answers(2);
  EXPECT_EQ(begun_, 2);
}

TEST_F(ReloaderTest, BeginsOneEachSecondForClientsThatAskAllTheTime) {
  int taken = 0;
  for (auto passed = 0ms; passed < 4s; passed += 1ms) {
    if (ask_as_client(kNow + passed)) await_answers(++taken);
  }

  EXPECT_EQ(taken, 4);
  EXPECT_EQ(begun_, 4);
}

TEST_F(ReloaderTest, AnswersAllWhoAskDuringAReloadWithTheNextOne) {
  const auto long_ago = kNow - 1h;
  EXPECT_TRUE(ask_as_client(long_ago));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ask_as_client(long_ago));

  await_answers(6);

  EXPECT_EQ(begun_, 2);
}

TEST_F(ReloaderTest, BeginsTheNextOneForClientsASecondAfterTheOneBefore) {
  const auto now = Clock::now();
  EXPECT_TRUE(ask_as_client(now));
  EXPECT_TRUE(ask_as_client(now));

  await_answers(2);

  EXPECT_EQ(begun_, 2);
  EXPECT_GE(Clock::now(), now + Reloader::kBetweenClients);
}

TEST_F(ReloaderTest, LetsTheOperatorReloadAtOnceHoweverOften) {
  for (int i = 1; i <= 3; ++i) {
    ask_as_operator(kNow);
    EXPECT_EQ(begun_, i);
    await_answers(i);
  }
}

TEST_F(ReloaderTest, HasClientsThatWaitForTheirSecondShareTheReloadOfTheOperator) {
  const auto later = kNow + 1h;  // so their second does not end
  EXPECT_TRUE(ask_as_client(later));
  EXPECT_TRUE(ask_as_client(later));
  await_answers(1);
  EXPECT_EQ(begun_, 1);

  ask_as_operator(later);
  await_answers(3);
  loop_.restart();
  loop_.run();  // nothing is left to begin

  EXPECT_EQ(begun_, 2);
}

TEST_F(ReloaderTest, PlansTheConfigurationInForceAgainAndThenReadsTheFileForWhoAskedMeanwhile) {
  reloader_.plan_again(kNow);
  EXPECT_EQ(last_, Reloader::Configuration::kInForce);
  ask_as_operator(kNow);
  EXPECT_EQ(begun_, 1);

  await_answers(1);

  EXPECT_EQ(begun_, 2);
  EXPECT_EQ(last_, Reloader::Configuration::kFile);
}

TEST_F(ReloaderTest, AsksOnItsThreadAndContinuesOnTheLoop) {
  std::thread::id looked_on;
  std::thread::id continued_on;
  int answers = 0;
  const auto look = [&] {
    looked_on = std::this_thread::get_id();
    return true;
  };
  reloader_.ask(Reloader::Question::kTruth, look, [&](bool answer) {
    continued_on = std::this_thread::get_id();
    answers += answer ? 1 : 0;
  });
  await(answers, 1);

  EXPECT_NE(looked_on, std::this_thread::get_id());
  EXPECT_EQ(continued_on, std::this_thread::get_id());
}

TEST_F(ReloaderTest, AQuestionThatHangsIsAskedOnceAndHoldsUpNoEnd) {
  Semaphore answers;
  int asked = 0;
  const auto look = [&] {
    answers.wait();
    return true;
  };
  const auto then = [&](bool) { ++asked; };
  reloader_.ask(Reloader::Question::kGuests, look, then);
  reloader_.ask(Reloader::Question::kGuests, look, then);
  EXPECT_FALSE(reloader_.ends_by(Clock::now()));

  answers.post();
  await(asked, 1);

  EXPECT_TRUE(reloader_.ends_by(Clock::now()));
  reloader_.ask(Reloader::Question::kGuests, look, then);
  answers.post();
  await(asked, 2);
}

TEST_F(ReloaderTest, DropsTheAnswerDuringAReload) {
  int answers = 0;
  reloader_.ask(
      Reloader::Question::kTruth, [] { return true; }, [&](bool) { ++answers; });
  ask_as_operator(kNow);
  await_answers(1);

  EXPECT_EQ(answers, 0);
}

TEST_F(ReloaderTest, DoesNotPlanAgainWhileTheFileIsRead) {
  ask_as_operator(kNow);
  reloader_.plan_again(kNow);

  await_answers(1);

  EXPECT_EQ(begun_, 1);
}

TEST_F(ReloaderTest, LeavesNoWorkToTheLoopWhenItIsStoppedDuringTheSecond) {
  const auto later = kNow + 1h;  // so their second does not end
  EXPECT_TRUE(ask_as_client(later));
  EXPECT_TRUE(ask_as_client(later));
  await_answers(1);

  reloader_.stop();
  loop_.restart();
  loop_.run();

  EXPECT_EQ(begun_, 1);
}

}  // namespace
}  // namespace pex::daemon::reloader_test
