#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/counted.h"

namespace pex::daemon {

/// How far a start of the exporter has come, in a file for the next start. A start that
/// ends in one of the first steps, other than on request or by an error, has crashed.
struct StartState {
  enum class Step {
    kPlanning,  ///< groups are tried, one after another
    kOpening,   ///< the first poll
    kPolled,    ///< the first poll has ended, less than a minute ago
    kSettled,   ///< whatever happens now is no crash of the start
    kEnded,
  };

  std::string version;
  std::string configuration;  ///< a hash of its text
  std::string boot;           ///< of the machine
  Counted counted = Counted::kAll;
  std::string cause = {};  ///< of kSoftware and kNothing
  unsigned crashes = 0;    ///< one after another, since `counted` was lowered
  Step step = Step::kPlanning;
  std::string group = {};  ///< that is being tried

  bool operator==(const StartState&) const = default;
};

/// The state of a start, of which `now` has the version, configuration and boot. It counts less
/// than the `last` one after three crashes, or a stop of the machine in the start or up to a minute
/// after its first poll. Another version or configuration starts with everything again.
StartState next_start(const std::optional<StartState>& last, StartState now);

/// The text of the state file, and back; nothing if it is not complete.
std::string to_text(const StartState& state);
std::optional<StartState> start_state_of(std::string_view text);

}  // namespace pex::daemon
