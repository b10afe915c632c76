#include "daemon/run/truth_watch.h"

#include <utility>

namespace pex::daemon {

TruthWatch::TruthWatch(boost::asio::io_context& loop, std::function<void()> check,
                       std::chrono::nanoseconds every)
    : check_(std::move(check)), every_(every), timer_(loop) {}

void TruthWatch::start() {
  is_running_ = true;
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || !is_running_) return;  // what has expired cannot be cancelled
    check_();
    if (is_running_) start();
  });
}

void TruthWatch::stop() {
  is_running_ = false;
  timer_.cancel();
}

}  // namespace pex::daemon
