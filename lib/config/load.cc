#include "config/load.h"

#include <fmt/core.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "config/cgroups.h"
#include "config/cpus.h"
#include "config/default_config.h"
#include "config/duty_cycle.h"
#include "config/groups.h"
#include "config/when.h"
#include "yaml/file.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/value.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr yaml::DurationRange kInterval = {100ms, 1h};
constexpr yaml::DurationRange kMaxAge = {100ms, 1h};
constexpr yaml::NumberRange kLimit = {1, Limits::kMax};
constexpr yaml::NumberRange kDirectories = {1, 1'000'000};
constexpr yaml::NumberRange kLabelLength = {64, 1024};
constexpr yaml::NumberRange kReserve = {0, Pmu::kMaxReserve};

constexpr yaml::Key<Collection> kCollectionKeys[] = {
    yaml::duration_key<&Collection::interval, kInterval>("interval"),
    yaml::duration_key<&Collection::max_age, kMaxAge>("max_age"),
};

constexpr yaml::Word<CgroupEvidence> kAllEvidence[] = {{"each", CgroupEvidence::kEach},
                                                       {"sum", CgroupEvidence::kSum},
                                                       {"none", CgroupEvidence::kNone}};
constexpr yaml::Choice<CgroupEvidence> kEvidence = {"a choice of evidence", kAllEvidence};

constexpr yaml::Key<Evidence> kEvidenceKeys[] = {
    yaml::choice_key<&Evidence::cgroups, kEvidence>("cgroups"),
    yaml::flag_key<&Evidence::variance>("variance"),
    yaml::flag_key<&Evidence::reference>("reference"),
};

constexpr yaml::Key<Pmu> kPmuKeys[] = {
    yaml::number_key<&Pmu::reserve, kReserve>("reserve"),
};

constexpr yaml::Key<OpenMetrics> kOpenMetricsKeys[] = {
    yaml::flag_key<&OpenMetrics::created>("created"),
};

constexpr std::string_view kAuto = "auto";

void read_max_open_events(const yaml::Value& value, Limits& limits) {
  const std::string_view text = value.unchecked_text();
  if (text == kAuto) {
    limits.max_open_events.reset();
    return;
  }
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (!text.empty() && kLetters.find(text.front()) != text.npos) {
    return value.refuse(yaml::in_quotes(std::string(text)) + " is neither auto nor a number",
                        "write auto, or a whole number from 1 to 10000000");
  }
  if (const auto number = yaml::read_number(value, kLimit, kAuto)) limits.max_open_events = *number;
}

constexpr yaml::Key<Limits> kLimitsKeys[] = {
    {"max_open_events",
     read_max_open_events,
     {[] { return "auto, or a " + yaml::form_of(kLimit); }, [] { return yaml::written(kAuto); }}},
    yaml::number_key<&Limits::max_series, kLimit>("max_series"),
    yaml::number_key<&Limits::opens_per_second, kLimit>("opens_per_second"),
    yaml::number_key<&Limits::max_cgroup_directories, kDirectories>("max_cgroup_directories"),
    yaml::number_key<&Limits::label_length, kLabelLength>("label_length"),
};

constexpr std::size_t kMaxRevision = 128;
constexpr std::string_view kRequires = "requires";
constexpr yaml::Expected kRequirement = {"a version", "write the oldest one, for example '>=0.3'"};

/// ">=0.3" or "0.3".
std::optional<Version> parse_requirement(std::string_view text) {
  constexpr std::string_view kAtLeast = ">=";
  return parse_version(trim(text.starts_with(kAtLeast) ? text.substr(kAtLeast.size()) : text));
}

bool is_newer(const std::optional<Version>& required) { return required > parse_version(kVersion); }

void read_requirement(const yaml::Value& value, Config&) {
  const std::optional<std::string> text = value.text(kRequirement);
  if (!text) return;
  const std::optional<Version> required = parse_requirement(*text);
  if (!required) {
    return value.refuse(yaml::in_quotes(*text) + " is not a version",
                        std::string(kRequirement.remedy));
  }
  if (!is_newer(required)) return;
  const std::string unmet =
      fmt::format("the file is for version {}, and this one is {}", *text, kVersion);
  if (value.ignores_unknown()) return value.warn(unmet, "update this program");
  value.refuse(unmet,
               "update this program; a service starts all the same, without what it does not know");
}

void read_revision(const yaml::Value& value, Config& config) {
  const std::optional<std::string> text = value.text({"a text", "write a text, for example v42"});
  if (!text) return;
  if (text->size() > kMaxRevision) {
    return value.refuse(fmt::format("the revision is {} bytes long", text->size()),
                        fmt::format("write at most {}", kMaxRevision));
  }
  config.origin.revision = *text;
}

constexpr yaml::Word<bool> kSwitchWords[] = {{"on", true}, {"off", false}};
constexpr yaml::Choice<bool> kSwitch = {"a switch", kSwitchWords};
/// Programs that read YAML 1.1, as PyYAML and Helm, take "on" for a flag, and write "true".
constexpr yaml::Word<bool> kSwitchAndFlags[] = {{"on", true},     {"off", false},  {"true", true},
                                                {"false", false}, {"True", true},  {"False", false},
                                                {"TRUE", true},   {"FALSE", false}};

constexpr yaml::Word<Guests> kAllGuests[] = {
    {"auto", Guests::kAuto}, {"count", Guests::kCount}, {"exclude", Guests::kExclude}};
