#include "daemon/service/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace pex::daemon {
namespace {

constexpr int kAll[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/// Restores what the process does with signals, and what this thread blocks.
class SignalsTest : public testing::Test {
 protected:
  SignalsTest() {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    for (const int signal : kAll) ::sigaction(signal, nullptr, &actions_[signal]);
  }
  ~SignalsTest() override {
    for (const int signal : kAll) ::sigaction(signal, &actions_[signal], nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

  Signals::Handlers handlers() {
    return {.stop = [this](const char* signal) { handled_ += std::string(signal) + " "; },
            .reload = [this] { handled_ += "reload "; },
            .pause = [this] { handled_ += "pause "; },
            .resume = [this] { handled_ += "resume "; }};
  }

  static bool is_default(int signal) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  }

  boost::asio::io_context loop_;
  std::string handled_;

 private:
  sigset_t mask_;
  struct sigaction actions_[NSIG];
};

TEST_F(SignalsTest, AreHandledAlsoIfTheyCameBeforeTheyWereFollowed) {
  for (const int signal : kAll) ::signal(signal, SIG_DFL);
  Signals signals{loop_, handlers()};
  const HeldSignals held;
  ::raise(SIGHUP);
  ::raise(SIGUSR1);

  signals.follow();
  loop_.poll();
  ::raise(SIGUSR2);
  loop_.poll();

  EXPECT_EQ(handled_, "reload pause resume ");
  signals.stop();
}

TEST_F(SignalsTest, AreAsBeforeForACommand) {
  const HeldSignals held;
  held.restore();

  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  EXPECT_FALSE(::sigismember(&now, SIGHUP));
}

TEST_F(SignalsTest, DoNotEndAProgramThatStopsExceptThoseThatStopItAgainLater) {
  Signals signals{loop_, handlers()};
  signals.follow();

  signals.stop();
  for (const int signal : kAll) ::raise(signal);  // as timeout(1) does
  loop_.run();

  EXPECT_EQ(handled_, "");
  EXPECT_EXIT((::sleep(3), ::raise(SIGTERM)), testing::KilledBySignal(SIGTERM), "");
}

TEST_F(SignalsTest, StayAsTheyAreIfTheyWereNotFollowed) {
  ::signal(SIGHUP, SIG_DFL);
  Signals signals{loop_, handlers()};

  signals.stop();

  EXPECT_TRUE(is_default(SIGHUP));
}

}  // namespace
}  // namespace pex::daemon
