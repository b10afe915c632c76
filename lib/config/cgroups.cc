#include "config/cgroups.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/cgroup_sums.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr yaml::DurationRange kLinger = {0s, 1h};
constexpr yaml::DurationRange kCloseAfter = {0s, 168h};
constexpr yaml::DurationRange kOpenAfter = {1ms, 10s};
constexpr yaml::NumberRange kCgroupCount = {0, Cgroups::kMax};
constexpr std::size_t kMaxPatterns = 256;
constexpr std::size_t kMaxRules = 64;
constexpr std::size_t kMaxSettings = 16;
constexpr std::size_t kMaxLabelName = 128;

/// A text of limited length.
struct BoundedText {
  std::string_view noun;
  std::size_t max;  ///< bytes
  yaml::Expected expected;
};
constexpr BoundedText kPattern = {
    "pattern", 1024, {"a path", "write a path, for example /system.slice/*.service"}};
constexpr BoundedText kLabelValue = {
    "value", 256, {"a label's value", "write a text, for example web or $1"}};
constexpr BoundedText kDirectory = {
    "path", 4095, {"a directory", "write its whole path, for example /var/log/containers"}};

constexpr BoundedText kNames = {
    "path", 4095, {"a path", "write a whole path, for example /var/lib/docker/containers"}};

std::optional<std::string> read_bounded(const yaml::Value& value, const BoundedText& kind) {
  std::optional<std::string> text = value.text(kind.expected);
  if (!text || text->size() <= kind.max) return text;
  value.refuse(fmt::format("the {} is {} bytes long", kind.noun, text->size()),
               fmt::format("write at most {}", kind.max));
  return {};
}

std::optional<PatternEntry> read_pattern(const yaml::Value& value) {
  std::optional<std::string> text = read_bounded(value, kPattern);
  if (!text) return {};
  if (text->starts_with('/') || text->starts_with("re:")) {
    return PatternEntry{std::move(*text), value.at()};
  }
  value.refuse(yaml::in_quotes(*text) + " does not start with '/'",
               "write the whole path below the cgroup mount, for example /system.slice/*.service; "
               "a regular expression starts with re:");
  return {};
}

void read_patterns(const yaml::Value& value, std::vector<PatternEntry>& patterns) {
  constexpr yaml::Expected kPatterns = {"a list of paths",
                                        "write a list, for example [/system.slice/*.service]"};
  const auto items = value.items("patterns", kMaxPatterns, kPatterns);
  if (!items) return;
  patterns.clear();  // a list replaces the default, it does not add to it
  for (const yaml::Value& item : *items) {
    if (std::optional<PatternEntry> pattern = read_pattern(item)) {
      patterns.push_back(std::move(*pattern));
    }
  }
}

std::optional<std::string> read_path(const yaml::Value& value, const BoundedText& kind) {
  std::optional<std::string> path = read_bounded(value, kind);
  if (!path || path->starts_with('/')) return path;
  value.refuse(yaml::in_quotes(*path) + " does not start with '/'",
               std::string(kind.expected.remedy));
  return {};
}

void read_container_names(const yaml::Value& value, Cgroups& cgroups) {
  constexpr std::size_t kMaxSources = 8;
  constexpr yaml::Expected kPaths = {"a list of paths",
                                     "write a list, for example [/var/lib/docker/containers]"};
  const auto items = value.items("paths", kMaxSources, kPaths);
  if (!items) return;
  cgroups.container_names.clear();
  for (const yaml::Value& item : *items) {
    if (auto path = read_path(item, kNames)) cgroups.container_names.push_back(std::move(*path));
  }
}

/// Why a label must not have this name (Prometheus, "Data model"); empty if it may.
std::string_view wrong_label_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kAllowed =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (name.starts_with("__")) return "starts with '__', which is reserved for Prometheus";
  const bool is_name = !name.empty() && name.size() <= kMaxLabelName &&
                       name.find_first_not_of(kAllowed) == name.npos &&
                       kDigits.find(name.front()) == name.npos;
  return is_name ? "" : "is not a label name";
}

