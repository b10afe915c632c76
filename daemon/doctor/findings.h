#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pex::daemon {

/// One thing that was looked at, in the words of an operator.
struct Finding {
  enum class State {
    kGood,
    kUnknown,  ///< could not be determined; neither good nor a reason to fail
    kNote,     ///< costs something, or soon may, and keeps nothing that is configured from counting
    kBad,      ///< keeps something that is configured from being counted here
  };
  State state = State::kGood;
  std::string subject;      ///< "perf_event_open"
  std::string what;         ///< how it is
  std::string consequence;  ///< what that costs; empty when it costs nothing
  std::string remedy;       ///< what to change; empty when there is nothing to advise
};

/// Nothing but the state and the words.
Finding good(std::string subject, std::string what);
/// `what` says why it is not known.
Finding unknown(std::string subject, std::string what);

std::size_t count(const std::vector<Finding>& findings, Finding::State state);

/// One line for each finding, and below it what follows from it, in columns; no line is much longer
/// than 100 characters:
///
///   ok       seccomp       no filter
///   note     NMI watchdog  on
///            consequence   it holds a counter of every CPU
///            remedy        sysctl kernel.nmi_watchdog=0
std::string format_findings(const std::vector<Finding>& findings);

}  // namespace pex::daemon
