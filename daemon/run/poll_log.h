#pragma once

#include <chrono>

#include "daemon/log/logging.h"
#include "targets/poll_report.h"

namespace pex::daemon {

/// Logs what polls report: one line for each cause and minute, however many CPUs and cgroups it
/// concerns. Logs errors of the kernel once.
class PollLog {
 public:
  using Clock = LogThrottle::Clock;

  /// `log` outlives it.
  explicit PollLog(Log& log) : log_(log) {}

  void add(const collect::PollReport& report, Clock::time_point now);

 private:
  void log_failures(const collect::PollReport& report, Clock::time_point now);
  void log_workarounds(const collect::PollReport& report);
  void log_records_again(const collect::PollReport::State& now);
  void log_poll(const collect::PollReport& report);

  Log& log_;
  LogThrottle throttle_;
  collect::PollReport::State before_;
  bool has_logged_mistimed_ = false;
  bool has_logged_rotation_ = false;
};

}  // namespace pex::daemon
