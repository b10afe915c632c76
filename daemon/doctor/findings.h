#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pex::daemon {

/// The result of one check, in terms an operator knows.
struct Finding {
  enum class State {
    kGood,
    kUnknown,  ///< could not be determined; neither good nor a reason to fail
    kNote,     ///< costs something, now or soon, but prevents nothing that is configured from being
               ///< counted
    kBad,      ///< prevents something that is configured from being counted here
  };
  State state = State::kGood;
  std::string subject;      ///< "perf_event_open"
  std::string what;         ///< the state found
  std::string consequence;  ///< what it costs; empty if nothing
  std::string remedy;       ///< what to change; empty if there is nothing to advise
};

/// A finding with a state and a text only.
Finding good(std::string subject, std::string what);
/// `what` is the reason why it is unknown.
Finding unknown(std::string subject, std::string what);

/// "ok", "unknown", "note" or "bad".
const char* word_for(Finding::State state);

std::size_t count(const std::vector<Finding>& findings, Finding::State state);

/// One line for each finding, and indented below it its consequence and remedy; lines have about
/// 100 characters at most:
///
///   ok       seccomp       no filter
///   note     NMI watchdog  on
///            consequence   it holds a counter of every CPU
///            remedy        sysctl kernel.nmi_watchdog=0
std::string format_findings(const std::vector<Finding>& findings);

}  // namespace pex::daemon