void read_setting(const yaml::Value& key, const yaml::Value& value, LabelRule& rule) {
  constexpr yaml::Expected kName = {"a label's name", "write a name, for example team"};
  const std::optional<std::string> name = key.text(kName);
  if (!name) return;
  if (const std::string_view wrong = wrong_label_name(*name); !wrong.empty()) {
    return key.refuse(yaml::in_quotes(*name) + " " + std::string(wrong),
                      "use 1 to 128 of a-z, A-Z, 0-9 and '_', the first not a digit, and not '__' "
                      "at the beginning");
  }
  std::optional<std::string> text = read_bounded(value, kLabelValue);
  if (!text) return;
  if (text->empty()) {
    return value.refuse("the value is empty, which sets nothing", "write one, or remove the label");
  }
  rule.set.push_back({*name, std::move(*text), value.at()});
}

void read_settings(const yaml::Value& value, LabelRule& rule) {
  constexpr yaml::Expected kSettings = {"a map of labels", "write a map, for example {team: web}"};
  const std::optional<yaml::Value::NamedEntries> entries = value.named_entries(kSettings);
  if (!entries) return;
  if (entries->size() > kMaxSettings) {
    return value.refuse(fmt::format("{} labels in one rule", entries->size()),
                        "set at most 16; more of them go into further rules");
  }
  for (const auto& [key, text] : *entries) read_setting(key, text, rule);
}

std::string form_of(const BoundedText& kind) {
  return fmt::format("{} of at most {} bytes", kind.noun, kind.max);
}

constexpr yaml::Key<LabelRule> kRuleKeys[] = {
    {"match",
     [](const yaml::Value& value, LabelRule& rule) {
       yaml::assign(rule.match, read_pattern(value));
     },
     {[] { return form_of(kPattern); }},
     "the rule has no match",
     "add the cgroups it is for, for example 'match: /system.slice/*'"},
    {"set",
     read_settings,
     {[] {
       return fmt::format("map of at most {} labels, each with a {}", kMaxSettings,
                          form_of(kLabelValue));
     }},
     "the rule sets nothing",
     "add labels, for example 'set: {team: web}'"},
};

void read_rules(const yaml::Value& value, std::vector<LabelRule>& rules) {
  constexpr yaml::Expected kRules = {
      "a list of rules", "write a list, for example [{match: /system.slice/*, set: {team: web}}]"};
  const auto items = value.items("rules", kMaxRules, kRules);
  if (!items) return;
  for (const yaml::Value& item : *items) {
    LabelRule rule;
    const bool is_whole = item.is_read_whole([&] { read_map<LabelRule>(item, kRuleKeys, rule); });
    if (is_whole) rules.push_back(std::move(rule));
  }
}

constexpr yaml::Word<Nesting> kNestings[] = {{"leaves", Nesting::kLeaves}, {"all", Nesting::kAll}};
constexpr yaml::Choice<Nesting> kNesting = {"a value for nested cgroups", kNestings};

constexpr yaml::Word<CgroupSource> kSources[] = {{"auto", CgroupSource::kAuto},
                                                 {"records", CgroupSource::kRecords},
                                                 {"descriptors", CgroupSource::kDescriptors}};
constexpr yaml::Choice<CgroupSource> kSource = {"a source of counts", kSources};

/// Sizes that the kernel accepts for the buffer of records.
constexpr std::size_t kKiB = 1024;
constexpr yaml::Word<std::size_t> kBuffers[] = {
    {"64KiB", 64 * kKiB},      {"128KiB", 128 * kKiB},   {"256KiB", 256 * kKiB},
    {"512KiB", 512 * kKiB},    {"1MiB", 1024 * kKiB},    {"2MiB", 2 * 1024 * kKiB},
    {"4MiB", 4 * 1024 * kKiB}, {"8MiB", 8 * 1024 * kKiB}};
