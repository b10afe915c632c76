#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/commands/stat_counting.h"
#include "perf/task/command.h"

namespace pex::daemon {

/// The result of the command `stat`.
struct StatReport {
  std::vector<std::string> command;                 ///< that was run; empty: a process was counted
  int pid = 0;                                      ///< of either
  std::optional<perf::CommandEnd> end;              ///< of the command; nothing if it was not run
  std::optional<std::chrono::nanoseconds> elapsed;  ///< nothing if nothing was counted
  std::vector<StatValue> values;
  std::vector<Error> warnings;
};

/// A table with a line for each event, in the unit of its metric, then the reasons why some are not
/// counted, each once.
void print_stat_table(std::ostream& out, const StatReport& report);

/// One line: a JSON object. `estimate` is null where there is no value, and `standard_error` where
/// it is unknown.
void print_stat_json(std::ostream& out, const StatReport& report);

}  // namespace pex::daemon
