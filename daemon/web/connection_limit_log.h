#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "daemon/log/logging.h"
#include "http/server.h"

namespace pex::daemon {

/// Logs, once a minute, how many clients were refused or closed at the limit of connections since
/// the last line, and which peer has most connections.
class ConnectionLimitLog {
 public:
  /// Both outlive it.
  ConnectionLimitLog(boost::asio::io_context& loop, Log& log) : timer_(loop), log_(log) {}

  /// A client was refused or closed; `server` must live until stop().
  void add(const http::Server& server);
  /// Lets the loop run out of work.
  void stop() { timer_.cancel(); }

 private:
  using Clock = std::chrono::steady_clock;

  void write(const http::Server& server, const http::Server::Share& busiest);

  boost::asio::steady_timer timer_;  ///< until the next line
  Log& log_;
  Clock::time_point logged_at_ = {};
  bool is_pending_ = false;
  http::ClientErrors logged_;  ///< as of the last line
};

}  // namespace pex::daemon