constexpr yaml::Choice<std::size_t> kBuffer = {
    "the size of a buffer", kBuffers, {"a size", "write a power of two, for example 256KiB"}};

constexpr yaml::Word<CgroupSeries> kAllSeries[] = {{"folded", CgroupSeries::kFolded},
                                                   {"each", CgroupSeries::kEach},
                                                   {"none", CgroupSeries::kNone}};
constexpr yaml::Choice<CgroupSeries> kSeries = {"a choice of series", kAllSeries};

std::string form_of_patterns() { return yaml::form_of_list(kMaxPatterns, "patterns"); }

constexpr yaml::Key<Cgroups> kOfCgroups[] = {
    {"include",
     [](const yaml::Value& value, Cgroups& cgroups) { read_patterns(value, cgroups.include); },
     {form_of_patterns,
      [] {
        return "the " + std::to_string(Cgroups{}.include.size()) + " patterns of the shipped file";
      }}},
    {"exclude",
     [](const yaml::Value& value, Cgroups& cgroups) { read_patterns(value, cgroups.exclude); },
     {form_of_patterns, [] { return yaml::written("[]"); }}},
    yaml::choice_key<&Cgroups::nesting, kNesting>("nesting"),
    yaml::flag_key<&Cgroups::helpers>("helpers"),
    yaml::number_key<&Cgroups::max, kCgroupCount>("max"),
    yaml::flag_key<&Cgroups::per_cpu>("per_cpu"),
    yaml::duration_key<&Cgroups::linger, kLinger>("linger"),
    yaml::duration_key<&Cgroups::close_after, kCloseAfter>("close_after"),
    yaml::duration_key<&Cgroups::open_after, kOpenAfter>("open_after"),
    yaml::choice_key<&Cgroups::source, kSource>("source"),
    yaml::choice_key<&Cgroups::records_buffer, kBuffer>("records_buffer"),
    {"labels",
     [](const yaml::Value& value, Cgroups& cgroups) { read_rules(value, cgroups.labels); },
     {[] { return yaml::form_of_list(kMaxRules, "maps"); }, [] { return yaml::written("[]"); },
      [](const std::string& list, std::vector<yaml::KeyReference>& all) {
        list_keys<LabelRule>(kRuleKeys, list + "[]", all);
      }}},
    {"sums",
     [](const yaml::Value& value, Cgroups& cgroups) { read_sums(value, cgroups.sums); },
     {form_of_sums, [] { return yaml::written("[]"); }, list_sum_keys}},
    {"container_names",
     read_container_names,
     {[] { return std::string("list of at most 8 paths"); },
      [] { return std::string("the two of the shipped file"); }}},
    yaml::choice_key<&Cgroups::series, kSeries>("series"),
};

constexpr yaml::Word<PodMetadata> kAllMetadata[] = {{"none", PodMetadata::kNone},
                                                    {"log_links", PodMetadata::kLogLinks}};
constexpr yaml::Choice<PodMetadata> kMetadata = {"a source of pod names", kAllMetadata};

void read_log_links(const yaml::Value& value, Kubernetes& kubernetes) {
  const std::optional<std::string> path = read_path(value, kDirectory);
  if (path) kubernetes.log_links = *path;
}

constexpr yaml::Key<Kubernetes> kOfKubernetes[] = {
    yaml::choice_key<&Kubernetes::metadata, kMetadata>("metadata"),
    {"log_links",
     read_log_links,
     {[] { return "absolute " + form_of(kDirectory); },
      [] { return yaml::written(std::string_view(Kubernetes{}.log_links)); }}},
};

}  // namespace

constinit const std::span<const yaml::Key<Cgroups>> kCgroupsKeys = kOfCgroups;
constinit const std::span<const yaml::Key<Kubernetes>> kKubernetesKeys = kOfKubernetes;

}  // namespace pex::config
