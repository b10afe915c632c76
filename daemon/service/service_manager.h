#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pex::daemon {

class Outbox;

/// Notifies systemd (sd_notify(3)); each call does nothing without a service manager. A service
/// manager that does not read delays nothing: notifications go through a queue to a thread, and are
/// dropped if the last 64 are still unread.
class ServiceManager {
 public:
  ServiceManager();
  ~ServiceManager();

  void ready(const std::string& status);
  /// With the time that Type=notify-reload requires; harmless elsewhere. Followed by ready().
  void reloading();
  void stopping();
  void status(const std::string& status);
  void alive();

  /// A start or a reload is running, and may take that much longer from now (TimeoutStartSec=).
  void extend_timeout(std::chrono::microseconds time);

  /// The sockets that were passed (sd_listen_fds(3)), once: the caller owns them. Fails if there
  /// are none.
  static Result<std::vector<int>> take_sockets();

  /// WatchdogSec=: after that long without alive(), the service manager kills the program. Nothing
  /// without a watchdog.
  std::optional<std::chrono::microseconds> watchdog() const;

 private:
  void notify(std::string state);

  std::unique_ptr<Outbox> outbox_;  ///< none without a service manager
};

}  // namespace pex::daemon
