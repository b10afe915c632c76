#include "daemon/reloader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Reloads of a configuration that has a mistake, so that nothing is adopted.
class ReloaderTest : public testing::Test {
 protected:
  bool ask_as_client() {
    return reloader_.request_for_client([this](const Reloader::Outcome&) { ++answered_; });
  }

  void await_answers(int answers) {
    const auto limit = Clock::now() + 20s;
    while (answered_ < answers && Clock::now() < limit) {
      loop_.restart();
      loop_.run_for(1ms);
    }
    ASSERT_EQ(answered_, answers);
  }

  boost::asio::io_context loop_;
  std::vector<Clock::time_point> begun_;
  int answered_ = 0;
  Reloader reloader_{
      loop_,
      {.begin = [this] { begun_.push_back(Clock::now()); },
       .plan =
           [] {
             return Result<Counting, std::vector<Error>>{std::vector{Error{0, "no", ""}}};
           },
       .release = {},
       .adopt = {},
       .left_behind = {},
       .end = [](const Reloader::Outcome&) {}}};
};

TEST_F(ReloaderTest, RefusesAClientThatComesSoonAfterAReload) {
  EXPECT_TRUE(ask_as_client());
  await_answers(1);
  if (Clock::now() < begun_.front() + 500ms) {  // unless the machine was busy meanwhile
    EXPECT_FALSE(ask_as_client());
    EXPECT_EQ(begun_.size(), 1u);
  }

  while (Clock::now() < begun_.front() + Reloader::kBetweenClients) std::this_thread::yield();
  EXPECT_TRUE(ask_as_client());
  await_answers(2);
}

TEST_F(ReloaderTest, BeginsOneEachSecondForClientsThatAskAllTheTime) {
  int taken = 0;
  const auto limit = Clock::now() + 20s;
  while (begun_.size() < 4 && Clock::now() < limit) {
    if (ask_as_client()) ++taken;
    loop_.restart();
    loop_.run_for(1ms);
  }
  await_answers(taken);

  ASSERT_GE(begun_.size(), 4u);
  for (std::size_t i = 1; i < begun_.size(); ++i) {
    EXPECT_GE(begun_[i] - begun_[i - 1], Reloader::kBetweenClients - 10ms);
  }
}

TEST_F(ReloaderTest, AnswersAllWhoAskDuringAReloadWithTheNextOne) {
  EXPECT_TRUE(ask_as_client());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ask_as_client());

  await_answers(6);

  EXPECT_EQ(begun_.size(), 2u);
}

TEST_F(ReloaderTest, LetsTheOperatorReloadAtOnceHoweverOften) {
  for (int i = 1; i <= 3; ++i) {
    reloader_.request([this](const Reloader::Outcome&) { ++answered_; });
    EXPECT_EQ(begun_.size(), static_cast<std::size_t>(i));
    await_answers(i);
  }
}

TEST_F(ReloaderTest, HasClientsThatWaitForTheirSecondShareTheReloadOfTheOperator) {
  EXPECT_TRUE(ask_as_client());
  EXPECT_TRUE(ask_as_client());
  await_answers(1);

  reloader_.request([this](const Reloader::Outcome&) { ++answered_; });
  await_answers(3);
  loop_.restart();
  loop_.run();  // nothing is left to begin

  EXPECT_EQ(begun_.size(), 2u);
}

TEST_F(ReloaderTest, LeavesNoWorkToTheLoopWhenItIsStoppedDuringTheSecond) {
  EXPECT_TRUE(ask_as_client());
  EXPECT_TRUE(ask_as_client());
  await_answers(1);

  reloader_.stop();
  loop_.restart();
  loop_.run();

  EXPECT_EQ(begun_.size(), 1u);
}

}  // namespace
}  // namespace pex::daemon
