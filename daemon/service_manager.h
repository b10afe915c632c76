#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace pex::daemon {

/// What systemd is told (sd_notify(3)); each call does nothing when no service manager listens.
class ServiceManager {
 public:
  void ready(const std::string& status);
  /// With the time that Type=notify-reload asks for; harmless elsewhere. Ends with ready().
  void reloading();
  void stopping();
  void status(const std::string& status);
  void alive();

  /// How often alive() is due: half of WatchdogSec=. Nothing when there is no watchdog.
  std::optional<std::chrono::microseconds> watchdog_period() const;
};

}  // namespace pex::daemon
