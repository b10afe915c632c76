#pragma once

#include <string_view>

#include "exposition/family.h"

namespace pex::exposition {

/// The exporter's own metrics, and what it reports about the machine: the interface to dashboards
/// and alerts. docs/metrics.md is made of these rows.
inline constexpr FamilyEntry kSelfFamilies[] = {
    {"perf_event_exporter_build_info", FamilyType::kInfo, "`version`, `revision`, `compiler`",
     "Constant 1, with labels that identify the build.",
     "revision: the commit it was built from; empty if that is not known."},
    {"perf_machine_info", FamilyType::kInfo,
     "`vendor`, `family`, `model`, `stepping`, `model_name`, `microcode`, `hypervisor`, `pmu`, "
     "`kernel`",
     "Constant 1, with labels that describe the machine.",
     "As it was when the exporter started. A label is empty if its value is not known. hypervisor: "
     "also empty if there is none. pmu: "
     "empty if the machine has no hardware counters."},
    {"perf_event_exporter_counting", FamilyType::kGauge, "",
     "Whether at least one configured event is counted.",
     "Also 1 if only cgroups are to be counted and there are none."},
    {"perf_event_exporter_reduced_info", FamilyType::kInfo,
     "`counted`: software, nothing; `reason`: configuration, crashes, pause",
     "Constant 1 while less is counted than the groups of the configuration.",
     "counted: what is left; software: groups that need no counter of a PMU. reason: the "
     "configuration has `enabled: false`, earlier starts crashed, or a client or a signal has "
     "paused groups."},
    {"perf_event_exporter_guests_left_out_info", FamilyType::kInfo,
     "`reason`: configuration, mediated_pmu, refused",
     "Constant 1 while hardware events do not count what virtual machines of this host do.",
     "reason: `guests: exclude`, KVM gives them the PMU, or the kernel counts an event in no other "
     "way."},
    {"perf_event_exporter_event_refusal_info", FamilyType::kInfo,
     "`event`, `scope`, `errno`, `fault`, `remedy`",
     "Constant 1, with the reason why a configured event is not available.",
     "One series for each event that could not be counted on this machine when the configuration "
     "was last loaded, in a group of the scope that lists it; none for events that an optional "
     "group lacks. errno: empty if the kernel did not refuse it. fault: how it counted known work "
     "wrongly (truth_check), or empty. remedy: yes if rights, limits, "
     "other programs or the "
     "configuration can be changed, no if the hardware or the kernel lacks the event."},
    {"perf_event_exporter_event_open_errors_total", FamilyType::kCounter, "`errno`",
     "Failed attempts to open an event, by errno.",
     "A series appears with its first error. The log names the events."},
    {"perf_event_exporter_open_events", FamilyType::kGauge, "", "Open perf events.",
     "Each takes one file descriptor."},
    {"perf_event_exporter_polls_total", FamilyType::kCounter, "", "Polls completed."},
    {"perf_event_exporter_poll_duration_seconds", FamilyType::kHistogram, "`le`",
     "Duration of polls.", "From the start of a poll to the publication of its snapshot."},
    {"perf_event_exporter_poll_interval_seconds", FamilyType::kGauge, "",
     "Configured time between polls."},
    {"perf_event_exporter_poll_overruns_total", FamilyType::kCounter, "",
     "Polls that were skipped.",
     "The previous one was still running, or the exporter got no CPU time."},
    {"perf_event_exporter_last_poll_timestamp_seconds", FamilyType::kGauge, "",
     "Time at which the counts were read."},
    {"perf_event_exporter_cpus", FamilyType::kGauge, "`state`: counted, late, left_out",
     "Online CPUs by state.",
     "late: the CPU did not answer in time, and the last poll was published with its earlier "
     "totals. left_out: excluded by the configuration, or by a pause of all groups."},
    {"perf_event_exporter_cpu_late_polls_total", FamilyType::kCounter, "`cpu`",
     "Polls that were published with earlier totals of this CPU because it did not answer in time.",
     "Published only for CPUs that were late at least once."},
    {"perf_group_problems_total", FamilyType::kCounter,
     "`group`; `problem`: anomaly, mistimed, pinned_off_pmu, read_error, standstill",
     "Readings of a group that had a problem.",
     "A series appears with its first problem. anomaly: a kernel total decreased, or rose "
     "impossibly. If it was the "
     "group's, the increment since the previous reading is not counted; if it was the reference's, "
     "counts are scaled by time. mistimed: the kernel accounted the running time wrongly, and that "
     "of the group's own clock was used. pinned_off_pmu: a pinned group was not on the PMU, and "
     "was enabled again. read_error: the read failed. standstill: a group of a CPU was reopened, "
     "because the kernel did not schedule it; events in the meantime are unmeasured. Groups "
     "`(clock)` and `(reference)` are auxiliary counters."},
    {"perf_event_exporter_cgroups_rotated_manually", FamilyType::kGauge, "",
     "Number of (cgroup, CPU) pairs whose groups the exporter rotates itself because kernel "
     "multiplexing starved one."},
    {"perf_event_exporter_cgroups", FamilyType::kGauge,
     "`state`: counted, idle, waiting, lingering, left_out, unreadable", "Cgroups by state.",
     "idle: without CPU time for so long that its counters are closed until it runs again. "
     "waiting: to be opened. lingering: removed, with series still served. left_out: excluded by a "
     "limit. unreadable: the directory cannot be read."},
    {"perf_event_exporter_cgroups_left_out_total", FamilyType::kCounter,
     "`reason`: max, max_open_events, max_series, open_files, memory, fair_share",
     "Matching cgroups that were left out, by the limit that excluded them.",
     "A series appears with its first cgroup. fair_share: the cgroup was counted until a cgroup of "
     "a directory with less than its fair "
     "share replaced it."},
    {"perf_event_exporter_cgroup_directories", FamilyType::kGauge,
     "`state`: followed, unwatched, beyond_limit, path_too_long",
     "Directories of the cgroup tree by state.",
     "followed: changes are detected at once. unwatched: changes are detected within a minute. "
     "beyond_limit, path_too_long: neither the directory nor anything below it is read."},
    {"perf_event_exporter_cgroup_linger_seconds", FamilyType::kGauge, "",
     "Configured time for which the series of a removed cgroup are served (cgroups.linger).",
     "Absent if cgroups have no series."},
    {"perf_event_exporter_cgroups_started_total", FamilyType::kCounter, "",
     "Cgroups that the exporter began to count: each makes new series, unless it shares them "
     "(cgroups.series), or a cgroup of the same path ended within the linger time."},
    {"perf_event_exporter_cgroups_missed_total", FamilyType::kCounter, "",
     "Matching cgroups that were removed before all their counters were open."},
    {"perf_event_exporter_sums", FamilyType::kGauge, "`sum`",
     "Sums over cgroups that are served now (`cgroups.sums`)."},
    {"perf_event_exporter_sum_cgroups_left_out", FamilyType::kGauge, "`sum`",
     "Cgroups that are added up as `other`, because the sums have reached their maximum number."},
    {"perf_event_exporter_sum_zero_seconds", FamilyType::kGauge, "`sum`",
     "Configured time for which a new sum over cgroups is served as 0 (zero_for)."},
    {"perf_event_exporter_cgroup_source_cpus", FamilyType::kGauge, "`source`: records, descriptors",
     "CPUs by how cgroups are counted there.",
     "records: by records of switches between cgroups. descriptors: by file descriptors of each "
     "cgroup, if any are counted."},
    {"perf_event_exporter_switch_records_total", FamilyType::kCounter,
     "`outcome`: read, lost, skipped", "Records of switches between cgroups.",
     "lost: the buffer was full. skipped: the kernel did not write the record. Counts in such a "
     "gap are estimated by the CPU time of the cgroups, or the time is unmeasured."},
    {"perf_event_exporter_switch_record_checks_total", FamilyType::kCounter,
     "`result`: equal, different, inconclusive",
     "Comparisons of counts by switch records with counts by file descriptors.",
     "Once a minute, a busy cgroup on each CPU is also counted by file descriptors, and the "
     "results are compared. After five results in a row that are different, the CPU counts cgroups "
     "by descriptors."},
    {"perf_event_exporter_uncounted_cpu_seconds_total", FamilyType::kCounter, "",
     "CPU time in no counted cgroup: that of the root cgroup, less that of the counted ones.",
     "Includes kernel threads, interrupts and cgroups that no pattern selects. Absent if no "
     "group has scope cgroup, or the kernel does not report CPU time of cgroups."},
    {"perf_event_exporter_unnamed_cgroups", FamilyType::kGauge, "",
     "Cgroups that ran, and whose path is not known yet, summed over CPUs.",
     "Their counts are kept for a minute."},
    {"perf_event_exporter_unnamed_cgroups_cpu_seconds_total", FamilyType::kCounter, "",
     "CPU time of cgroups whose path was not found within a minute: what they did is counted for "
     "no cgroup."},
    {"perf_event_exporter_cpu_wait_seconds_total", FamilyType::kCounter, "",
     "Time for which the counting threads were ready to run and waited for a CPU, summed over "
     "CPUs.",
     "While a thread waits, its buffer of switch records can overflow. Absent if the kernel does "
     "not report it."},
    {"perf_event_exporter_series", FamilyType::kGauge, "",
     "Series of the last snapshot, with the start times of counters if openmetrics.created is "
     "set."},
    {"perf_event_exporter_series_limit", FamilyType::kGauge, "",
     "Configured maximum number of series (limits.max_series)."},
    {"perf_event_exporter_scrape_interval_seconds", FamilyType::kGauge, "",
     "Longest interval at which a client scrapes regularly.",
     "Regularly: four scrapes at nearly equal intervals, of the same path and query, from the same "
     "address. Absent if there is no such client."},
    {"perf_event_exporter_http_errors_total", FamilyType::kCounter, "`reason`",
     "Connections and requests that the server refused or closed, by reason.",
     "A series appears with its first error."},
    {"perf_event_exporter_log_messages_dropped_total", FamilyType::kCounter, "",
     "Log messages that were dropped.",
     "Stderr or the journal did not accept them in time, or writing failed. Absent until then."},
    {"perf_event_exporter_web_config_last_reload_successful", FamilyType::kGauge, "",
     "Whether the last load of the web configuration and of the files it names succeeded.",
     "0: an earlier version of these files is in force."},
    {"perf_event_exporter_web_config_downgrades_total", FamilyType::kCounter,
     "`protection`; `outcome`: adopted, refused",
     "Changes of the web configuration that lower a protection, by protection and outcome.",
     "A change that removes TLS, client verification or all users is refused unless the file "
     "allows it."},
    {"perf_event_exporter_config_info", FamilyType::kInfo, "`hash`, `source`, `revision`",
     "Constant 1, with labels of the configuration in force.",
     "hash: the first 12 digits of the SHA-256 of its text, as sha256sum prints them. source: the "
     "path of the file, or embedded. revision: as in the file."},
    {"perf_event_exporter_config_unknown_keys", FamilyType::kGauge, "",
     "Keys and words of the configuration file that are ignored, as this version lacks them.",
     "Only with a file. The log and the status page name them."},
    {"perf_event_exporter_config_last_reload_successful", FamilyType::kGauge, "",
     "Whether the last load of the configuration succeeded."},
    {"perf_event_exporter_config_last_reload_success_timestamp_seconds", FamilyType::kGauge, "",
     "Time at which the configuration in force was loaded."},
    {"perf_event_exporter_paused", FamilyType::kGauge, "",
     "Constant 1 while groups of hardware events, or all groups, are paused.",
     "Absent otherwise. For the first 60 s counts of hardware events are estimated from recent "
     "rates "
     "(imputed). After that, the time is unmeasured. The time of a pause of all groups is in no "
     "metric."},
    {"perf_event_exporter_group_duty_cycle_ratio", FamilyType::kGauge, "`group`",
     "Part of the time for which a group counts, as configured (duty_cycle).",
     "Only for groups that do not count all the time."},
};

/// The standard metrics of a process.
inline constexpr FamilyEntry kProcessFamilies[] = {
    {"process_cpu_seconds_total", FamilyType::kCounter, "", "Total user and system CPU time."},
    {"process_start_time_seconds", FamilyType::kGauge, "",
     "Start time, in seconds since the Unix epoch."},
    {"process_open_fds", FamilyType::kGauge, "", "Open file descriptors."},
    {"process_max_fds", FamilyType::kGauge, "", "Maximum number of open file descriptors."},
    {"process_resident_memory_bytes", FamilyType::kGauge, "", "Resident memory."},
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
