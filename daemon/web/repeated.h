#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace pex::daemon {

/// Does something again and again, on the loop's thread, such as a look at what nothing reports.
class Repeated {
 public:
  /// Called `every` time after start(), and after its last end; false: it stops. `loop` outlives
  /// it.
  Repeated(boost::asio::io_context& loop, std::chrono::nanoseconds every,
           std::function<bool()> act);

  /// Also if it is running.
  void start();
  /// Lets the loop run out of work.
  void stop();
  bool is_running() const { return is_running_; }

 private:
  boost::asio::steady_timer timer_;
  std::chrono::nanoseconds every_;
  std::function<bool()> act_;
  bool is_running_ = false;
};

}  // namespace pex::daemon
