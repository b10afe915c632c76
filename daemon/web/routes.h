#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/status/status.h"
#include "http/server.h"

namespace pex::daemon {

/// What the paths show and do. Called on the loop's thread.
struct RouteHandlers {
  /// With everything that is wrong with the configuration, if anything is.
  using ReloadAnswer = std::function<void(const Result<void, std::vector<Error>>& reloaded)>;

  std::function<void(const http::Request& request, http::Respond respond)> scrape;
  std::function<Status()> status;
  std::function<bool()> is_healthy;
  std::function<bool()> is_ready;
  /// Has the configuration read again. False: it comes too soon after the last time.
  std::function<bool(ReloadAnswer answer)> reload;
  std::chrono::seconds between_reloads{1};  ///< of clients
};

/// Which path shows what: the status page and its JSON, the metrics below `telemetry_path`, health,
/// and with `lifecycle` the reload.
std::vector<http::Route> make_routes(const std::string& telemetry_path, bool lifecycle,
                                     const RouteHandlers& handlers);

}  // namespace pex::daemon
