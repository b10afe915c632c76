#pragma once

#include <string_view>

#include "exposition/family.h"

namespace pex::exposition {

/// The exporter's own metrics: the interface to dashboards and alerts. docs/metrics.md is made of
/// these rows.
inline constexpr FamilyEntry kSelfFamilies[] = {
    {"perf_event_exporter_build_info", FamilyType::kInfo, "`version`, `compiler`",
     "Always 1; the labels tell which build is running."},
    {"perf_event_exporter_event_available", FamilyType::kGauge, "`event`, `scope`",
     "Whether a configured event could be counted on this machine at the last load of the "
     "configuration, in every group of the scope that lists it."},
    {"perf_event_exporter_event_open_errors_total", FamilyType::kCounter, "`event`, `errno`",
     "Times the kernel refused to open an event, by the name of its errno."},
    {"perf_event_exporter_open_events", FamilyType::kGauge, "",
     "Counters that are open, each one file descriptor."},
    {"perf_event_exporter_polls_total", FamilyType::kCounter, "", "Polls completed."},
    {"perf_event_exporter_poll_duration_seconds", FamilyType::kGauge, "",
     "Duration of the last poll, from its start to its snapshot."},
    {"perf_event_exporter_poll_overruns_total", FamilyType::kCounter, "",
     "Polls skipped because their time had passed."},
    {"perf_event_exporter_last_poll_timestamp_seconds", FamilyType::kGauge, "",
     "When the published counts were read."},
    {"perf_event_exporter_cpus", FamilyType::kGauge, "`state`: counted, late, left_out",
     "Online CPUs by state: counted; late, so the last poll was published with their totals of an "
     "earlier poll; or left out by the configuration."},
    {"perf_event_exporter_cpu_late_polls_total", FamilyType::kCounter, "`cpu`",
     "Polls that were published with this CPU's totals of an earlier poll, because it gave no "
     "answer in time. Only for CPUs that were ever late."},
    {"perf_event_exporter_pinned_groups_off_pmu", FamilyType::kGauge, "",
     "Pinned groups without their place on the PMU at the last poll."},
    {"perf_event_exporter_auxiliary_errors_total", FamilyType::kCounter,
     "`auxiliary`: clock, reference; `reason`: anomaly, mistimed, pinned, read, standstill",
     "Errors in readings of the exporter's auxiliary counters (the clock of a target, the activity "
     "reference), by reason: a total of the kernel fell, its running time was booked wrongly, it "
     "had lost its place on the PMU, the read failed, or it was opened again because the kernel "
     "did "
     "not let it count."},
    {"perf_event_exporter_cgroups_rotated_manually", FamilyType::kGauge, "",
     "Cgroups, each once for every CPU, whose groups are enabled in turn because the kernel's "
     "rotation starved one of them."},
    {"perf_event_exporter_cgroups", FamilyType::kGauge,
     "`state`: counted, waiting, lingering, left_out, unreadable",
     "Cgroups by state: counted, waiting to be opened, lingering after their end, left out by a "
     "limit, or in a directory that cannot be read."},
    {"perf_event_exporter_cgroups_left_out_total", FamilyType::kCounter,
     "`reason`: max, max_open_events, max_series, open_files, memory, fair_share",
     "Cgroups that match and were not counted, by the limit that excluded them. fair_share: the "
     "cgroup was counted, and was replaced by one from a directory with less than its fair share."},
    {"perf_event_exporter_cgroup_directories", FamilyType::kGauge,
     "`state`: followed, unwatched, beyond_limit, path_too_long",
     "Directories of the cgroup tree by state. followed: changes are seen at once. unwatched: "
     "changes are found within a minute. beyond_limit, path_too_long: not read, with everything "
     "below them."},
    {"perf_event_exporter_cgroups_missed_total", FamilyType::kCounter, "",
     "Cgroups that matched and were gone before all their counters were open."},
    {"perf_event_exporter_series", FamilyType::kGauge, "",
     "Series that the last snapshot is published as."},
    {"perf_event_exporter_series_limit", FamilyType::kGauge, "",
     "Configured bound on series, limits.max_series."},
    {"perf_event_exporter_http_connections", FamilyType::kGauge, "",
     "Connections of clients that are open, with the one that asks."},
    {"perf_event_exporter_http_errors_total", FamilyType::kCounter, "`reason`",
     "Clients and requests that were refused, dropped or closed, by reason."},
    {"perf_event_exporter_log_messages_dropped_total", FamilyType::kCounter, "",
     "Log messages that were dropped, because stderr or the journal did not accept them in time or "
     "writing failed."},
    {"perf_event_exporter_web_config_last_reload_successful", FamilyType::kGauge, "",
     "Whether the last load of the web configuration and of the files it names succeeded. 0: what "
     "is in force is an earlier version of these files."},
    {"perf_event_exporter_web_config_last_reload_success_timestamp_seconds", FamilyType::kGauge, "",
     "When the web configuration in force was loaded."},
    {"perf_event_exporter_web_config_downgrades_total", FamilyType::kCounter,
     "`protection`; `outcome`: adopted, refused",
     "Changes of the web configuration that lower a protection, by protection and by outcome. A "
     "change that would open the running server is refused unless the file allows it."},
    {"perf_event_exporter_config_last_reload_successful", FamilyType::kGauge, "",
     "Whether the last load of the configuration succeeded."},
    {"perf_event_exporter_config_last_reload_success_timestamp_seconds", FamilyType::kGauge, "",
     "When the configuration in force was loaded."},
};

/// What every process exports, under the names of the ecosystem.
inline constexpr FamilyEntry kProcessFamilies[] = {
    {"process_cpu_seconds_total", FamilyType::kCounter, "",
     "User and system CPU time of this process."},
    {"process_start_time_seconds", FamilyType::kGauge, "",
     "Start of this process, in seconds since the epoch."},
    {"process_open_fds", FamilyType::kGauge, "", "Open file descriptors of this process."},
    {"process_max_fds", FamilyType::kGauge, "", "Most file descriptors this process may open."},
    {"process_virtual_memory_bytes", FamilyType::kGauge, "", "Virtual memory of this process."},
    {"process_resident_memory_bytes", FamilyType::kGauge, "", "Resident memory of this process."},
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
