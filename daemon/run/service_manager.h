#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pex::daemon {

class Outbox;

/// What systemd is told (sd_notify(3)); each call does nothing when no service manager listens. One
/// that does not read keeps nobody waiting: what it is told goes through a queue to a thread, and
/// is dropped when it has not read the 64 last ones.
class ServiceManager {
 public:
  ServiceManager();
  ~ServiceManager();

  void ready(const std::string& status);
  /// With the time that Type=notify-reload asks for; harmless elsewhere. Ends with ready().
  void reloading();
  void stopping();
  void status(const std::string& status);
  void alive();

  /// A start or a reload goes on, and may take that much longer from now (TimeoutStartSec=).
  void extend_timeout(std::chrono::microseconds time);

  /// The sockets that were passed (sd_listen_fds(3)), once: the caller owns them. Fails when there
  /// are none.
  static Result<std::vector<int>> take_sockets();

  /// WatchdogSec=: after that long without alive(), we are killed. Nothing when there is no
  /// watchdog.
  std::optional<std::chrono::microseconds> watchdog() const;

 private:
  void notify(std::string state);

  std::unique_ptr<Outbox> outbox_;  ///< none where nobody listens
};

}  // namespace pex::daemon
