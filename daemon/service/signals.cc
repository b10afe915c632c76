#include "daemon/service/signals.h"

#include <fcntl.h>

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
  sigset_t handled = set_of_others();
  for (const int signal : kStops) {
    stop_.add(signal);
    ::sigaddset(&handled, signal);  // a parent may have blocked it
  }
  for (const int signal : kOthers) others_.add(signal);
  is_following_ = true;
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
void Signals::ignore_others() {
  const HeldSignals held;
  error_code ignored;
  others_.clear(ignored);
  for (const int signal : kOthers) ::signal(signal, SIG_IGN);  // drops one that is pending, too
  held.restore();
}

void Signals::stop() {
  is_stopped_ = true;
  error_code ignored;
  stop_.clear(ignored);
  if (is_following_) ignore_others();
  stop_.cancel(ignored);
  others_.cancel(ignored);
}

}  // namespace pex::daemon
