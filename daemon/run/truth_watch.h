#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace pex::daemon {

/// Asks for a check of the events that are counted, once an hour: a virtual machine may move to a
/// host with another PMU. On the loop's thread.
class TruthWatch {
 public:
  static constexpr std::chrono::hours kEvery{1};

  TruthWatch(boost::asio::io_context& loop, std::function<void()> check,
             std::chrono::nanoseconds every = kEvery);

  void start();
  /// Lets the loop run out of work.
  void stop();

 private:
  std::function<void()> check_;
  std::chrono::nanoseconds every_;
  boost::asio::steady_timer timer_;
  bool is_running_ = false;
};

}  // namespace pex::daemon
