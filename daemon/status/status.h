#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/web_protections.h"
#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "history/activity.h"
#include "host/self_process.h"
#include "plan/plan.h"
#include "targets/poll_report.h"

namespace pex::daemon {

/// The configuration in force, and the result of the last load.
struct ConfigurationLoad {
  std::string file;  ///< empty: the embedded default
  BootClock::time_point in_force_since;
  BootClock::time_point last_tried;
  std::vector<std::string> errors;  ///< of the last load; none if it succeeded
};

/// The web configuration in force, which differs from the file after a failed load.
struct WebConfigurationLoad {
  ConfigurationLoad load;
  std::vector<access::ProtectionState> protections;  ///< in force
  std::vector<std::string> downgrades;               ///< caused by the load in force
};

/// What the status is made from. Polls are counted from the start, over all reloads.
struct StatusInputs {
  std::string version;
  BootClock::time_point now;
  BootClock::time_point started;
  std::chrono::nanoseconds interval{};
  std::uint64_t polls = 0;
  std::uint64_t overruns = 0;
  std::uint64_t cgroups_missed = 0;
  std::vector<std::string> warnings = {};
  ConfigurationLoad configuration = {};
  std::optional<WebConfigurationLoad> web_configuration = {};  ///< nothing without such a file
  std::string telemetry_path;
  const plan::Plan& plan;
  const collect::Snapshot* snapshot = nullptr;  ///< null before the first poll
  collect::PollReport::State last_poll = {};
  const history::Activity& activity;
  std::optional<host::SelfProcess> process = {};
};

/// The status as one JSON object and a line break: docs/serving.md documents each key. Every key is
/// always there; null stands for what is not known or does not apply, which is not 0. Texts are
/// made UTF-8 as in the page (base/utf8.h). The busiest 20 cgroups are in it, and 10 sums of each
/// configured one.
std::string status_json(const StatusInputs& inputs);

}  // namespace pex::daemon
