#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/status/status.h"
#include "http/server.h"

namespace pex::daemon {

/// The handlers of the paths. Called on the loop's thread.
struct RouteHandlers {
  /// With all errors of the configuration, if there are any.
  using ReloadAnswer = std::function<void(const Result<void, std::vector<Error>>& reloaded)>;

  std::function<void(const http::Request& request, http::Respond respond)> scrape;
  std::function<Status()> status;
  std::function<bool()> is_healthy;
  std::function<std::string_view()> why_not_ready;  ///< empty: it is
  /// Requests a reload. False: the last one was too recent.
  std::function<bool(ReloadAnswer answer)> reload;
  std::chrono::seconds between_reloads{1};  ///< of clients; and between pauses
  struct PauseLengths {
    std::chrono::nanoseconds usual{};
    std::chrono::nanoseconds shortest{};
    std::chrono::nanoseconds longest{};
  } pause_lengths;
  /// Begins a pause of this length, and ends it. `done` is called when the counters are stopped, or
  /// started. False: the last one was too recent.
  std::function<bool(std::chrono::nanoseconds length, std::function<void()> done)> pause;
  std::function<void(std::function<void()> done)> resume;
};

/// Health and readiness alone.
std::vector<http::Route> make_probe_routes(const RouteHandlers& handlers);

/// The routes: the status page and its JSON, the metrics at `telemetry_path`, health, and with
/// `lifecycle` the reload and the pause.
std::vector<http::Route> make_routes(const std::string& telemetry_path, bool lifecycle,
                                     const RouteHandlers& handlers);

}  // namespace pex::daemon