constexpr yaml::Choice<Guests> kGuests = {"a way to count virtual machines", kAllGuests};

void read_truth_check(const yaml::Value& value, Config& config) {
  const auto* found = yaml::read_entry<yaml::Word<bool>>(value, kSwitchAndFlags, kSwitch.noun,
                                                         {"on or off", "write on or off"});
  if (found != nullptr) config.truth_check = found->value;
}

constexpr yaml::Key<Config> kConfigKeys[] = {
    {kRequires,
     read_requirement,
     {[] { return std::string("version"); }, [] { return std::string("any"); }}},
    {"revision",
     read_revision,
     {[] { return fmt::format("text of at most {} bytes", kMaxRevision); },
      [] { return yaml::written("\"\""); }}},
    yaml::flag_key<&Config::enabled>("enabled"),
    yaml::map_key<&Config::collection, kCollectionKeys>("collection"),
    {"cpus",
     [](const yaml::Value& value, Config& config) { read_cpus(value, config.cpus); },
     {yaml::form_of_map, nullptr, list_cpus_keys}},
    yaml::map_key<&Config::pmu, kPmuKeys>("pmu"),
    {"groups",
     [](const yaml::Value& value, Config& config) {
       read_groups(value, config.groups, config.origin.left_out_groups);
     },
     {[] { return std::string("list of maps, at least one"); }, nullptr, list_group_keys},
     kNoGroups,
     kGroupExample},
    yaml::map_key<&Config::cgroups, kCgroupsKeys>("cgroups"),
    yaml::map_key<&Config::kubernetes, kKubernetesKeys>("kubernetes"),
    yaml::map_key<&Config::evidence, kEvidenceKeys>("evidence"),
    {"truth_check",
     read_truth_check,
     {[] { return yaml::form_of_entries(kSwitch.words); },
      [] { return yaml::written(kSwitch, Config{}.truth_check); }}},
    yaml::choice_key<&Config::guests, kGuests>("guests"),
    yaml::map_key<&Config::openmetrics, kOpenMetricsKeys>("openmetrics"),
    yaml::map_key<&Config::limits, kLimitsKeys>("limits"),
};

bool ignores_unknown(const yaml::Value& root, UnknownKeys unknown) {
  return unknown == UnknownKeys::kWarn ||
         (unknown == UnknownKeys::kWarnIfNewer &&
          is_newer(parse_requirement(root.unchecked_text_at(kRequires))));
}

void read_config(const yaml::Node& root, const std::string& file, UnknownKeys unknown,
                 Loaded& loaded) {
  const yaml::Value value(root, {file, 0, 0, {}}, loaded.diagnostics);
  if (root.kind == yaml::Node::Kind::kNothing) {
    return value.refuse(std::string(kNoGroups), std::string(kGroupExample));
  }
  if (ignores_unknown(value, unknown)) loaded.diagnostics.ignore_unknown();
  yaml::read_map<Config>(value, kConfigKeys, loaded.config);
  check_duty_cycles(loaded.config, loaded.diagnostics);
}

/// A key that another map has: "interval" at the top belongs into "collection".
void name_their_maps(yaml::Diagnostics& diagnostics) {
  const std::vector<yaml::KeyReference> keys = configuration_keys();
  diagnostics.revise([&](yaml::Diagnostic& error) {
    if (error.message != yaml::kUnknownKey || !error.remedy.text().starts_with(yaml::kKeysHere)) {
      return;
    }
    const std::string& path = error.position.key;
    const std::string name = path.substr(path.rfind('.') + 1);
    std::string maps;
    for (const yaml::KeyReference& key : keys) {
      if (key.name != name || key.map.empty()) continue;
      maps += (maps.empty() ? "'" : " or '") + key.map + "'";
    }
    if (!maps.empty()) error.remedy = "it is a key of " + maps + ": write it there";
  });
}

/// The first digits of `sha256sum`.
std::string hash_of(std::string_view text) {
  constexpr std::size_t kBytes = 6;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(bytes, text.size(), digest.data());
  std::string digits;
  for (std::size_t i = 0; i < kBytes; ++i) digits += fmt::format("{:02x}", digest.at(i));
  return digits;
}

constexpr yaml::FileKind kFile = {"configuration", ProgramTerm::kConfigFile};

}  // namespace

Result<Loaded> load_file(const std::string& path, UnknownKeys unknown) {
  const Result<std::string> text = yaml::read_file(path, kFile);
  if (!text) return text.error();
  return load_text(*text, path, unknown);
}

Loaded load_text(std::string_view text, const std::string& name, UnknownKeys unknown) {
  Loaded loaded;
  loaded.config.is_default =
      text == kDefaultConfig ||
      std::count(std::begin(kKubernetesConfigs), std::end(kKubernetesConfigs), text) > 0;
  const std::optional<yaml::Node> root = yaml::read_tree(text, name, kFile, loaded.diagnostics);
  if (root) read_config(*root, name, unknown, loaded);
  if (loaded.diagnostics.has_errors()) name_their_maps(loaded.diagnostics);
  loaded.config.origin.hash = hash_of(text);
  loaded.config.origin.unknown_keys = loaded.diagnostics.ignored_count();
  loaded.config.origin.warnings = yaml::errors_of(loaded.diagnostics.warnings());
  return loaded;
}

std::vector<yaml::KeyReference> configuration_keys() {
  std::vector<yaml::KeyReference> keys;
  list_keys<Config>(kConfigKeys, "", keys);
  return keys;
}

}  // namespace pex::config
