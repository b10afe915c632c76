#include "daemon/service/signals.h"

#include <signal.h>

#include <utility>

namespace pex::daemon {

using boost::system::error_code;

Signals::Signals(boost::asio::io_context& loop, Handlers handlers)
    : handlers_(std::move(handlers)), stop_(loop), others_(loop) {}

void Signals::follow() {
  stop_.add(SIGINT);
  stop_.add(SIGTERM);
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2}) others_.add(signal);
  await_stop();
  await_others();
}

void Signals::await_stop() {
  stop_.async_wait([this](const error_code& cancelled, int signal) {
    if (!cancelled) handlers_.stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
  });
}

void Signals::await_others() {
  others_.async_wait([this](const error_code& cancelled, int signal) {
    if (cancelled || is_stopped_) return;
    handle(signal);
    await_others();
  });
}

void Signals::handle(int signal) {
  switch (signal) {
    case SIGHUP:
      return handlers_.reload();
    case SIGUSR1:
      return handlers_.pause();
    default:
      return handlers_.resume();
  }
}

void Signals::stop() {
  is_stopped_ = true;
  error_code ignored;
  stop_.clear(ignored);
  others_.clear(ignored);
  stop_.cancel(ignored);
  others_.cancel(ignored);
}

}  // namespace pex::daemon
