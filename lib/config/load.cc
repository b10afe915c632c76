#include "config/load.h"

#include <optional>
#include <utility>

#include "config/cgroups.h"
#include "config/cpus.h"
#include "config/default_config.h"
#include "config/groups.h"
#include "yaml/file.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/value.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr yaml::DurationRange kInterval = {100ms, 1h};
constexpr yaml::DurationRange kMaxAge = {100ms, 1h};
constexpr yaml::NumberRange kLimit = {1, 10'000'000};
constexpr yaml::NumberRange kDirectories = {1, 1'000'000};

constexpr yaml::Key<Collection> kCollectionKeys[] = {
    yaml::duration_key<&Collection::interval, kInterval>(
        "interval",
        "How often every counter is read. A shorter interval follows changes faster and costs "
        "more."),
    yaml::duration_key<&Collection::max_age, kMaxAge>(
        "max_age",
        "Maximum age of the counts in a scrape. Older counts are read first, once "
        "for all waiting scrapes. If it is at least `interval`, scrapes never trigger a read."),
};

constexpr yaml::Key<Evidence> kEvidenceKeys[] = {
    yaml::flag_key<&Evidence::variance>(
        "variance",
        "Whether `perf_event_variance_total` is published, which gives the standard error of each "
        "event's values: one additional series for each of theirs."),
    yaml::flag_key<&Evidence::reference>(
        "reference",
        "Whether `perf_group_reference_total` and `perf_group_reference_sampled_total` are "
        "published, which show whether a group had the PMU while the CPU did its usual work."),
};

constexpr yaml::Key<OpenMetrics> kOpenMetricsKeys[] = {
    yaml::flag_key<&OpenMetrics::created>(
        "created",
        "Whether each counter has a sample `_created` with its start time. "
        "Prometheus stores each as a separate series, which `limits.max_series` does not include."),
};

constexpr yaml::Key<Limits> kLimitsKeys[] = {
    yaml::number_key<&Limits::max_open_events, kLimit>(
        "max_open_events",
        "Open counters, each a file descriptor: one for each event and CPU, and for the scope "
        "`cgroup` one for each event, CPU and cgroup."),
    yaml::number_key<&Limits::max_series, kLimit>("max_series", "Time series in one scrape."),
    yaml::number_key<&Limits::opens_per_second, kLimit>(
        "opens_per_second",
        "Counters of cgroups that each CPU opens per second, also at the start. Each takes "
        "some "
        "microseconds of that CPU. Further cgroups wait, in order of arrival."),
    yaml::number_key<&Limits::max_cgroup_directories, kDirectories>(
        "max_cgroup_directories",
        "Maximum number of directories of the cgroup tree that are read and watched. If there are "
        "more, the "
        "limit is divided fairly among the subtrees of each directory. Cgroups in the other "
        "directories are not found; the log and a metric report the number of these directories."),
};

constexpr yaml::Key<Config> kConfigKeys[] = {
    yaml::map_key<&Config::collection, kCollectionKeys>("collection", "When counters are read."),
    {"cpus",
     [](const yaml::Value& value, Config& config) { read_cpus(value, config.cpus); },
     {"Which CPUs are counted: all that are online, except these. On a CPU that is left out no "
      "counter is opened and no thread of the exporter runs, so that a CPU that is dedicated to "
      "one "
      "real-time or polling task is not disturbed.",
      yaml::form_of_map, nullptr, list_cpus_keys}},
    {"groups",
     [](const yaml::Value& value, Config& config) { read_groups(value, config.groups); },
     {"What is counted. The events of one group are on the PMU at the same time, so "
      "that ratios between them are meaningful. If the groups need more counters than a CPU has, "
      "the kernel multiplexes them.",
      [] { return std::string("list of maps, at least one"); }, nullptr, list_group_keys},
     kNoGroups,
     kGroupExample},
    {"cgroups",
     [](const yaml::Value& value, Config& config) { read_cgroups(value, config.cgroups); },
     {"The cgroups that groups with scope `cgroup` count: services, containers, virtual "
      "machines. They are selected by their paths below the cgroup mount.",
      yaml::form_of_map, nullptr, list_cgroups_keys}},
    {"kubernetes",
     [](const yaml::Value& value, Config& config) { read_kubernetes(value, config.kubernetes); },
     {"The names of this machine's containers in Kubernetes.", yaml::form_of_map, nullptr,
      list_kubernetes_keys}},
    yaml::map_key<&Config::evidence, kEvidenceKeys>(
        "evidence", "Additional series about the estimated values of multiplexed groups."),
    yaml::map_key<&Config::openmetrics, kOpenMetricsKeys>(
        "openmetrics",
        "Additions in the format OpenMetrics, which the legacy text format does not have."),
    yaml::map_key<&Config::limits, kLimitsKeys>(
        "limits",
        "Limits on the cost of the exporter. Cgroups that exceed one are left out, and "
        "that is reported; if the groups of the CPUs alone exceed one, the exporter does not "
        "start."),
};

void read_config(const yaml::Node& root, const std::string& file, Loaded& loaded) {
  const yaml::Value value(root, {file, 0, 0, {}}, loaded.diagnostics);
  if (root.kind == yaml::Node::Kind::kNothing) {
    return value.refuse(std::string(kNoGroups), std::string(kGroupExample));
  }
  yaml::read_map<Config>(value, kConfigKeys, loaded.config);
}

constexpr yaml::FileKind kFile = {"configuration", ProgramTerm::kConfigFile};

}  // namespace

Result<Loaded> load_file(const std::string& path) {
  const Result<std::string> text = yaml::read_file(path, kFile);
  if (!text) return text.error();
  return load_text(*text, path);
}

Loaded load_text(std::string_view text, const std::string& name) {
  Loaded loaded;
  loaded.config.is_default = text == kDefaultConfig;
  const std::optional<yaml::Node> root = yaml::read_tree(text, name, kFile, loaded.diagnostics);
  if (root) read_config(*root, name, loaded);
  return loaded;
}

std::vector<yaml::KeyReference> configuration_keys() {
  std::vector<yaml::KeyReference> keys;
  list_keys<Config>(kConfigKeys, "", keys);
  return keys;
}

}  // namespace pex::config
