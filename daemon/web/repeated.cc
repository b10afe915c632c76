#include "daemon/web/repeated.h"

#include <boost/system/error_code.hpp>
#include <utility>

namespace pex::daemon {

Repeated::Repeated(boost::asio::io_context& loop, std::chrono::nanoseconds every,
                   std::function<bool()> act)
    : timer_(loop), every_(every), act_(std::move(act)) {}

void Repeated::start() {
  is_running_ = true;
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || !is_running_) return;  // what has expired cannot be cancelled
    if (!act_()) return stop();
    if (is_running_) start();
  });
}

void Repeated::stop() {
  is_running_ = false;
  timer_.cancel();
}

}  // namespace pex::daemon
