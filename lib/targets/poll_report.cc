#include "targets/poll_report.h"

namespace pex::collect {

void PollReport::add_failure(const std::string& what, const Error& error, const Subject& subject) {
  ++failures.try_emplace({what, error.code}, Failure{error, 0, subject}).first->second.times;
}

void PollReport::State::forget_source() {
  cpus_by_records = cpus_by_descriptors = 0;
  cpus_without_records.clear();
  why_no_records.clear();
}

void PollReport::State::add(const State& part) {
  groups_off_pmu += part.groups_off_pmu;
  open_events += part.open_events;
  targets_rotated_manually += part.targets_rotated_manually;
  cpus_by_records += part.cpus_by_records;
  cpus_by_descriptors += part.cpus_by_descriptors;
  cpus_without_records.insert(cpus_without_records.end(), part.cpus_without_records.begin(),
                              part.cpus_without_records.end());
  if (why_no_records.empty()) why_no_records = part.why_no_records;
  unnamed_cgroups += part.unnamed_cgroups;
}

PollReport::RecordChecks& PollReport::RecordChecks::operator+=(const RecordChecks& more) {
  equal += more.equal;
  different += more.different;
  inconclusive += more.inconclusive;
  return *this;
}

PollReport::SwitchRecords& PollReport::SwitchRecords::operator+=(const SwitchRecords& more) {
  written += more.written;
  lost += more.lost;
  skipped += more.skipped;
  return *this;
}

void PollReport::merge(const PollReport& part) {
  groups_opened += part.groups_opened;
  groups_closed += part.groups_closed;
  groups_read += part.groups_read;
  now.add(part.now);
  for (const auto& [group, more] : part.errors) {
    GroupErrors& sum = errors[group];
    sum.anomalies += more.anomalies;
    sum.mistimed += more.mistimed;
    sum.pinned_errors += more.pinned_errors;
    sum.read_failures += more.read_failures;
    sum.standstills += more.standstills;
  }
  for (const auto& [cause, times] : part.refusals) refusals[cause] += times;
  for (const auto& [cause, failure] : part.failures) {
    failures.try_emplace(cause, Failure{failure.first, 0, failure.subject}).first->second.times +=
        failure.times;
  }
  for (const auto& [bound, cgroups] : part.cgroups_left_out) cgroups_left_out[bound] += cgroups;
  cgroups_started += part.cgroups_started;
  cgroups_missed += part.cgroups_missed;
  switch_records += part.switch_records;
  record_checks += part.record_checks;
  waited_for_cpu += part.waited_for_cpu;
  unnamed_time += part.unnamed_time;
}

}  // namespace pex::collect
