#include "daemon/run/hierarchy_watch.h"

#include <utility>

namespace pex::daemon {

HierarchyWatch::HierarchyWatch(boost::asio::io_context& loop, Steps steps,
                               std::chrono::nanoseconds every)
    : steps_(std::move(steps)), every_(every), timer_(loop) {}

void HierarchyWatch::start() {
  is_waiting_ = true;
  wait();
}

void HierarchyWatch::wait() {
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || !is_waiting_) return;  // what has expired cannot be cancelled
    if (!steps_.is_there()) return wait();
    is_waiting_ = false;
    steps_.on_found();
  });
}

void HierarchyWatch::stop() {
  is_waiting_ = false;
  timer_.cancel();
}

}  // namespace pex::daemon
