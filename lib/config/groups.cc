#include "config/groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "config/cpus.h"
#include "config/duty_cycle.h"
#include "config/event_entries.h"
#include "config/when.h"
#include "yaml/keys.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

constexpr std::size_t kMaxNameLength = 64;

/// A flag that is set in the file, whatever its value.
struct WrittenFlag {
  bool Group::*flag;
  yaml::Value value;
};

/// The group whose keys are being read, with the positions of those that others may contradict.
struct ParsedGroup {
  Group& group;
  yaml::DuplicateKeys& names;  ///< of all groups
  std::optional<yaml::Value> aggregate = {};
  std::optional<yaml::Value> estimator = {};
  std::vector<WrittenFlag> flags = {};
  bool is_scope_known = false;
};

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return !text.empty() && text.size() <= kMaxNameLength &&
         kLetters.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kRest) == std::string_view::npos;
}

void read_name(const yaml::Value& value, ParsedGroup& parsed) {
  const std::optional<std::string> name = value.text({"a name", "write a name, for example core"});
  if (!name) return;
  if (!is_name(*name)) {
    return value.refuse(yaml::in_quotes(*name) + " is not a name",
                        "use 1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter");
  }
  parsed.group.name = *name;
  parsed.names.add(*name, value);
}

constexpr yaml::Word<bool Group::*> kScopes[] = {{"cpu", &Group::cpu_scope},
                                                 {"cgroup", &Group::cgroup_scope}};
constexpr yaml::Expected kScope = {"cpu, cgroup or a list of both",
                                   "write cpu, cgroup or [cpu, cgroup]"};

void read_scope_word(const yaml::Value& value, yaml::DuplicateKeys& duplicates, Group& group) {
  const auto* found =
      yaml::read_entry<yaml::Word<bool Group::*>>(value, kScopes, "a scope", kScope);
  if (found == nullptr) return;
  if (duplicates.add(std::string(found->word), value)) group.*found->value = true;
}

void read_scopes(const yaml::Value& value, Group& group) {
  yaml::DuplicateKeys duplicates("remove one of the two");
  if (!value.is_list()) return read_scope_word(value, duplicates, group);
  const auto items = value.items(kScope);
  if (!items) return;
  if (items->empty()) value.refuse("no scope: it would count nowhere", "write cpu, cgroup or both");
  for (const yaml::Value& item : *items) read_scope_word(item, duplicates, group);
}

void read_scope(const yaml::Value& value, ParsedGroup& parsed) {
  const std::size_t errors = value.error_count();
  read_scopes(value, parsed.group);
  parsed.is_scope_known = value.error_count() == errors;
}

void read_aggregate(const yaml::Value& value, ParsedGroup& parsed) {
  constexpr std::string_view kNoun = "a part of the machine";
  std::vector<std::string> words;
  for (const AggregationEntry& entry : kAggregationEntries) words.emplace_back(entry.word);
  const std::string remedy = "write " + join_last(words, " or ");
  const AggregationEntry* found =
      yaml::read_entry<AggregationEntry>(value, kAggregationEntries, kNoun, {kNoun, remedy});
  if (found == nullptr) return;
  parsed.group.aggregate = found->aggregation;
  parsed.aggregate = value;
}

constexpr yaml::Word<Estimator> kEstimators[] = {
    {"auto", Estimator::kAuto}, {"time", Estimator::kTime}, {"reference", Estimator::kReference}};
constexpr yaml::Choice<Estimator> kEstimator = {
    "an estimator", kEstimators, {"an estimator", "write auto, time or reference"}};

void read_estimator(const yaml::Value& value, ParsedGroup& parsed) {
  const Estimator* chosen = yaml::read_choice(value, kEstimator);
  if (chosen == nullptr) return;
  parsed.group.estimator = *chosen;
  parsed.estimator = value;
}

template <bool Group::*flag>
void read_group_flag(const yaml::Value& value, ParsedGroup& parsed) {
  yaml::assign(parsed.group.*flag, read_flag(value));
  parsed.flags.push_back({flag, value});
}

void read_inherit(const yaml::Value& value, ParsedGroup&) {
  if (!read_flag(value).value_or(false)) return;
  value.refuse("inherit is for the counters of a task, and a CPU or cgroup counts all its tasks",
               "remove it");
}

template <bool Group::*flag>
constexpr yaml::Key<ParsedGroup> group_flag(std::string_view name) {
  return {name, read_group_flag<flag>, {yaml::form_of_flag, [] {
                                          return yaml::written(Group{}.*flag);
                                        }}};
}

