#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/lookup.h"
#include "yaml/reference.h"

namespace pex::docs {

/// What a key of the configuration means, in the form of a KeyReference: whole sentences, of which
/// the first is also the comment of the key in the shipped file.
struct KeyTextEntry {
  std::string_view path;  ///< as in messages; of a map in several maps without these
  std::string_view meaning;
};
inline constexpr KeyTextEntry kKeyTexts[] = {
    {"collection.interval",
     "How often all counters are read. A shorter interval follows changes faster and costs more "
     "CPU time."},
    {"collection.max_age",
     "Maximum age of the counts in a scrape; older counts are read first. One read serves all "
     "waiting scrapes. If `max_age` is at least `interval`, scrapes never trigger a read."},
    {"evidence.cgroups",
     "Which cgroups have the times of groups and the observed part of events. `each`: each cgroup, "
     "and each sum of `cgroups.sums`. `sum`: only the sums. These are about half of the series of "
     "a cgroup."},
    {"evidence.variance",
     "Whether to publish the variance of each estimated event, for standard errors. "
     "`perf_cpu_cycles_total` has `perf_cpu_cycles_variance_total`. It adds one series for each "
     "series of an event."},
    {"evidence.reference",
     "Whether to publish the activity reference of each group. `perf_group_reference_total` and "
     "`perf_group_reference_sampled_total` show whether a group was on the PMU while the CPU did "
     "its usual work."},
    {"pmu.reserve",
     "Number of counters of each core PMU that stay free for other programs. Groups are tried in "
     "the order of the file, next to these counters. One that does not fit is left out and "
     "reported. With both scopes, a group takes its counters twice; nested cgroups counted by "
     "descriptors take more."},
    {"openmetrics.created",
     "Whether each counter has a `_created` sample with its start time. Prometheus stores each of "
     "them as a separate series, and `limits.max_series` includes them."},
    {"limits.max_open_events",
     "Maximum number of open counters, each of which is a file descriptor. Scope `cpu` needs one "
     "for each event and CPU, scope `cgroup` one for each event, CPU and cgroup if it is counted "
     "by descriptors. `auto` fits the machine: counters take at most a sixteenth of its memory, "
     "and a quarter of what the cgroup of the exporter may use. `perf_event_exporter size` prints "
     "what a configuration takes."},
    {"limits.max_series",
     "Maximum number of time series in one scrape. The exporter's own are not included."},
    {"limits.opens_per_second",
     "Maximum number of counters of cgroups that each CPU opens per second. This also applies at "
     "the start. Opening one counter takes some microseconds of that CPU. Further cgroups wait, "
     "and are opened in the order of their arrival."},
    {"limits.max_cgroup_directories",
     "Maximum number of directories of the cgroup tree that are read and watched. If there are "
     "more, the limit is divided fairly among the subtrees of each directory. Cgroups in the other "
     "directories are not found; the log and `perf_event_exporter_cgroup_directories` report the "
     "number of these directories."},
    {"limits.label_length",
     "Maximum length of the value of a label, in bytes of UTF-8. Cgroups with a longer path are "
     "not counted by themselves, nor those below, but as a part of a counted cgroup above; the log "
     "and `perf_event_exporter_cgroup_directories` report their number. Set it to the "
     "`label_value_length_limit` of Prometheus, if that has one: a longer value makes a whole "
     "scrape fail."},
    {"requires",
     "Oldest version of the exporter that knows all of this file, such as `>=0.3`. If it is newer "
     "than the exporter, a service ignores keys that it does not know, and starts."},
    {"revision", "Name of this configuration, as the label of `perf_event_exporter_config_info`."},
    {"enabled",
     "Whether events are counted: with `false`, no perf event is opened. The exporter then serves "
     "its own metrics and the status page, and is ready."},
    {"collection", "When counters are read."},
    {"cpus",
     "Which of the online CPUs are counted. Exclude CPUs that are dedicated to one real-time or "
     "polling task: they get no counter and no counting thread. `CPUAffinity=` keeps other "
     "threads off."},
    {"pmu", "How the PMU is shared with other programs."},
    {"groups",
     "What is counted: groups of events that are on the PMU at the same time. Ratios between "
     "events of one group are therefore meaningful. If the groups need more counters than a CPU "
     "has, they are multiplexed. An event that this machine does not have is left out and "
     "reported; the other events are counted."},
    {"cgroups",
     "Which cgroups the groups with scope `cgroup` count. Cgroups are selected by their paths "
     "below the cgroup mount; `systemd-cgls` shows the paths."},
    {"kubernetes", "Names of pods and containers in Kubernetes."},
    {"evidence",
     "Additional series that show how the values of multiplexed groups were estimated."},
    {"truth_check",
     "Whether to leave out events that count known work wrongly. They are checked at the start and "
     "once an hour: some hypervisors have a PMU that counts nothing, or too little."},
    {"guests",
     "Whether hardware events count what virtual machines of this host do. `auto`: unless KVM "
     "gives them the PMU, or the PMU cannot."},
    {"openmetrics",
     "Additions in the OpenMetrics format. The older text format does not have them."},
    {"limits",
     "Limits on the cost of the exporter. Cgroups beyond a limit are left out and reported. If the "
     "groups of scope `cpu` alone exceed a limit, the exporter does not start."},
    {"groups[].name", "Name of the group in labels and messages; must be unique."},
    {"groups[].events",
     "Events of the group. Quote a text that contains a comma. A group in the syntax of `perf stat "
     "-e` can be one text: `\"{cycles,instructions}:u\"`."},
    {"groups[].scope",
     "Where the group is counted: on every CPU (`cpu`), or for every selected cgroup (`cgroup`). "
     "Events that a part of the package counts (energy, memory channels, all uncore PMUs) support "
     "only scope `cpu`, because they do not distinguish cgroups. Clocks such as `task-clock` are "
     "CPU time only with scope `cgroup`; on a CPU they also run while it is idle."},
    {"groups[].when",
     "Conditions on the machine, all of which must hold; else the group is left out. With them, "
     "one file serves machines of several kinds. A group that is left out has no series, causes no "
     "warning, and is reported with its reason by `--config.check` and the status page."},
    {"groups[].optional",
     "Whether events that this machine lacks are expected to be missing. They cause no warning, "
     "and have no series `perf_event_exporter_event_refusal_info`. Events that are missing for "
     "another reason, such as a right, and misspelled names, are still reported."},
    {"groups[].cpus",
     "CPUs on which this group is not counted, in addition to the top-level `cpus`."},
    {"groups[].aggregate",
     "What one series of scope `cpu` covers. All values except `cpu` are sums over CPUs: a "
     "`package` is a socket, and a `numa_node` is the CPUs of one memory node."},
    {"groups[].weak",
     "Whether a group that does not fit on the PMU is split into smaller groups. With `false`, "
     "such a group is left out. Both are reported."},
    {"groups[].pinned",
     "Whether the group is never multiplexed. A pinned group that does not fit on the PMU reports "
     "an error."},
    {"groups[].exclusive", "Whether no other group may be on the PMU at the same time."},
    {"groups[].estimator",
     "How the counts of a multiplexed group are scaled. `time` scales by the time that the group "
     "was on the PMU. `reference` scales by the activity of the CPU, which is more accurate for "
     "intermittent work, even if that takes a counter. `auto` uses a reference if no group gets "
     "less time on the PMU because of it (for cgroups, if it takes no counter), and time "
     "otherwise. A pinned group is never scaled, and allows only `auto`."},
    {"groups[].duty_cycle",
     "Counts hardware events of the group for a part of the time only. For the rest, other "
     "programs have the counters, and the counts of the group are estimated by its earlier rates, "
     "which is less accurate. CPUs and machines begin at different times."},
    {"groups[].exclude_user",
     "Whether events in user mode are not counted. `exclude_user`, `exclude_kernel` and "
     "`exclude_hypervisor` cannot all be `true`."},
    {"groups[].exclude_kernel", "Whether events in the kernel are not counted."},
    {"groups[].exclude_hypervisor", "Whether events in the hypervisor are not counted."},
    {"groups[].exclude_idle", "Whether events in the idle task are not counted."},
    {"groups[].exclude_host",
     "Whether events outside of virtual machines are not counted. `exclude_host` and "
     "`exclude_guest` cannot both be `true`."},
    {"groups[].exclude_guest",
     "Whether events in virtual machines are not counted. Hardware events support these keys as "
     "far as the CPU does: x86 does not have `exclude_idle`. Page faults and tracepoints support "
     "only `exclude_user` and `exclude_kernel`. Clocks and uncore PMUs support none."},
    {"groups[].inherit",
     "Not supported: it is for counters of a task, and the counters of a CPU or cgroup count all "
     "its tasks."},
    {"cgroups.labels[].match", "Cgroups that get the labels."},
    {"cgroups.labels[].set",
     "Names and values of the labels. A name consists of 1 to 128 of `a-z`, `A-Z`, `0-9` and `_`, "
     "and must not be a label of the exporter, nor `job`, `instance` or `cluster`. In a value, "
     "`$1` to `$9` are replaced by what the groups of the regular expression matched, `$0` by the "
     "whole path, and `$$` by a dollar sign."},
    {"cgroups.include",
     "Patterns of the cgroups to count. A list in the file replaces the default list, which "
     "matches systemd services and scopes, containers, virtual machines, and jobs of batch "
     "systems."},
    {"cgroups.exclude",
     "Patterns of cgroups that are not counted. They are tried before those of `include`."},
    {"cgroups.nesting",
     "If selected cgroups are nested, count only the innermost (`leaves`) or `all`. The counts of "
     "a cgroup include those of its children. With `leaves`, a sum over cgroups counts nothing "
     "twice; an outer cgroup is replaced by the inner ones and by the other cgroups that it has. "
     "Its own processes are then counted only by scope `cpu`. With `all`, a sum over cgroups "
     "counts the inner cgroups twice."},
    {"cgroups.helpers",
     "Whether to also count cgroups of container helpers, such as conmon. Podman and CRI-O run one "
     "conmon for each container."},
    {"cgroups.max",
     "Maximum number of cgroups that are counted at the same time. Further cgroups are left out "
     "and reported."},
    {"cgroups.per_cpu",
     "Whether cgroups have one series per CPU, with a label `cpu`, instead of the sum. This "
     "multiplies the number of series by the number of CPUs, so `limits.max_series` may have to be "
     "raised. The cost of counting does not change."},
    {"cgroups.linger",
     "How long the last values of a removed cgroup are still served. This should be longer than "
     "the scrape interval, so that a scrape sees the final values."},
    {"cgroups.close_after",
     "How long a cgroup may use no CPU time before its counters are closed. Its series keep their "
     "values, and the counters are opened again when the cgroup runs (`open_after`). Each time, "
     "this time doubles for the cgroup. `0s`: counters are never closed. No effect with "
     "`per_cpu`, nor by records."},
    {"cgroups.open_after",
     "CPU time that a cgroup uses before its closed counters are opened again. Events in this time "
     "are not counted; the time is published as unmeasured."},
    {"cgroups.source",
     "How cgroups are counted: `auto`, `records` or `descriptors`. `descriptors`: with a file "
     "descriptor for each event, cgroup and CPU. `records`: with one group of events on each CPU. "
     "At each switch between cgroups, the kernel writes what the group has counted into a buffer, "
     "and the exporter adds the differences to the cgroups. This takes no descriptor for an event "
     "of a cgroup, costs less at each switch, and counts cgroups that live for less than a "
     "millisecond. It needs Linux 5.7. `auto`: `records` on each CPU where they can be had and are "
     "correct, if at least 4 cgroups are counted; else `descriptors`."},
    {"cgroups.records_buffer",
     "Memory on each CPU for the records of `source: records`. A larger buffer has room for more "
     "switches while the exporter is kept off the CPU. The kernel locks this memory "
     "(`kernel.perf_event_mlock_kb`, `LimitMEMLOCK=`); if it refuses, half of it is tried, down to "
     "16KiB."},
    {"cgroups.labels",
     "Rules that add labels to all series of the cgroups that match a pattern. If two rules set "
     "the same label, the first one applies."},
    {"cgroups.sums",
     "Sums over cgroups with equal labels, such as all containers of a workload. A sum keeps what "
     "its cgroups had counted when they ended. With `nesting: all`, a cgroup inside of another one "
     "of the same sum is not added, as the outer one contains it."},
    {"cgroups.container_names",
     "Sources of the labels `container` and `image`. A directory of Docker "
     "(`/var/lib/docker/containers`) or of Podman (`/var/lib/containers/storage`), which only root "
     "may read, or a file with lines `ID: {container: NAME, image: IMAGE}`. Those of the shipped "
     "file are ignored where they are not there or must not be read."},
    {"cgroups.series",
     "Which cgroups have series of their own: `folded`, `each`, or `none` (only `sums`). `folded`: "
     "each, but cgroups whose names systemd uses once share the series of all with such a name: "
     "sessions (`session-*.scope`), transient units (`run-*.service`) and connections to a socket "
     "with `Accept=yes` (`NAME@*.service`). `each`: also these; so it is with `per_cpu`."},
    {"kubernetes.metadata",
     "Source of the labels `pod`, `namespace` and `container`: `none` or `log_links`. With "
     "`log_links`, they are read from the names of the links that the kubelet creates to the logs "
     "of containers; this needs access to that directory, but not to the API or a socket. With "
     "`none`, there are only the labels from the paths of cgroups, which contain the ID of a "
     "container and the UID of its pod."},
    {"kubernetes.log_links",
     "Directory of the links to container logs. The path is the one that the exporter sees."},
    {"cgroups.sums[].name",
     "Name in the metrics of the sum: `workload` gives `perf_workload_cycles_total`."},
    {"cgroups.sums[].by",
     "Labels of `perf_cgroup_info`, or of the rules in `cgroups.labels`. There is a sum for each "
     "combination of their values. A cgroup that lacks one of them is in no sum. `[]`: one sum of "
     "all selected cgroups."},
    {"cgroups.sums[].max",
     "Maximum number of combinations. Cgroups with further ones are added up as 'other' and "
     "reported."},
    {"cgroups.sums[].idle", "How long a sum without a cgroup is still served. Then it ends."},
    {"cgroups.sums[].zero_for",
     "How long a new sum is served as 0, before its counts appear all at once. Functions such as "
     "`increase()` see only what comes after the first sample, so this should be longer than the "
     "scrape interval. `0s` is right for scrapers that use `openmetrics.created`."},
    {"groups[].events[].event", "The event, as `perf list` spells it."},
    {"groups[].events[].name",
     "Name of the metric. Letters become lower case, digits are kept, and each sequence of other "
     "characters becomes one `_`."},
    {"groups[].events[].help", "Help text of the metric."},
    {"groups[].events[].unit", "Unit of the metric."},
    {"groups[].events[].scale",
     "Number of units that one count is worth. Required if `unit` replaces one that the kernel "
     "gives."},
    {"groups[].events[].filter",
     "For a tracepoint: count only if this expression is true. It is written in the kernel's "
     "filter syntax, for example `bytes >= 65536`."},
    {"cpus.exclude",
     "CPUs that are not counted: `isolated`, `nohz_full` or lists such as `\"2-5,8\"`. `isolated` "
     "are the CPUs that are isolated from the scheduler (`isolcpus=`), and `nohz_full` the CPUs "
     "without a scheduler tick. Both are determined at start and at each reload. Sums over CPUs do "
     "not include excluded CPUs."},
    {"groups[].when.vendor",
     "Vendors of CPUs, as the label `vendor` of `perf_machine_info` has them, in any case: "
     "`GenuineIntel`, `AuthenticAMD`, `ARM`."},
    {"groups[].when.cpus", "Number of online CPUs: at least this, or within this range."},
    {"groups[].when.virtual",
     "Whether the machine is virtual, as far as `perf_machine_info` has a `hypervisor`."},
    {"groups[].when.pmu",
     "A PMU that the machine must have, by its name in sysfs. As in events, the number and the "
     "prefix `uncore_` can be left out, and `*` stands for any text."},
    {"groups[].when.kernel", "Oldest version of Linux, such as `5.13`."},
    {"groups[].duty_cycle.on",
     "How long the group counts in each cycle: at least two `collection.interval`."},
    {"groups[].duty_cycle.every", "How long a cycle is."},
};

/// Empty for a key without one.
inline std::string meaning_of(const yaml::KeyReference& key) {
  const std::string path = path_of(key);
  const KeyTextEntry* found = lookup(kKeyTexts, &KeyTextEntry::path, path);
  if (found == nullptr) {
    found = lookup(
        kKeyTexts,
        [&](const KeyTextEntry& entry) { return path.ends_with("." + std::string(entry.path)); },
        true);
  }
  return found == nullptr ? "" : std::string(found->meaning);
}

/// The first sentence of a meaning.
inline std::string summary_of(const std::string& meaning) {
  return meaning.substr(0, std::min(meaning.find(". "), meaning.size() - 1)) + ".";
}

}  // namespace pex::docs
