#include "config/load.h"

#include <optional>
#include <utility>

#include "config/cgroups.h"
#include "config/groups.h"
#include "config/mistakes.h"
#include "config/numbers.h"
#include "config/value.h"
#include "config/yaml_file.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr DurationRange kInterval = {100ms, 1h};
constexpr DurationRange kMaxAge = {100ms, 1h};
constexpr NumberRange kLimit = {1, 10'000'000};

constexpr Key<Collection> kCollectionKeys[] = {
    {"interval",
     [](const Value& value, Collection& collection) {
       assign(collection.interval, read_duration(value, kInterval));
     }},
    {"max_age",
     [](const Value& value, Collection& collection) {
       assign(collection.max_age, read_duration(value, kMaxAge));
     }},
};

constexpr Key<Evidence> kEvidenceKeys[] = {
    {"variance",
     [](const Value& value, Evidence& evidence) { assign(evidence.variance, read_flag(value)); }},
    {"reference",
     [](const Value& value, Evidence& evidence) { assign(evidence.reference, read_flag(value)); }},
};

constexpr Key<OpenMetrics> kOpenMetricsKeys[] = {
    {"created",
     [](const Value& value, OpenMetrics& format) { assign(format.created, read_flag(value)); }},
};

constexpr Key<Limits> kLimitsKeys[] = {
    {"max_open_events",
     [](const Value& value, Limits& limits) {
       assign(limits.max_open_events, read_number(value, kLimit));
     }},
    {"max_series", [](const Value& value,
                      Limits& limits) { assign(limits.max_series, read_number(value, kLimit)); }},
    {"opens_per_second",
     [](const Value& value, Limits& limits) {
       assign(limits.opens_per_second, read_number(value, kLimit));
     }},
};

constexpr Key<Config> kConfigKeys[] = {
    {"collection",
     [](const Value& value, Config& config) {
       read_map<Collection>(value, kCollectionKeys, config.collection);
     }},
    {"groups", [](const Value& value, Config& config) { read_groups(value, config.groups); },
     kNoGroups, kGroupExample},
    {"cgroups", [](const Value& value, Config& config) { read_cgroups(value, config.cgroups); }},
    {"kubernetes",
     [](const Value& value, Config& config) { read_kubernetes(value, config.kubernetes); }},
    {"evidence", [](const Value& value,
                    Config& config) { read_map<Evidence>(value, kEvidenceKeys, config.evidence); }},
    {"openmetrics",
     [](const Value& value, Config& config) {
       read_map<OpenMetrics>(value, kOpenMetricsKeys, config.openmetrics);
     }},
    {"limits", [](const Value& value,
                  Config& config) { read_map<Limits>(value, kLimitsKeys, config.limits); }},
};

void read_config(const Node& root, const std::string& file, Config& config, Mistakes& mistakes) {
  const Value value(root, {file, 0, 0, {}}, mistakes);
  if (root.kind == Node::Kind::kNothing) {
    return value.refuse(std::string(kNoGroups), std::string(kGroupExample));
  }
  read_map<Config>(value, kConfigKeys, config);
}

constexpr FileKind kFile = {"configuration", "--config.file"};

}  // namespace

Loaded load_file(const std::string& path) {
  const Result<std::string> text = read_yaml_file(path, kFile);
  if (text) return load_text(*text, path);
  return {{}, {text.error()}};
}

Loaded load_text(std::string_view text, const std::string& name) {
  Loaded loaded;
  Mistakes mistakes;
  if (const std::optional<Node> root = read_tree(text, name, kFile, mistakes)) {
    read_config(*root, name, loaded.config, mistakes);
  }
  loaded.mistakes = std::move(mistakes).all();
  return loaded;
}

}  // namespace pex::config
