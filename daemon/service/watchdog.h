#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

#include "count/collector.h"
#include "daemon/service/liveness.h"
#include "daemon/service/service_manager.h"

namespace pex::daemon {

/// Checks periodically that the collector makes progress, and notifies the service manager, which
/// otherwise ends the program. On the loop's thread.
class Watchdog {
 public:
  struct Source {
    std::function<const collect::Collector*()> collector;  ///< null: nothing is counted now
    std::function<bool()> is_starting;                     ///< a start or a reload is running
  };

  /// `service_manager` outlives it.
  Watchdog(boost::asio::io_context& loop, ServiceManager& service_manager, Source source);

  /// Checks from now on.
  void start();
  /// Lets the loop run out of work.
  void stop();

  /// As of the last check; true before the first.
  bool is_healthy() const { return liveness_.is_alive(); }

 private:
  void check();

  ServiceManager& service_manager_;
  Source source_;
  const std::chrono::microseconds timeout_;  ///< after that long without a sign of life, the
                                             ///< program is ended
  const bool is_watched_;                    ///< by the service manager
  Liveness liveness_;
  boost::asio::steady_timer timer_;
  bool is_stopped_ = false;
};

}  // namespace pex::daemon
