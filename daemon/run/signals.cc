#include "daemon/run/signals.h"

#include <signal.h>

#include <utility>

namespace pex::daemon {

using boost::system::error_code;

Signals::Signals(boost::asio::io_context& loop, Handlers handlers)
    : handlers_(std::move(handlers)), stop_(loop), reload_(loop) {}

void Signals::follow() {
  stop_.add(SIGINT);
  stop_.add(SIGTERM);
  reload_.add(SIGHUP);
  await_stop();
  await_reload();
}

void Signals::await_stop() {
  stop_.async_wait([this](const error_code& cancelled, int signal) {
    if (!cancelled) handlers_.stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
  });
}

void Signals::await_reload() {
  reload_.async_wait([this](const error_code& cancelled, int) {
    if (cancelled || is_stopped_) return;
    handlers_.reload();
    await_reload();
  });
}

void Signals::stop() {
  is_stopped_ = true;
  error_code ignored;
  stop_.clear(ignored);
  reload_.clear(ignored);
  stop_.cancel(ignored);
  reload_.cancel(ignored);
}

}  // namespace pex::daemon
