#include "config/load.h"

#include <optional>
#include <utility>

#include "config/cgroups.h"
#include "config/cpus.h"
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
        "How often every counter is read. Shorter follows change faster and costs more."),
    yaml::duration_key<&Collection::max_age, kMaxAge>(
        "max_age",
        "How old the counts of a scrape may be. Where they are older, they are read first, once "
        "for all scrapes that wait for it. From the interval on, a scrape never has them read."),
};

constexpr yaml::Key<Evidence> kEvidenceKeys[] = {
    yaml::flag_key<&Evidence::variance>(
        "variance",
        "Whether `perf_event_variance_total` is published, which gives the standard error of each "
        "event's values: one series more for each of theirs."),
    yaml::flag_key<&Evidence::reference>(
        "reference",
        "Whether `perf_group_reference_total` and `perf_group_reference_sampled_total` are "
        "published, which tell whether a group had the counters while the CPU did its usual work."),
};

constexpr yaml::Key<OpenMetrics> kOpenMetricsKeys[] = {
    yaml::flag_key<&OpenMetrics::created>(
        "created",
        "Whether each counter has a sample `_created` beside it, that says since when it counts. "
        "Prometheus stores each as a series of its own, which `limits.max_series` does not count."),
};

constexpr yaml::Key<Limits> kLimitsKeys[] = {
    yaml::number_key<&Limits::max_open_events, kLimit>(
        "max_open_events",
        "Open counters, which are file descriptors: one for each event and CPU, and for the scope "
        "`cgroup` one for each event, CPU and cgroup."),
    yaml::number_key<&Limits::max_series, kLimit>("max_series", "Time series in one scrape."),
    yaml::number_key<&Limits::opens_per_second, kLimit>(
        "opens_per_second",
        "Counters of cgroups that each CPU opens in a second, at the start as well. Each takes "
        "some "
        "microseconds of that CPU. Cgroups beyond that wait, and those that came first are next."),
    yaml::number_key<&Limits::max_cgroup_directories, kDirectories>(
        "max_cgroup_directories",
        "Most directories of the cgroup tree that are read and watched. If there are more, the "
        "limit is divided fairly among the subtrees of each directory. Cgroups in the other "
        "directories are not found; the log and a metric report how many directories those are."),
};

constexpr yaml::Key<Config> kConfigKeys[] = {
    yaml::map_key<&Config::collection, kCollectionKeys>("collection", "When counters are read."),
    {"cpus",
     [](const yaml::Value& value, Config& config) { read_cpus(value, config.cpus); },
     {"Which CPUs are counted: all that are online, but for these. On one that is left out no "
      "counter is opened and no thread of the exporter runs, so that a CPU that serves one "
      "real-time or polling task alone is left to it.",
      yaml::form_of_map, nullptr, list_cpus_keys}},
    {"groups",
     [](const yaml::Value& value, Config& config) { read_groups(value, config.groups); },
     {"What is counted. The events of one group are on the CPU's counters at the same time, so "
      "that ratios between them mean something. When the groups need more counters than a CPU has, "
      "the kernel lets them take turns.",
      [] { return std::string("list of maps, at least one"); }, nullptr, list_group_keys},
     kNoGroups,
     kGroupExample},
    {"cgroups",
     [](const yaml::Value& value, Config& config) { read_cgroups(value, config.cgroups); },
     {"For which cgroups the groups with scope `cgroup` count: services, containers, virtual "
      "machines. They are selected by their paths below the cgroup mount.",
      yaml::form_of_map, nullptr, list_cgroups_keys}},
    {"kubernetes",
     [](const yaml::Value& value, Config& config) { read_kubernetes(value, config.kubernetes); },
     {"What Kubernetes calls the containers on this machine.", yaml::form_of_map, nullptr,
      list_kubernetes_keys}},
    yaml::map_key<&Config::evidence, kEvidenceKeys>(
        "evidence",
        "Series that tell more of how the values of groups that take turns came about."),
    yaml::map_key<&Config::openmetrics, kOpenMetricsKeys>(
        "openmetrics", "What is told in the format OpenMetrics, and not in the older text format."),
    yaml::map_key<&Config::limits, kLimitsKeys>(
        "limits",
        "Bounds on what the exporter may cost. Cgroups that would go beyond one are left out, and "
        "that is reported; when the groups of the CPUs alone do, the exporter does not start."),
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
