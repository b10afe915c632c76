#include "config/load.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "base/small_file.h"
#include "config/cgroups.h"
#include "config/groups.h"
#include "config/mistakes.h"
#include "config/numbers.h"
#include "config/value.h"
#include "config/yaml_tree.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr DurationRange kInterval = {100ms, 1h};
constexpr NumberRange kLimit = {1, 10'000'000};

constexpr Key<Collection> kCollectionKeys[] = {
    {"interval",
     [](const Value& value, Collection& collection) {
       assign(collection.interval, read_duration(value, kInterval));
     }},
};

constexpr Key<Evidence> kEvidenceKeys[] = {
    {"variance",
     [](const Value& value, Evidence& evidence) { assign(evidence.variance, read_flag(value)); }},
    {"reference",
     [](const Value& value, Evidence& evidence) { assign(evidence.reference, read_flag(value)); }},
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

constexpr std::string_view kTooLarge = "a configuration is 1 MiB at most; is this the right file?";

struct FileRemedy {
  int code;
  std::string_view remedy;
};
constexpr FileRemedy kFileRemedies[] = {
    {ENOENT, "create the file, or name another one with --config.file"},
    {ENOTDIR, "a part of this path is a file; correct --config.file"},
    {EISDIR, "name a file in this directory"},
    {EACCES, "let the user of this process read the file and enter the directories above it"},
    {EFBIG, kTooLarge},
};

std::string remedy_for(int code) {
  for (const FileRemedy& row : kFileRemedies) {
    if (row.code == code) return std::string(row.remedy);
  }
  return "check the file and the disk it is on";
}

}  // namespace

Loaded load_file(const std::string& path) {
  const Result<std::string> text = read_small_file(path, kMaxConfigBytes);
  if (text) return load_text(*text, path);
  const int code = text.error().code;
  return {{}, {Error{code, "read the configuration '" + path + "'", remedy_for(code)}}};
}

Loaded load_text(std::string_view text, const std::string& name) {
  Loaded loaded;
  Mistakes mistakes;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

  if (text.size() > kMaxConfigBytes) {
    mistakes.add({name, 0, 0, {}}, "the text is too large", std::string(kTooLarge));
  } else if (const auto bad = first_unreadable(text)) {
    const Place place = place_at(text, bad->offset);
    mistakes.add({name, place.line, place.column, {}}, bad->what, bad->remedy);
  } else if (const std::optional<Node> root = parse_yaml(text, name, mistakes)) {
    read_config(*root, name, loaded.config, mistakes);
  }
  loaded.mistakes = std::move(mistakes).all();
  return loaded;
}

}  // namespace pex::config
