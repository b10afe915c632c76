#include "daemon/commands/stat_wait.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/semaphore.h"
#include "daemon/service/signals.h"

namespace pex::daemon {

Result<StatSignals> StatSignals::create() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&signals, signal);
  if (!is_ignored(SIGHUP)) ::sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd) return Error{errno, "wait for signals", "raise ulimit -n"};
  return StatSignals{std::move(fd)};
}

StatSignals::Signal StatSignals::take() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return {};
  return {static_cast<int>(info.ssi_signo), info.ssi_code > 0};  // SI_KERNEL: of the terminal
}

int PassedSignals::pass(const StatSignals::Signal& signal, Clock::time_point now) {
  constexpr std::chrono::seconds kSame{1};
  if (signal.number == 0 || signal.reached_command) return 0;
  const auto [first, is_new] = passed_.try_emplace(signal.number, now);
  if (is_new) return signal.number;
  return now - first->second < kSame ? 0 : SIGKILL;
}

Result<StatWait> StatWait::create(int end_fd, int signal_fd, std::chrono::nanoseconds interval) {
  UniqueFd timer{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  const itimerspec every{timespec_of(interval), timespec_of(interval)};
  if (!timer || ::timerfd_settime(timer.get(), 0, &every, nullptr) != 0) {
    return Error{errno, "create a timer", "raise ulimit -n"};
  }
  return StatWait{end_fd, signal_fd, std::move(timer)};
}

StatWait::Event StatWait::wait() const {
  pollfd files[] = {{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}, {timer_.get(), POLLIN, 0}};
  while (::poll(files, std::size(files), -1) <= 0) {
  }
  if (files[0].revents != 0) return Event::kSignal;
  if (files[1].revents != 0) return Event::kEnded;
  std::uint64_t intervals = 0;
  (void)!::read(timer_.get(), &intervals, sizeof intervals);
  return Event::kInterval;
}

}  // namespace pex::daemon
