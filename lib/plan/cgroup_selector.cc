#include "plan/cgroup_selector.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cgroup/path_info.h"
#include "host/cpu_place.h"
#include "yaml/mistakes.h"
#include "yaml/plain_text.h"

namespace pex::plan {
namespace {

/// Labels that series have from us, from Kubernetes or from Prometheus, next to those that the path
/// of a cgroup (cgroup/path_info.h) and the place of a CPU (host/cpu_place.h) give. One name cannot
/// stand twice on a series.
constexpr std::string_view kOwnLabels[] = {
    "cgroup", "pmu", "group", "event", "domain", "pod", "namespace", "container", "le", "quantile",
};

bool is_ours(std::string_view label) {
  const auto is_same = [label](const auto& each) { return each.label == label; };
  return std::find(std::begin(kOwnLabels), std::end(kOwnLabels), label) != std::end(kOwnLabels) ||
         std::any_of(std::begin(cgroup::kPathLabels), std::end(cgroup::kPathLabels), is_same) ||
         std::any_of(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), is_same);
}

/// `error` says of `text` what is wrong with it, and does not name it.
void add(const yaml::Position& at, const std::string& text, const Error& error,
         yaml::Mistakes& mistakes) {
  mistakes.add(at, yaml::quoted(text) + " " + error.attempted, error.remedy);
}

std::optional<cgroup::Pattern> pattern_of(const config::PatternEntry& entry,
                                          yaml::Mistakes& mistakes) {
  Result<cgroup::Pattern> pattern = cgroup::Pattern::parse(entry.text);
  if (pattern) return std::move(*pattern);
  add(entry.at, entry.text, pattern.error(), mistakes);
  return {};
}

std::vector<cgroup::Pattern> patterns_of(const std::vector<config::PatternEntry>& entries,
                                         yaml::Mistakes& mistakes) {
  std::vector<cgroup::Pattern> patterns;
  for (const config::PatternEntry& entry : entries) {
    std::optional<cgroup::Pattern> pattern = pattern_of(entry, mistakes);
    if (pattern) patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

/// What `groups` of a pattern are to be published as.
std::vector<cgroup::LabelRules::Setting> settings_of(
    const std::vector<config::LabelSetting>& configured, std::size_t groups,
    yaml::Mistakes& mistakes) {
  std::vector<cgroup::LabelRules::Setting> settings;
  for (const config::LabelSetting& each : configured) {
    if (is_ours(each.name)) {
      mistakes.add(each.at, yaml::quoted(each.name) + " is a label of the exporter's own",
                   "give it another name");
      continue;
    }
    Result<cgroup::Template> value = cgroup::Template::parse(each.value, groups);
    if (value) {
      settings.push_back({each.name, std::move(*value)});
    } else {
      add(each.at, each.value, value.error(), mistakes);
    }
  }
  return settings;
}

std::vector<cgroup::LabelRules::Rule> rules_of(const std::vector<config::LabelRule>& configured,
                                               yaml::Mistakes& mistakes) {
  std::vector<cgroup::LabelRules::Rule> rules;
  for (const config::LabelRule& each : configured) {
    std::optional<cgroup::Pattern> match = pattern_of(each.match, mistakes);
    // Of a pattern that is a mistake, nobody knows how many groups it was to have.
    const std::size_t groups = match ? match->groups() : cgroup::Template::kMaxGroups;
    std::vector<cgroup::LabelRules::Setting> settings = settings_of(each.set, groups, mistakes);
    if (match) rules.push_back({std::move(*match), std::move(settings)});
  }
  return rules;
}

}  // namespace

Result<SelectedCgroups, std::vector<Error>> select_cgroups(const config::Cgroups& cgroups) {
  yaml::Mistakes mistakes;
  SelectedCgroups selected;
  selected.selection.include = patterns_of(cgroups.include, mistakes);
  selected.selection.exclude = patterns_of(cgroups.exclude, mistakes);
  selected.selection.helpers = cgroups.helpers;
  selected.selection.leaves = cgroups.nesting == config::Nesting::kLeaves;
  selected.labels = cgroup::LabelRules(rules_of(cgroups.labels, mistakes));
  std::vector<Error> all = std::move(mistakes).all();
  if (!all.empty()) return all;
  return selected;
}

}  // namespace pex::plan
