#pragma once

#include <string_view>

#include "exposition/family.h"

namespace pex::exposition {

/// The exporter's own metrics, and what it reports about the machine: the interface to dashboards
/// and alerts. docs/metrics.md is made of these rows, and docs/generator/metric_texts.h.
inline constexpr FamilyEntry kSelfFamilies[] = {
    {"perf_event_exporter_build_info", FamilyType::kInfo,
     "Constant 1, with labels that identify the build."},
    {"perf_machine_info", FamilyType::kInfo, "Constant 1, with labels that describe the machine."},
    {"perf_event_exporter_counting", FamilyType::kGauge,
     "Whether at least one configured event is counted."},
    {"perf_event_exporter_reduced_info", FamilyType::kInfo,
     "Constant 1 while less is counted than the groups of the configuration."},
    {"perf_event_exporter_guests_left_out_info", FamilyType::kInfo,
     "Constant 1 while hardware events do not count what virtual machines of this host do."},
    {"perf_event_exporter_event_refusal_info", FamilyType::kInfo,
     "Constant 1, with the reason why a configured event is not available."},
    {"perf_event_exporter_event_open_errors_total", FamilyType::kCounter,
     "Failed attempts to open an event, by errno."},
    {"perf_event_exporter_open_events", FamilyType::kGauge, "Open perf events."},
    {"perf_event_exporter_polls_total", FamilyType::kCounter, "Polls completed."},
    {"perf_event_exporter_poll_duration_seconds", FamilyType::kHistogram, "Duration of polls."},
    {"perf_event_exporter_poll_interval_seconds", FamilyType::kGauge,
     "Configured time between polls."},
    {"perf_event_exporter_poll_overruns_total", FamilyType::kCounter, "Polls that were skipped."},
    {"perf_event_exporter_last_poll_timestamp_seconds", FamilyType::kGauge,
     "Time at which the counts were read."},
    {"perf_event_exporter_cpus", FamilyType::kGauge, "Online CPUs by state."},
    {"perf_event_exporter_cpu_late_polls_total", FamilyType::kCounter,
     "Polls that were published with earlier totals of this CPU because it did not answer in "
     "time."},
    {"perf_group_problems_total", FamilyType::kCounter, "Readings of a group that had a problem."},
    {"perf_event_exporter_cgroups_rotated_manually", FamilyType::kGauge,
     "Number of (cgroup, CPU) pairs whose groups the exporter rotates itself because kernel "
     "multiplexing starved one."},
    {"perf_event_exporter_cgroups", FamilyType::kGauge, "Cgroups by state."},
    {"perf_event_exporter_cgroups_left_out_total", FamilyType::kCounter,
     "Matching cgroups that were left out, by the limit that excluded them."},
    {"perf_event_exporter_cgroup_directories", FamilyType::kGauge,
     "Directories of the cgroup tree by state."},
    {"perf_event_exporter_cgroup_linger_seconds", FamilyType::kGauge,
     "Configured time for which the series of a removed cgroup are served (cgroups.linger)."},
    {"perf_event_exporter_cgroups_started_total", FamilyType::kCounter,
     "Cgroups that the exporter began to count: each makes new series, unless it shares them "
     "(cgroups.series), or a cgroup of the same path ended within the linger time."},
    {"perf_event_exporter_cgroups_missed_total", FamilyType::kCounter,
     "Matching cgroups that were removed before all their counters were open."},
    {"perf_event_exporter_sums", FamilyType::kGauge,
     "Sums over cgroups that are served now (`cgroups.sums`)."},
    {"perf_event_exporter_sum_cgroups_left_out", FamilyType::kGauge,
     "Cgroups that are added up as `other`, because the sums have reached their maximum number."},
    {"perf_event_exporter_sum_zero_seconds", FamilyType::kGauge,
     "Configured time for which a new sum over cgroups is served as 0 (zero_for)."},
    {"perf_event_exporter_cgroup_source_cpus", FamilyType::kGauge,
     "CPUs by how cgroups are counted there."},
    {"perf_event_exporter_switch_records_total", FamilyType::kCounter,
     "Records of switches between cgroups."},
    {"perf_event_exporter_switch_record_checks_total", FamilyType::kCounter,
     "Comparisons of counts by switch records with counts by file descriptors."},
    {"perf_event_exporter_uncounted_cpu_seconds_total", FamilyType::kCounter,
     "CPU time in no counted cgroup: that of the root cgroup, less that of the counted ones."},
    {"perf_event_exporter_unnamed_cgroups", FamilyType::kGauge,
     "Cgroups that ran, and whose path is not known yet, summed over CPUs."},
    {"perf_event_exporter_unnamed_cgroups_cpu_seconds_total", FamilyType::kCounter,
     "CPU time of cgroups whose path was not found within a minute: what they did is counted for "
     "no cgroup."},
    {"perf_event_exporter_cpu_wait_seconds_total", FamilyType::kCounter,
     "Time for which the counting threads were ready to run and waited for a CPU, summed over "
     "CPUs."},
    {"perf_event_exporter_series", FamilyType::kGauge,
     "Series of the last snapshot, with the start times of counters if openmetrics.created is "
     "set."},
    {"perf_event_exporter_series_limit", FamilyType::kGauge,
     "Configured maximum number of series (limits.max_series)."},
    {"perf_event_exporter_scrape_interval_seconds", FamilyType::kGauge,
     "Longest interval at which a client scrapes regularly."},
    {"perf_event_exporter_http_errors_total", FamilyType::kCounter,
     "Connections and requests that the server refused or closed, by reason."},
    {"perf_event_exporter_log_messages_dropped_total", FamilyType::kCounter,
     "Log messages that were dropped."},
    {"perf_event_exporter_web_config_last_reload_successful", FamilyType::kGauge,
     "Whether the last load of the web configuration and of the files it names succeeded."},
    {"perf_event_exporter_web_config_downgrades_total", FamilyType::kCounter,
     "Changes of the web configuration that lower a protection, by protection and outcome."},
    {"perf_event_exporter_config_info", FamilyType::kInfo,
     "Constant 1, with labels of the configuration in force."},
    {"perf_event_exporter_config_unknown_keys", FamilyType::kGauge,
     "Keys and words of the configuration file that are ignored, as this version lacks them."},
    {"perf_event_exporter_config_last_reload_successful", FamilyType::kGauge,
     "Whether the last load of the configuration succeeded."},
    {"perf_event_exporter_config_last_reload_success_timestamp_seconds", FamilyType::kGauge,
     "Time at which the configuration in force was loaded."},
    {"perf_event_exporter_paused", FamilyType::kGauge,
     "Constant 1 while groups of hardware events, or all groups, are paused."},
    {"perf_event_exporter_group_duty_cycle_ratio", FamilyType::kGauge,
     "Part of the time for which a group counts, as configured (duty_cycle)."},
};

/// The standard metrics of a process.
inline constexpr FamilyEntry kProcessFamilies[] = {
    {"process_cpu_seconds_total", FamilyType::kCounter, "Total user and system CPU time."},
    {"process_start_time_seconds", FamilyType::kGauge,
     "Start time, in seconds since the Unix epoch."},
    {"process_open_fds", FamilyType::kGauge, "Open file descriptors."},
    {"process_max_fds", FamilyType::kGauge, "Maximum number of open file descriptors."},
    {"process_resident_memory_bytes", FamilyType::kGauge, "Resident memory."},
};

/// The row of one of these tables; a name that is in neither does not compile.
consteval const FamilyEntry& self_family(std::string_view name) {
  for (const FamilyEntry& row : kSelfFamilies) {
    if (row.name == name) return row;
  }
  for (const FamilyEntry& row : kProcessFamilies) {
    if (row.name == name) return row;
  }
  throw "no such family";
}

}  // namespace pex::exposition
