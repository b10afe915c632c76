#include "daemon/commands/stat_wait.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

namespace pex::daemon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Event = StatWait::Event;

class StatWaitTest : public testing::Test {
 protected:
  StatWaitTest() {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reads_.reset(ends[0]);
    writes_.reset(ends[1]);
  }
  ~StatWaitTest() override { ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }

  void end_process() { EXPECT_EQ(::write(writes_.get(), "x", 1), 1); }

  sigset_t mask_;
  UniqueFd reads_;
  UniqueFd writes_;
};

TEST_F(StatWaitTest, EndsEachInterval) {
  const Result<StatSignals> signals = StatSignals::create();
  ASSERT_TRUE(signals);
  const auto before = std::chrono::steady_clock::now();
  const Result<StatWait> wait = StatWait::create(reads_.get(), signals->fd(), milliseconds{20});
  ASSERT_TRUE(wait);

  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait->wait(), Event::kInterval);

  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds{60});
}

TEST_F(StatWaitTest, TakesIntervalsThatHavePassedMeanwhileForOne) {
  const Result<StatSignals> signals = StatSignals::create();
  const Result<StatWait> wait = StatWait::create(reads_.get(), signals->fd(), milliseconds{5});
  ASSERT_TRUE(wait);
  ::poll(nullptr, 0, 50);

  EXPECT_EQ(wait->wait(), Event::kInterval);
  end_process();
  EXPECT_EQ(wait->wait(), Event::kEnded);
}

TEST_F(StatWaitTest, EndsWithTheProcess) {
  const Result<StatSignals> signals = StatSignals::create();
  const Result<StatWait> wait = StatWait::create(reads_.get(), signals->fd(), hours{1});
  ASSERT_TRUE(wait);
  end_process();

  EXPECT_EQ(wait->wait(), Event::kEnded);
}

TEST_F(StatWaitTest, TellsASignalOfAnotherProcessFromOneOfTheTerminal) {
  const Result<StatSignals> signals = StatSignals::create();
  const Result<StatWait> wait = StatWait::create(-1, signals->fd(), hours{1});
  ASSERT_TRUE(wait);
  ASSERT_EQ(::raise(SIGTERM), 0);

  EXPECT_EQ(wait->wait(), Event::kSignal);
  const StatSignals::Signal signal = signals->take();
  EXPECT_EQ(signal.number, SIGTERM);
  EXPECT_FALSE(signal.reached_command);
  EXPECT_EQ(signals->take().number, 0);  // there is no other one
}

TEST_F(StatWaitTest, HasNoHangupThatIsIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  const Result<StatSignals> signals = StatSignals::create();
  ASSERT_EQ(::raise(SIGHUP), 0);
  ::signal(SIGHUP, before);

  EXPECT_EQ(signals->take().number, 0);
}

TEST_F(StatWaitTest, HasEachSignalThatEndsPrograms) {
  const auto before = ::signal(SIGHUP, SIG_DFL);  // nohup ignores it
  const Result<StatSignals> signals = StatSignals::create();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    ASSERT_EQ(::raise(signal), 0);
    EXPECT_EQ(signals->take().number, signal);
  }
  ::signal(SIGHUP, before);
}

TEST(PassedSignalsTest, PassesEachSignalOnAndKillsWithTheSameOneASecondLater) {
  PassedSignals passed;
  const PassedSignals::Clock::time_point start{};

  EXPECT_EQ(passed.pass({SIGTERM, false}, start), SIGTERM);
  EXPECT_EQ(passed.pass({SIGTERM, false}, start + milliseconds{999}), 0);
  EXPECT_EQ(passed.pass({SIGHUP, false}, start + milliseconds{999}), SIGHUP);
  EXPECT_EQ(passed.pass({SIGTERM, false}, start + milliseconds{1000}), SIGKILL);
}

TEST(PassedSignalsTest, LeavesSignalsOfTheTerminalToTheCommand) {
  PassedSignals passed;
  const PassedSignals::Clock::time_point start{};

  EXPECT_EQ(passed.pass({SIGINT, true}, start), 0);
  EXPECT_EQ(passed.pass({SIGINT, true}, start + hours{1}), 0);
  EXPECT_EQ(passed.pass({SIGINT, false}, start + hours{2}), SIGINT);
}

TEST(PassedSignalsTest, PassNothingOnWithoutASignal) { EXPECT_EQ(PassedSignals{}.pass({}, {}), 0); }

}  // namespace
}  // namespace pex::daemon
