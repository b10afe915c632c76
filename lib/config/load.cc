#include "config/load.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "base/parse.h"
#include "base/small_file.h"
#include "config/mistakes.h"
#include "config/value.h"
#include "config/yaml_tree.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr DurationRange kInterval = {100ms, 1h};
constexpr DurationRange kLinger = {0s, 1h};
constexpr NumberRange kCgroupCount = {0, 100'000};
constexpr NumberRange kLimit = {1, 10'000'000};
constexpr std::size_t kMaxEventsPerGroup = 64;
constexpr std::size_t kMaxNameLength = 64;

constexpr std::string_view kNoGroups = "no groups: nothing would be counted";
constexpr std::string_view kGroupExample =
    "add 'groups: [{name: core, events: [cycles, instructions], scope: cpu}]'";

/// The groups read so far; the last of them is the one whose keys are being read.
struct GroupList {
  std::vector<Group>& groups;
  Firsts names{"give each group a name of its own"};
};

template <typename T, typename Read>
void assign(T& target, const std::optional<Read>& read) {
  if (read) target = *read;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return !text.empty() && text.size() <= kMaxNameLength &&
         kLetters.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kRest) == std::string_view::npos;
}

void read_name(const Value& value, GroupList& list) {
  const std::optional<std::string> name = value.text({"a name", "write a name, for example core"});
  if (!name) return;
  if (!is_name(*name)) {
    return value.refuse(quoted(*name) + " is not a name",
                        "use 1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter");
  }
  if (list.names.add(*name, value)) list.groups.back().name = *name;
}

void read_event(const Value& value, Firsts& firsts, std::vector<EventEntry>& events) {
  const std::optional<std::string> event =
      value.text({"an event", "write an event, for example cycles"});
  if (!event) return;
  if (trimmed(*event).empty()) return value.refuse("the event is empty", "name one, or remove it");
  if (firsts.add(*event, value)) events.push_back({*event, value.at()});
}

void read_events(const Value& value, GroupList& list) {
  const auto items =
      value.items({"a list of events", "write a list, for example [cycles, instructions]"});
  if (!items) return;
  if (items->empty() || items->size() > kMaxEventsPerGroup) {
    return value.refuse("a group of " + std::to_string(items->size()) + " events",
                        "list 1 to 64 events; more of them go into further groups");
  }
  Firsts firsts("remove one of the two");
  for (const Value& item : *items) read_event(item, firsts, list.groups.back().events);
}

struct ScopeRow {
  std::string_view word;
  bool Group::*scope;
};
constexpr ScopeRow kScopes[] = {{"cpu", &Group::cpu_scope}, {"cgroup", &Group::cgroup_scope}};
constexpr Expected kScope = {"cpu, cgroup or a list of both", "write cpu, cgroup or [cpu, cgroup]"};

void read_scope_word(const Value& value, Firsts& firsts, Group& group) {
  const std::optional<std::string> word = value.text(kScope);
  if (!word) return;
  for (const ScopeRow& row : kScopes) {
    if (*word != row.word) continue;
    if (firsts.add(*word, value)) group.*row.scope = true;
    return;
  }
  const std::optional<std::string> meant = nearest(*word, {"cpu", "cgroup"});
  value.refuse(quoted(*word) + " is not a scope",
               meant ? "did you mean '" + *meant + "'?" : "write cpu, cgroup or [cpu, cgroup]");
}

void read_scope(const Value& value, GroupList& list) {
  Firsts firsts("remove one of the two");
  Group& group = list.groups.back();
  if (!value.is_list()) return read_scope_word(value, firsts, group);
  const auto items = value.items(kScope);
  if (!items) return;
  if (items->empty()) value.refuse("no scope: it would count nowhere", "write cpu, cgroup or both");
  for (const Value& item : *items) read_scope_word(item, firsts, group);
}

constexpr Expected kGlob = {"a path", "write a path, for example /system.slice/*.service"};
constexpr Expected kGlobs = {"a list of paths",
                             "write a list, for example [/system.slice/*.service]"};

void read_glob(const Value& value, std::vector<std::string>& globs) {
  const std::optional<std::string> glob = value.text(kGlob);
  if (!glob) return;
  if (!glob->starts_with('/')) {
    return value.refuse(quoted(*glob) + " does not start with '/'",
                        "write the whole path below the cgroup mount, for example "
                        "/system.slice/*.service");
  }
  globs.push_back(*glob);
}

void read_globs(const Value& value, std::vector<std::string>& globs) {
  const auto items = value.items(kGlobs);
  if (!items) return;
  globs.clear();  // a list replaces the default, it does not add to it
  for (const Value& item : *items) read_glob(item, globs);
}

constexpr Key<Collection> kCollectionKeys[] = {
    {"interval",
     [](const Value& value, Collection& collection) {
       assign(collection.interval, read_duration(value, kInterval));
     }},
};

constexpr Key<GroupList> kGroupKeys[] = {
    {"name", read_name, "the group has no name", "add a name to it, for example 'name: core'"},
    {"events", read_events, "the group has no events",
     "add a list of them, for example 'events: [cycles, instructions]'"},
    {"scope", read_scope, "the group has no scope", "add 'scope: cpu', cgroup or [cpu, cgroup]"},
    {"pinned", [](const Value& value,
                  GroupList& list) { assign(list.groups.back().pinned, read_flag(value)); }},
};

constexpr Key<Cgroups> kCgroupsKeys[] = {
    {"include", [](const Value& value, Cgroups& cgroups) { read_globs(value, cgroups.include); }},
    {"exclude", [](const Value& value, Cgroups& cgroups) { read_globs(value, cgroups.exclude); }},
    {"max", [](const Value& value,
               Cgroups& cgroups) { assign(cgroups.max, read_number(value, kCgroupCount)); }},
    {"linger", [](const Value& value,
                  Cgroups& cgroups) { assign(cgroups.linger, read_duration(value, kLinger)); }},
};

constexpr Key<Limits> kLimitsKeys[] = {
    {"max_open_events",
     [](const Value& value, Limits& limits) {
       assign(limits.max_open_events, read_number(value, kLimit));
     }},
    {"max_series", [](const Value& value,
                      Limits& limits) { assign(limits.max_series, read_number(value, kLimit)); }},
};

constexpr Expected kGroups = {
    "a list of groups",
    "write a list, for example [{name: core, events: [cycles, instructions], scope: cpu}]"};

void read_groups(const Value& value, std::vector<Group>& groups) {
  const auto items = value.items(kGroups);
  if (!items) return;
  if (items->empty()) {
    return value.refuse(std::string(kNoGroups), std::string(kGroupExample));
  }
  GroupList list{groups};
  for (const Value& item : *items) {
    groups.emplace_back().at = item.at();
    read_map<GroupList>(item, kGroupKeys, list);
  }
}

constexpr Key<Config> kConfigKeys[] = {
    {"collection",
     [](const Value& value, Config& config) {
       read_map<Collection>(value, kCollectionKeys, config.collection);
     }},
    {"groups", [](const Value& value, Config& config) { read_groups(value, config.groups); },
     kNoGroups, kGroupExample},
    {"cgroups", [](const Value& value,
                   Config& config) { read_map<Cgroups>(value, kCgroupsKeys, config.cgroups); }},
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