constexpr yaml::Key<ParsedGroup> kGroupKeys[] = {
    {"name",
     read_name,
     {[] {
       return "1 to " + std::to_string(kMaxNameLength) +
              " of `a-z`, `0-9`, `_` and `-`, the first a letter";
     }},
     "the group has no name",
     "add a name to it, for example 'name: core'"},
    {"events",
     [](const yaml::Value& value, ParsedGroup& parsed) { read_events(value, parsed.group.events); },
     {form_of_events, nullptr, list_event_keys},
     "the group has no events",
     "add a list of them, for example 'events: [cycles, instructions]'"},
    {"scope",
     read_scope,
     {[] { return yaml::form_of_entries(kScopes) + ", or a list of both"; }},
     "the group has no scope",
     "add 'scope: cpu', cgroup or [cpu, cgroup]"},
    {"when",
     [](const yaml::Value& value, ParsedGroup& parsed) { read_when(value, parsed.group.when); },
     {yaml::form_of_map, nullptr, list_when_keys}},
    group_flag<&Group::optional>("optional"),
    {"cpus",
     [](const yaml::Value& value, ParsedGroup& parsed) { read_cpus(value, parsed.group.cpus); },
     {yaml::form_of_map, nullptr, list_cpus_keys}},
    {"aggregate",
     read_aggregate,
     {[] { return yaml::form_of_entries(kAggregationEntries); },
      [] { return yaml::written("cpu") + "; of uncore PMUs " + yaml::written("package"); }}},
    group_flag<&Group::weak>("weak"),
    group_flag<&Group::pinned>("pinned"),
    group_flag<&Group::exclusive>("exclusive"),
    {"estimator",
     read_estimator,
     {[] { return yaml::form_of_entries(kEstimators); },
      [] { return yaml::written(kEstimator, Group{}.estimator); }}},
    {"duty_cycle",
     [](const yaml::Value& value, ParsedGroup& parsed) { read_duty_cycle(value, parsed.group); },
     {yaml::form_of_map, nullptr, list_duty_cycle_keys}},
    group_flag<&Group::exclude_user>("exclude_user"),
    group_flag<&Group::exclude_kernel>("exclude_kernel"),
    group_flag<&Group::exclude_hypervisor>("exclude_hypervisor"),
    group_flag<&Group::exclude_idle>("exclude_idle"),
    group_flag<&Group::exclude_host>("exclude_host"),
    group_flag<&Group::exclude_guest>("exclude_guest"),
    {"inherit",
     read_inherit,
     {[] { return yaml::written(false) + " only"; }, [] { return yaml::written(false); }}},
};

/// Flags that must not all be true together.
struct RivalFlags {
  std::span<bool Group::*const> flags;
  std::string_view names;
};
constexpr bool Group::*kModes[] = {&Group::exclude_user, &Group::exclude_kernel,
                                   &Group::exclude_hypervisor};
constexpr bool Group::*kSides[] = {&Group::exclude_host, &Group::exclude_guest};
constexpr RivalFlags kRivals[] = {{kModes, "exclude_user, exclude_kernel and exclude_hypervisor"},
                                  {kSides, "exclude_host and exclude_guest"}};

bool stands_before(const yaml::Value& one, const yaml::Value& other) {
  return std::pair(one.at().line, one.at().column) < std::pair(other.at().line, other.at().column);
}

/// The last of `flags` in the file; null if none is there.
const yaml::Value* last_of(std::span<bool Group::*const> flags, const ParsedGroup& parsed) {
  const yaml::Value* last = nullptr;
  for (const WrittenFlag& written : parsed.flags) {
    if (std::find(flags.begin(), flags.end(), written.flag) == flags.end()) continue;
    if (last == nullptr || stands_before(*last, written.value)) last = &written.value;
  }
  return last;
}

void refuse_rivals(const ParsedGroup& parsed) {
  for (const RivalFlags& rivals : kRivals) {
    const bool all = std::all_of(rivals.flags.begin(), rivals.flags.end(),
                                 [&](bool Group::*flag) { return parsed.group.*flag; });
    const yaml::Value* const last = all ? last_of(rivals.flags, parsed) : nullptr;
    if (last == nullptr) continue;
    last->refuse(fmt::format("together, {} leave nothing to count", rivals.names),
                 "remove one of them");
  }
}

void refuse_aggregate_of_cgroups(const ParsedGroup& parsed) {
  if (!parsed.aggregate || !parsed.is_scope_known || parsed.group.cpu_scope) return;
  parsed.aggregate->refuse("aggregate applies to scope cpu, which this group does not have",
                           "remove it, or write 'scope: [cpu, cgroup]'");
}

void refuse_estimator_of_pinned(const ParsedGroup& parsed) {
  if (!parsed.group.pinned || parsed.group.estimator == Estimator::kAuto) return;
  parsed.estimator->refuse("a pinned group is never multiplexed, so there is nothing to estimate",
                           "remove it, or write 'pinned: false'");
}

constexpr yaml::Expected kGroups = {
    "a list of groups",
    "write a list, for example [{name: core, events: [cycles, instructions], scope: cpu}]"};

void read_group(const yaml::Value& value, yaml::DuplicateKeys& names, Group& group) {
  group.at = value.at();
  ParsedGroup parsed{group, names};
  yaml::read_map<ParsedGroup>(value, kGroupKeys, parsed);
  refuse_aggregate_of_cgroups(parsed);
  refuse_estimator_of_pinned(parsed);
  refuse_rivals(parsed);
}

}  // namespace

void read_groups(const yaml::Value& value, std::vector<Group>& groups,
                 std::vector<std::string>& left_out) {
  const auto items = value.items(kGroups);
  if (!items) return;
  if (items->empty()) {
    return value.refuse(std::string(kNoGroups), std::string(kGroupExample));
  }
  yaml::DuplicateKeys names("give each group a unique name");
  for (const yaml::Value& item : *items) {
    Group group;
    group.is_for_newer = value.ignores_unknown();
    if (item.is_read_whole([&] { read_group(item, names, group); })) {
      groups.push_back(std::move(group));
    } else {
      left_out.push_back(std::move(group.name));
    }
  }
}

void list_group_keys(const std::string& list, std::vector<yaml::KeyReference>& all) {
  list_keys<ParsedGroup>(kGroupKeys, list + "[]", all);
}

}  // namespace pex::config
