#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace pex::daemon {

/// Handles the program's signals, on the loop's thread.
class Signals {
 public:
  struct Handlers {
    std::function<void(const char* signal)> stop;  ///< SIGTERM, SIGINT; called once
    std::function<void()> reload;                  ///< SIGHUP
    std::function<void()> pause;                   ///< SIGUSR1
    std::function<void()> resume;                  ///< SIGUSR2
  };

  Signals(boost::asio::io_context& loop, Handlers handlers);

  /// From now on; they are handled as soon as the loop runs.
  void follow();
  /// Restores the signals, so that the next one ends a program that hangs at its end, and lets the
  /// loop run out of work.
  void stop();

 private:
  void await_stop();
  void await_others();
  void handle(int signal);

  Handlers handlers_;
  boost::asio::signal_set stop_;
  boost::asio::signal_set others_;
  bool is_stopped_ = false;
};

}  // namespace pex::daemon
