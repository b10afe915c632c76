#include "plan/cgroup_selector.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cgroup/description.h"
#include "cgroup/path_info.h"
#include "host/cpu_place.h"
#include "yaml/plain_text.h"

namespace pex::plan {
namespace {

/// Labels that series get from us, from Kubernetes or from Prometheus, in addition to those from
/// the path of a cgroup (cgroup/path_info.h) and the place of a CPU (host/cpu_place.h). A name can
/// occur only once on a series.
constexpr std::string_view kOwnLabels[] = {
    "cgroup", "pmu",       "group",     "event", "domain",   "sum",
    "pod",    "namespace", "container", "le",    "quantile",
};

/// Labels of the target, which Prometheus or its users set on all its series: for queries and
/// joins, they must be of the scrape. (Of a series that has one, Prometheus renames it to
/// "exported_job", or with honor_labels loses the target's.)
constexpr std::string_view kTargetLabels[] = {"job", "instance", "cluster"};

bool is_of_target(std::string_view label) {
  return std::find(std::begin(kTargetLabels), std::end(kTargetLabels), label) !=
         std::end(kTargetLabels);
}

bool is_ours(std::string_view label) {
  const auto is_same = [label](const auto& each) { return each.label == label; };
  return std::find(std::begin(kOwnLabels), std::end(kOwnLabels), label) != std::end(kOwnLabels) ||
         std::any_of(std::begin(cgroup::kPathLabels), std::end(cgroup::kPathLabels), is_same) ||
         std::any_of(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), is_same);
}

/// `error` describes the fault of `text` without quoting it.
void add(const yaml::Position& at, const std::string& text, const Error& error,
         yaml::Diagnostics& diagnostics) {
  diagnostics.add({at, yaml::in_quotes(text) + " " + error.attempted, error.remedy});
}

std::optional<cgroup::Pattern> pattern_of(const config::PatternEntry& entry,
                                          yaml::Diagnostics& diagnostics) {
  if (entry.text.empty()) return {};  // reported when the file was read
  Result<cgroup::Pattern> pattern = cgroup::Pattern::parse(entry.text);
  if (pattern) return std::move(*pattern);
  add(entry.at, entry.text, pattern.error(), diagnostics);
  return {};
}

std::vector<cgroup::Pattern> patterns_of(const std::vector<config::PatternEntry>& entries,
                                         yaml::Diagnostics& diagnostics) {
  std::vector<cgroup::Pattern> patterns;
  for (const config::PatternEntry& entry : entries) {
    std::optional<cgroup::Pattern> pattern = pattern_of(entry, diagnostics);
    if (pattern) patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

/// The labels for `groups` of a pattern.
std::vector<cgroup::LabelRules::Setting> settings_of(
    const std::vector<config::LabelSetting>& configured, std::size_t groups,
    yaml::Diagnostics& diagnostics) {
  std::vector<cgroup::LabelRules::Setting> settings;
  for (const config::LabelSetting& each : configured) {
    if (is_ours(each.name) || is_of_target(each.name)) {
      diagnostics.add({each.at,
                       yaml::in_quotes(each.name) +
                           (is_ours(each.name) ? " is a label of the exporter"
                                               : " is a label that Prometheus sets on each target"),
                       "give it another name"});
      continue;
    }
    Result<cgroup::Template> value = cgroup::Template::parse(each.value, groups);
    if (value) {
      settings.push_back({each.name, std::move(*value)});
    } else {
      add(each.at, each.value, value.error(), diagnostics);
    }
  }
  return settings;
}

std::vector<cgroup::LabelRules::Rule> rules_of(const std::vector<config::LabelRule>& configured,
                                               yaml::Diagnostics& diagnostics) {
  std::vector<cgroup::LabelRules::Rule> rules;
  for (const config::LabelRule& each : configured) {
    std::optional<cgroup::Pattern> match = pattern_of(each.match, diagnostics);
    // The number of groups of a wrong pattern is unknown.
    const std::size_t groups = match ? match->groups() : cgroup::Template::kMaxGroups;
    std::vector<cgroup::LabelRules::Setting> settings = settings_of(each.set, groups, diagnostics);
    if (match) rules.push_back({std::move(*match), std::move(settings)});
  }
  return rules;
}

// --- sums ---------------------------------------------------------------------------------------

/// Metrics with these names are the exporter's: perf_cpu_..., perf_event_exporter_...
constexpr std::string_view kOwnNames[] = {"cpu", "cgroup", "group", "event", "machine"};

bool is_own_name(std::string_view name) {
  return std::any_of(std::begin(kOwnNames), std::end(kOwnNames), [&](std::string_view own) {
    return name == own || name.starts_with(std::string(own) + "_");
  });
}

bool is_of_pods(std::string_view label) {
  return std::find(std::begin(cgroup::kPodLabels), std::end(cgroup::kPodLabels), label) !=
         std::end(cgroup::kPodLabels);
}

bool is_of_containers(std::string_view label) {
  return std::find(std::begin(cgroup::kContainerLabels), std::end(cgroup::kContainerLabels),
                   label) != std::end(cgroup::kContainerLabels);
}

/// The default sources may not be readable.
bool has_container_names(const config::Cgroups& cgroups) {
  return !cgroups.container_names.empty() &&
         cgroups.container_names != config::Cgroups{}.container_names;
}

/// Labels that some cgroup can have.
bool is_of_cgroups(std::string_view label, const config::Cgroups& cgroups,
                   config::PodMetadata metadata) {
  const auto is_same = [label](const auto& each) { return each.label == label; };
  const auto is_set = [label](const config::LabelSetting& each) { return each.name == label; };
  return std::any_of(std::begin(cgroup::kPathLabels), std::end(cgroup::kPathLabels), is_same) ||
         (metadata != config::PodMetadata::kNone && is_of_pods(label)) ||
         (has_container_names(cgroups) && is_of_containers(label)) ||
         std::any_of(cgroups.labels.begin(), cgroups.labels.end(),
                     [&](const config::LabelRule& rule) {
                       return std::any_of(rule.set.begin(), rule.set.end(), is_set);
                     });
}

std::string labels_of_cgroups(config::PodMetadata metadata) {
  std::string names;
  for (const cgroup::PathLabel& each : cgroup::kPathLabels) {
    (names += each.label) += ", ";
  }
  for (const std::string_view each : cgroup::kPodLabels) {
    if (metadata != config::PodMetadata::kNone) (names += each) += ", ";
  }
  return names + "or a label that 'cgroups.labels' sets";
}

std::vector<collect::SumPlan> sums_of(const config::Cgroups& cgroups, config::PodMetadata metadata,
                                      yaml::Diagnostics& diagnostics) {
  std::vector<collect::SumPlan> sums;
  for (const config::CgroupSum& each : cgroups.sums) {
    if (is_own_name(each.name)) {
      diagnostics.add(
          {each.at, "metrics with the name " + yaml::in_quotes(each.name) + " are the exporter's",
           "give the sum another name"});
    }
    const bool is_second = std::any_of(sums.begin(), sums.end(), [&](const auto& sum) {
      return !each.name.empty() && sum.name == each.name;
    });
    if (is_second) {
      diagnostics.add({each.at, "there are two sums with the name " + yaml::in_quotes(each.name),
                       "give one of them another name"});
    }
    collect::SumPlan& sum = sums.emplace_back();
    sum.name = each.name;
    for (const config::SumLabel& label : each.by) {
      if (!is_of_cgroups(label.name, cgroups, metadata)) {
        diagnostics.add({label.at, "no cgroup has the label " + yaml::in_quotes(label.name),
                         is_of_pods(label.name) ? "write kubernetes: {metadata: log_links}"
                         : is_of_containers(label.name)
                             ? "name their source in cgroups.container_names"
                             : "use " + labels_of_cgroups(metadata)});
      }
      sum.labels.push_back(label.name);
    }
    sum.max = each.by.empty() ? 1 : each.max;
    sum.idle = each.idle;
    sum.zero_for = each.zero_for;
  }
  return sums;
}

}  // namespace

Result<SelectedCgroups, std::vector<yaml::Diagnostic>> select_cgroups(
    const config::Cgroups& cgroups, config::PodMetadata metadata) {
  yaml::Diagnostics diagnostics;
  SelectedCgroups selected;
  selected.selection.include = patterns_of(cgroups.include, diagnostics);
  selected.selection.exclude = patterns_of(cgroups.exclude, diagnostics);
  selected.selection.helpers = cgroups.helpers;
  selected.selection.leaves = cgroups.nesting == config::Nesting::kLeaves;
  selected.labels = cgroup::LabelRules(rules_of(cgroups.labels, diagnostics));
  selected.sums = sums_of(cgroups, metadata, diagnostics);
  if (diagnostics.has_errors()) return diagnostics.errors();
  return selected;
}

}  // namespace pex::plan
