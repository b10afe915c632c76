#include "collect/poll_report.h"

namespace pex::collect {

void PollReport::add_failure(const Error& error) {
  if (failures.size() < kMaxFailures) {
    failures.push_back(error);
  } else {
    ++more_failures;
  }
}

void PollReport::merge(const PollReport& part) {
  groups_opened += part.groups_opened;
  groups_closed += part.groups_closed;
  groups_read += part.groups_read;
  groups_off_pmu += part.groups_off_pmu;
  open_events += part.open_events;
  read_failures += part.read_failures;
  for (const auto& [refusal, times] : part.refusals) refusals[refusal] += times;
  for (const Error& error : part.failures) add_failure(error);
  more_failures += part.more_failures;
}

}  // namespace pex::collect
