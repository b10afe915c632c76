#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/result.h"
#include "http/server.h"

namespace pex::daemon {

struct PauseRequest {
  static constexpr std::chrono::minutes kUsual{5};
  static constexpr std::chrono::seconds kMin{1};
  static constexpr std::chrono::hours kMax{1};
  static constexpr std::chrono::hours kMaxOfAll{168};

  Counted counted = Counted::kSoftware;                     ///< meanwhile
  std::optional<std::chrono::nanoseconds> length = kUsual;  ///< nothing: it has no end
};

/// The handlers of the paths. Called on the loop's thread.
struct RouteHandlers {
  /// With all errors of the configuration, if there are any.
  using ReloadAnswer = std::function<void(const Result<void, std::vector<Error>>& reloaded)>;

  std::function<void(const http::Request& request, http::Respond respond)> scrape;
  std::function<std::string()> status;  ///< as JSON
  std::function<bool()> is_healthy;
  std::function<std::string()> why_not_ready;  ///< empty: it is
  /// Requests a reload. False: the last one was too recent.
  std::function<bool(ReloadAnswer answer)> reload;
  std::chrono::seconds between_reloads{1};  ///< of clients; and between pauses
  /// Begins a pause, and ends it. `done` is called when the counters are stopped, or started, and
  /// gets the answer. False: the last one was too recent.
  std::function<bool(const PauseRequest&, std::function<void(std::string)> done)> pause;
  std::function<void(std::function<void()> done)> resume;
};

/// Health and readiness alone.
std::vector<http::Route> make_probe_routes(const RouteHandlers& handlers);

/// The routes: the status page and its JSON, the metrics at `telemetry_path`, health, and with
/// `lifecycle` the reload and the pause.
std::vector<http::Route> make_routes(const std::string& telemetry_path, bool lifecycle,
                                     const RouteHandlers& handlers);

}  // namespace pex::daemon
