#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "exposition/self_families.h"

namespace pex::docs {

/// What docs/metrics.md says of a family in addition to its help text, in Markdown.
struct MetricText {
  std::string_view name;
  std::string_view labels;        ///< "`group`, `event`"; empty: none
  std::string_view details = {};  ///< whole sentences
  std::string_view only = {};     ///< of evidence: which groups have it; empty: all of them
};

/// Of the exporter's own metrics; those that are not here have no labels, and need no details.
inline constexpr MetricText kSelfTexts[] = {
    {"perf_event_exporter_build_info", "`version`, `revision`, `compiler`",
     "revision: the commit it was built from; empty if that is not known."},
    {"perf_machine_info",
     "`vendor`, `family`, `model`, `stepping`, `model_name`, `microcode`, `hypervisor`, `pmu`, "
     "`kernel`",
     "As it was when the exporter started. A label is empty if its value is not known. hypervisor: "
     "also empty if there is none. pmu: "
     "empty if the machine has no hardware counters."},
    {"perf_event_exporter_counting", "",
     "Also 1 if only cgroups are to be counted and there are none."},
    {"perf_event_exporter_reduced_info",
     "`counted`: software, nothing; `reason`: configuration, crashes, pause",
     "counted: what is left; software: groups that need no counter of a PMU. reason: the "
     "configuration has `enabled: false`, earlier starts crashed, or a client or a signal has "
     "paused groups."},
    {"perf_event_exporter_guests_left_out_info", "`reason`: configuration, mediated_pmu, refused",
     "reason: `guests: exclude`, KVM gives them the PMU, or the kernel counts an event in no other "
     "way."},
    {"perf_event_exporter_event_refusal_info", "`event`, `scope`, `errno`, `fault`, `remedy`",
     "One series for each event that could not be counted on this machine when the configuration "
     "was last loaded, in a group of the scope that lists it; none for events that an optional "
     "group lacks. errno: empty if the kernel did not refuse it. fault: how it counted known work "
     "wrongly (truth_check), or empty. remedy: yes if rights, limits, "
     "other programs or the "
     "configuration can be changed, no if the hardware or the kernel lacks the event."},
    {"perf_event_exporter_event_open_errors_total", "`errno`",
     "A series appears with its first error. The log names the events."},
    {"perf_event_exporter_open_events", "", "Each takes one file descriptor."},
    {"perf_event_exporter_poll_duration_seconds", "`le`",
     "From the start of a poll to the publication of its snapshot."},
    {"perf_event_exporter_poll_overruns_total", "",
     "The previous one was still running, or the exporter got no CPU time."},
    {"perf_event_exporter_cpus", "`state`: counted, late, left_out",
     "late: the CPU did not answer in time, and the last poll was published with its earlier "
     "totals. left_out: excluded by the configuration, or by a pause of all groups."},
    {"perf_event_exporter_cpu_late_polls_total", "`cpu`",
     "Published only for CPUs that were late at least once."},
    {"perf_group_problems_total",
     "`group`; `problem`: anomaly, mistimed, pinned_off_pmu, read_error, standstill",
     "A series appears with its first problem. anomaly: a kernel total decreased, or rose "
     "impossibly. If it was the "
     "group's, the increment since the previous reading is not counted; if it was the reference's, "
     "counts are scaled by time. mistimed: the kernel accounted the running time wrongly, and that "
     "of the group's own clock was used. pinned_off_pmu: a pinned group was not on the PMU, and "
     "was enabled again. read_error: the read failed. standstill: a group of a CPU was reopened, "
     "because the kernel did not schedule it; events in the meantime are unmeasured. Groups "
     "`(clock)` and `(reference)` are auxiliary counters."},
    {"perf_event_exporter_cgroups",
     "`state`: counted, idle, waiting, lingering, left_out, unreadable",
     "idle: without CPU time for so long that its counters are closed until it runs again. "
     "waiting: to be opened. lingering: removed, with series still served. left_out: excluded by a "
     "limit. unreadable: the directory cannot be read."},
    {"perf_event_exporter_cgroups_left_out_total",
     "`reason`: max, max_open_events, max_series, open_files, memory, fair_share",
     "A series appears with its first cgroup. fair_share: the cgroup was counted until a cgroup of "
     "a directory with less than its fair "
     "share replaced it."},
    {"perf_event_exporter_cgroup_directories",
     "`state`: followed, unwatched, beyond_limit, path_too_long",
     "followed: changes are detected at once. unwatched: changes are detected within a minute. "
     "beyond_limit, path_too_long: neither the directory nor anything below it is read."},
    {"perf_event_exporter_cgroup_linger_seconds", "", "Absent if cgroups have no series."},
    {"perf_event_exporter_sums", "`sum`"},
    {"perf_event_exporter_sum_cgroups_left_out", "`sum`"},
    {"perf_event_exporter_sum_zero_seconds", "`sum`"},
    {"perf_event_exporter_cgroup_source_cpus", "`source`: records, descriptors",
     "records: by records of switches between cgroups. descriptors: by file descriptors of each "
     "cgroup, if any are counted."},
    {"perf_event_exporter_switch_records_total", "`outcome`: read, lost, skipped",
     "lost: the buffer was full. skipped: the kernel did not write the record. Counts in such a "
     "gap are estimated by the CPU time of the cgroups, or the time is unmeasured."},
    {"perf_event_exporter_switch_record_checks_total", "`result`: equal, different, inconclusive",
     "Once a minute, a busy cgroup on each CPU is also counted by file descriptors, and the "
     "results are compared. After five results in a row that are different, the CPU counts cgroups "
     "by descriptors."},
    {"perf_event_exporter_uncounted_cpu_seconds_total", "",
     "Includes kernel threads, interrupts and cgroups that no pattern selects. Absent if no "
     "group has scope cgroup, or the kernel does not report CPU time of cgroups."},
    {"perf_event_exporter_unnamed_cgroups", "", "Their counts are kept for a minute."},
    {"perf_event_exporter_cpu_wait_seconds_total", "",
     "While a thread waits, its buffer of switch records can overflow. Absent if the kernel does "
     "not report it."},
    {"perf_event_exporter_scrape_interval_seconds", "",
     "Regularly: four scrapes at nearly equal intervals, of the same path and query, from the same "
     "address. Absent if there is no such client."},
    {"perf_event_exporter_http_errors_total", "`reason`", "A series appears with its first error."},
    {"perf_event_exporter_log_messages_dropped_total", "",
     "Stderr or the journal did not accept them in time, or writing failed. Absent until then."},
    {"perf_event_exporter_web_config_last_reload_successful", "",
     "0: an earlier version of these files is in force."},
    {"perf_event_exporter_web_config_downgrades_total", "`protection`; `outcome`: adopted, refused",
     "A change that removes TLS, client verification or all users is refused unless the file "
     "allows it."},
    {"perf_event_exporter_config_info", "`hash`, `source`, `revision`",
     "hash: the first 12 digits of the SHA-256 of its text, as sha256sum prints them. source: the "
     "path of the file, or embedded. revision: as in the file."},
    {"perf_event_exporter_config_unknown_keys", "",
     "Only with a file. The log and the status page name them."},
    {"perf_event_exporter_paused", "",
     "Absent otherwise. For the first 60 s counts of hardware events are estimated from recent "
     "rates "
     "(imputed). After that, the time is unmeasured. The time of a pause of all groups is in no "
     "metric."},
    {"perf_event_exporter_group_duty_cycle_ratio", "`group`",
     "Only for groups that do not count all the time."},
};
static_assert(std::all_of(std::begin(kSelfTexts), std::end(kSelfTexts),
                          [](const MetricText& text) {
                            const auto& families = exposition::kSelfFamilies;
                            return std::any_of(
                                std::begin(families), std::end(families),
                                [&](const auto& family) { return family.name == text.name; });
                          }),
              "a text without a family");

inline constexpr std::string_view kRowLabels =
    "`group`; `pmu` where the group is bound to one; the labels of its events' rows";
inline constexpr std::string_view kEstimated =
    "groups that can lose the PMU, and others once they lack counts";
inline constexpr std::string_view kReferred = "groups with a reference, with `evidence.reference`";

/// Of the evidence (exposition::evidence_families()).
inline constexpr MetricText kEvidenceTexts[] = {
    {"perf_group_enabled_seconds_total", kRowLabels,
     "For a cgroup, this is the time in which its tasks ran."},
    {"perf_group_running_seconds_total", kRowLabels,
     "Counts for the rest of the enabled time are estimated, or missing "
     "(perf_group_unmeasured_seconds_total)."},
    {"perf_group_imputed_seconds_total", kRowLabels,
     "The group was never on the PMU. At most 60 s in a row, without a limit where the exporter "
     "rotates the groups itself.",
     kEstimated},
    {"perf_group_unmeasured_seconds_total", kRowLabels,
     "The group was off the PMU for too long, a pinned group could not be scheduled, the counters "
     "of a cgroup were closed when it ran, records were lost, or the CPU was offline.",
     kEstimated},
    {"perf_group_reference_total", kRowLabels, "", kReferred},
    {"perf_group_reference_sampled_total", kRowLabels, "", kReferred},
    {"perf_group_coverage_ratio", kRowLabels,
     "Present only where it is below 1: the counts of the group with these labels are incomplete "
     "then, and not published. Counts of sums of cgroups are published, without what is not "
     "counted.",
     "groups that are not counted on all of them"},
    {"perf_event_reference_weight_ratio", "`scope`, `group`, `event`", "",
     "groups with a reference"},
};

}  // namespace pex::docs
