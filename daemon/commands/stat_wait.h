#pragma once

#include <chrono>
#include <map>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::daemon {

/// SIGINT, SIGTERM, SIGQUIT and SIGHUP of the program, as something to wait for: they are blocked
/// from its creation to its end. SIGHUP is left out if it is ignored, as by nohup(1). Created while
/// there is one thread.
class StatSignals {
 public:
  static Result<StatSignals> create();

  int fd() const { return fd_.get(); }

  struct Signal {
    int number = 0;
    bool reached_command = false;  ///< the terminal sent it, to the whole process group
  };
  /// After fd() was readable.
  Signal take() const;

 private:
  explicit StatSignals(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

/// Which signals a command gets from the program: each that the terminal did not send to it anyway.
/// The same one again is SIGKILL, for a command that does not end; but within a second it is
/// ignored, as timeout(1) signals first the program, and then its process group.
class PassedSignals {
 public:
  using Clock = std::chrono::steady_clock;

  /// What to send to the command; 0: nothing.
  int pass(const StatSignals::Signal& signal, Clock::time_point now);

 private:
  std::map<int, Clock::time_point> passed_;  ///< when first
};

/// Waits for the end of an interval, of a process, or for a signal.
class StatWait {
 public:
  enum class Event { kInterval, kEnded, kSignal };

  /// Intervals are counted from now on, whatever the reading between them takes; those that have
  /// passed meanwhile are one. `end_fd` is readable when the process has ended; -1: never. Both
  /// descriptors outlive it.
  static Result<StatWait> create(int end_fd, int signal_fd, std::chrono::nanoseconds interval);

  /// If several have occurred, a signal is first, and an interval last.
  Event wait() const;

 private:
  StatWait(int end_fd, int signal_fd, UniqueFd timer)
      : end_fd_(end_fd), signal_fd_(signal_fd), timer_(std::move(timer)) {}

  int end_fd_;
  int signal_fd_;
  UniqueFd timer_;
};

}  // namespace pex::daemon
