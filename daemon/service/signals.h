#pragma once

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace pex::daemon {

/// Whether this process ignores it, as its parent may have decided.
bool is_ignored(int signal);

/// Keeps SIGHUP, SIGUSR1 and SIGUSR2 pending, for this thread and those that it starts, until
/// Signals::follow() or restore(). They would end a program that has no handlers yet.
class HeldSignals {
 public:
  HeldSignals();
  /// For a command, which these signals may end, and whose children inherit what is blocked.
  void restore() const;

 private:
  sigset_t before_;
};

/// Handles the program's signals, on the loop's thread.
class Signals {
 public:
  struct Handlers {
    /// SIGTERM, SIGINT, and SIGHUP of a terminal that is closed; called once.
    std::function<void(const char* signal)> stop;
    std::function<void()> reload;  ///< any other SIGHUP
    std::function<void()> pause;   ///< SIGUSR1
    std::function<void()> resume;  ///< SIGUSR2
  };

  Signals(boost::asio::io_context& loop, Handlers handlers);

  /// From now on; they are handled as soon as the loop runs, and so are those that were held.
  void follow();
  /// The next SIGTERM or SIGINT ends a program that hangs at its end, unless it comes within a
  /// second, as a repetition of the first.
  /// Ignores the others: a reload or pause that comes too late is no reason to end otherwise. Lets
  /// the loop run out of work.
  void stop();

 private:
  void await_stop();
  void await_others();
  void handle(int signal);
  void replace_handlers();

  Handlers handlers_;
  boost::asio::signal_set stop_;
  boost::asio::signal_set others_;
  bool is_following_ = false;
  bool ends_with_terminal_ = false;  ///< it has one, and SIGHUP was not ignored, as by nohup(1)
  bool is_stopped_ = false;
};

}  // namespace pex::daemon
