#include "daemon/service/signals.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"

namespace pex::daemon {

using boost::system::error_code;

namespace {

constexpr int kStops[] = {SIGINT, SIGTERM};
constexpr int kOthers[] = {SIGHUP, SIGUSR1, SIGUSR2};  ///< those that do not stop the program

sigset_t set_of_others() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kOthers) ::sigaddset(&set, signal);
  return set;
}

sigset_t set_of_all() {
  sigset_t set = set_of_others();
  for (const int signal : kStops) ::sigaddset(&set, signal);
  return set;
}

time_t seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

std::atomic<time_t> stopped_at;  ///< when the program began to stop

/// Ends the program, but not within a second of the first signal: timeout(1) and scripts send one
/// to us, and to our process group.
void end_if_repeated(int signal) {
  if (seconds_now() <= stopped_at + 1) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// The controlling terminal can be opened until it is closed (tty(4)). A lack of descriptors says
/// nothing about it.
bool has_terminal() {
  const UniqueFd terminal{::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)};
  return terminal || (errno != ENXIO && errno != EIO && errno != ENOENT);
}

}  // namespace

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

HeldSignals::HeldSignals() {
  const sigset_t held = set_of_others();
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
}

void HeldSignals::restore() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Signals::Signals(boost::asio::io_context& loop, Handlers handlers)
    : handlers_(std::move(handlers)), stop_(loop), others_(loop) {}

void Signals::follow() {
  ends_with_terminal_ = has_terminal() && !is_ignored(SIGHUP);
  for (const int signal : kStops) stop_.add(signal);
  for (const int signal : kOthers) others_.add(signal);
  is_following_ = true;
  const sigset_t handled = set_of_all();  // a parent may have blocked them
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
  await_stop();
  await_others();
}

void Signals::await_stop() {
  stop_.async_wait([this](const error_code& cancelled, int signal) {
    if (!cancelled && !is_stopped_) handlers_.stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
  });
}

void Signals::await_others() {
  others_.async_wait([this](const error_code& cancelled, int signal) {
    if (cancelled || is_stopped_) return;
    handle(signal);
    if (!is_stopped_) await_others();
  });
}

void Signals::handle(int signal) {
  switch (signal) {
    case SIGHUP:
      if (ends_with_terminal_ && !has_terminal()) return handlers_.stop("SIGHUP of the terminal");
      return handlers_.reload();
    case SIGUSR1:
      return handlers_.pause();
    default:
      return handlers_.resume();
  }
}

/// Asio restores their default, which ends the program: they are blocked meanwhile.
void Signals::replace_handlers() {
  const sigset_t handled = set_of_all();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &handled, &before);
  error_code ignored;
  stop_.clear(ignored);
  others_.clear(ignored);
  for (const int signal : kStops) ::signal(signal, end_if_repeated);
  for (const int signal : kOthers) ::signal(signal, SIG_IGN);  // drops one that is pending, too
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Signals::stop() {
  is_stopped_ = true;
  error_code ignored;
  stopped_at = seconds_now();
  if (is_following_) replace_handlers();
  stop_.cancel(ignored);
  others_.cancel(ignored);
}

}  // namespace pex::daemon
