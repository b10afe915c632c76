#include "daemon/service/watchdog.h"

#include <utility>

namespace pex::daemon {
namespace {

/// Without a watchdog of a service manager, for /-/healthy.
constexpr std::chrono::seconds kDefaultTimeout{30};

/// Checks several times within the timeout. A hang is detected within it: after half of the
/// timeout, and at most one check later.
constexpr int kChecks = 4;

}  // namespace

Watchdog::Watchdog(boost::asio::io_context& loop, ServiceManager& service_manager, Source source)
    : service_manager_(service_manager),
      source_(std::move(source)),
      timeout_(service_manager.watchdog().value_or(kDefaultTimeout)),
      is_watched_(service_manager.watchdog().has_value()),
      liveness_(timeout_ / 2),
      timer_(loop) {}

void Watchdog::start() { check(); }

/// The loop is alive, or it would not run this.
void Watchdog::check() {
  if (is_stopped_) return;
  const collect::Collector* collector = source_.collector();
  liveness_.observe(std::chrono::steady_clock::now(), collector != nullptr && collector->is_busy(),
                    collector == nullptr ? 0 : collector->steps());
  if (liveness_.is_alive()) {
    if (is_watched_) service_manager_.alive();
    if (source_.is_starting()) service_manager_.extend_timeout(timeout_);
  }
  timer_.expires_after(timeout_ / kChecks);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) check();
  });
}

void Watchdog::stop() {
  is_stopped_ = true;
  timer_.cancel();
}

}  // namespace pex::daemon
