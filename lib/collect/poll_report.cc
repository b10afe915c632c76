#include "collect/poll_report.h"

namespace pex::collect {

void PollReport::add_failure(const std::string& what, const Error& error) {
  ++failures.try_emplace({what, error.code}, Failure{error, 0}).first->second.times;
}

void PollReport::merge(const PollReport& part) {
  groups_opened += part.groups_opened;
  groups_closed += part.groups_closed;
  groups_read += part.groups_read;
  groups_off_pmu += part.groups_off_pmu;
  open_events += part.open_events;
  targets_in_turns += part.targets_in_turns;
  for (const auto& [group, trouble] : part.troubles) {
    GroupTrouble& sum = troubles[group];
    sum.anomalies += trouble.anomalies;
    sum.mistimed += trouble.mistimed;
    sum.pinned_errors += trouble.pinned_errors;
    sum.read_failures += trouble.read_failures;
  }
  for (const auto& [cause, times] : part.refusals) refusals[cause] += times;
  for (const auto& [cause, failure] : part.failures) {
    failures.try_emplace(cause, Failure{failure.first, 0}).first->second.times += failure.times;
  }
}

}  // namespace pex::collect
