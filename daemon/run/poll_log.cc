#include "daemon/run/poll_log.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/cpu_list.h"

namespace pex::daemon {
namespace {

LogFields fields_of(const collect::PollReport::Failure& failure) {
  const collect::PollReport::Subject& subject = failure.subject;
  LogFields fields;
  if (!subject.event.empty()) fields.push_back({"event", subject.event});
  if (!subject.group.empty()) fields.push_back({"group", subject.group});
  if (!subject.cgroup.empty()) fields.push_back({"cgroup", subject.cgroup});
  if (subject.cpu >= 0) fields.push_back({"cpu", std::to_string(subject.cpu)});
  if (failure.times > 1) fields.push_back({"times", std::to_string(failure.times)});
  return fields;
}

}  // namespace

void PollLog::add(const collect::PollReport& report, Clock::time_point now) {
  log_failures(report, now);
  log_workarounds(report);
  log_records_again(report.now);
  if (log_.is_on(LogLevel::kDebug)) log_poll(report);
}

void PollLog::log_failures(const collect::PollReport& report, Clock::time_point now) {
  for (const auto& [cause, failure] : report.failures) {
    if (!throttle_.passes(cause.what + errno_name(cause.code), now)) continue;
    log_.warn(failure.first, fields_of(failure));
  }
}

/// No failures, but worth knowing.
void PollLog::log_workarounds(const collect::PollReport& report) {
  const bool is_mistimed = std::any_of(report.errors.begin(), report.errors.end(),
                                       [](const auto& group) { return group.second.mistimed > 0; });
  if (is_mistimed && !std::exchange(has_logged_mistimed_, true)) {
    log_.info(
        "this kernel accounts the running time of multiplexed cgroup groups to the wrong group; "
        "each group's own clock is used (perf_group_problems_total)");
  }
  if (report.now.targets_rotated_manually > 0 && !std::exchange(has_logged_rotation_, true)) {
    log_.info(
        "kernel multiplexing starves a group of a cgroup, so the exporter rotates its groups "
        "(perf_event_exporter_cgroups_rotated_manually); 'doctor' reports how to avoid it");
  }
}

/// That they were given up is a failure.
void PollLog::log_records_again(const collect::PollReport::State& now) {
  const collect::PollReport::State before = std::exchange(before_, now);
  std::vector<int> again;
  for (const int cpu : before.cpus_without_records) {
    const auto& without = now.cpus_without_records;
    if (std::find(without.begin(), without.end(), cpu) == without.end()) again.push_back(cpu);
  }
  if (again.empty() || now.cpus_by_records <= before.cpus_by_records) return;
  log_.info("cgroups are counted by records of switches again on " + host::name_cpus(again));
}

void PollLog::log_poll(const collect::PollReport& report) {
  log_.debug("polled", {{"groups", std::to_string(report.groups_read)},
                        {"opened", std::to_string(report.groups_opened)},
                        {"closed", std::to_string(report.groups_closed)},
                        {"microseconds", std::to_string(report.now.duration.count() / 1'000)}});
}

}  // namespace pex::daemon
