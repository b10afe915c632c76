#include "plan/event_selector.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>

#include "events/event_syntax.h"
#include "exposition/selection.h"
#include "yaml/mistakes.h"

namespace pex::plan {
namespace {

/// Families of our own, which no event may take: perf_group_..., perf_event_..., and
/// perf_cgroup_info, which OpenMetrics calls perf_cgroup.
constexpr std::string_view kOwnPrefixes[] = {"perf_group_", "perf_event_"};
constexpr std::string_view kOwnFamilies[] = {"perf_cgroup_total", "perf_cgroup_info_total"};

bool is_ours(const std::string& family) {
  return std::any_of(std::begin(kOwnPrefixes), std::end(kOwnPrefixes),
                     [&](std::string_view prefix) { return family.starts_with(prefix); }) ||
         std::find(std::begin(kOwnFamilies), std::end(kOwnFamilies), family) !=
             std::end(kOwnFamilies);
}

/// The family whose counters OpenMetrics would tell the creation of under the name of `family`
/// ("a_total" of "a_created_total"), and the one that does that to it.
std::vector<std::string> confusable(const std::string& family) {
  constexpr std::string_view kTotal = "_total";
  constexpr std::string_view kCreated = "_created";
  const std::string base = family.substr(0, family.size() - kTotal.size());
  std::vector<std::string> others = {base + std::string(kCreated) + std::string(kTotal)};
  if (base.ends_with(kCreated)) {
    others.push_back(base.substr(0, base.size() - kCreated.size()) + std::string(kTotal));
  }
  return others;
}

/// `what`, and where in the text it is when that is not its beginning.
std::string at_character(const std::string& text, events::TextOffset at, const std::string& what) {
  if (at.characters == 0) return what;
  return "at character " + std::to_string(at.characters + 1) + " of '" + text + "': " + what;
}

std::string place_of(const yaml::Position& at) {
  return at.key + " in line " + std::to_string(at.line);
}

/// The modes that a group leaves out, as if they had been written behind each event. False when it
/// leaves out all that the event has chosen.
bool exclude(const config::Group& group, events::Modifiers& modifiers) {
  const auto leave_out = [](std::initializer_list<std::pair<bool, bool*>> modes) {
    const bool any_excluded =
        std::any_of(modes.begin(), modes.end(), [](const auto& mode) { return mode.first; });
    const bool any_chosen =
        std::any_of(modes.begin(), modes.end(), [](const auto& mode) { return *mode.second; });
    if (!any_excluded) return true;
    for (const auto& [excluded, chosen] : modes) *chosen = !excluded && (*chosen || !any_chosen);
    return std::any_of(modes.begin(), modes.end(), [](const auto& mode) { return *mode.second; });
  };
  modifiers.not_idle = modifiers.not_idle || group.exclude_idle;
  return leave_out({{group.exclude_user, &modifiers.user},
                    {group.exclude_kernel, &modifiers.kernel},
                    {group.exclude_hypervisor, &modifiers.hypervisor}}) &&
         leave_out(
             {{group.exclude_host, &modifiers.host}, {group.exclude_guest, &modifiers.guest}});
}

/// The same event of two core PMUs is told apart as its series are.
std::string name_with_pmu(const events::EventIdentity& event) {
  for (const auto& [name, value] : event.labels) {
    if (name == "pmu" && event.name.find('/') == std::string::npos) {
      return event.name + " on " + value;
    }
  }
  return event.name;
}

/// What is wrong with the group rather than with the machine is told with its place.
void refuse(EventAvailability& event, const Error& why, const config::Group& group) {
  event.available = false;
  event.reason = why;
  if (why.attempted.empty()) return;
  event.reason.attempted = yaml::mistake(group.at, why.attempted, {}).attempted;
}

}  // namespace

std::vector<ChosenGroup> EventSelector::choose(const config::Group& group,
                                               const std::vector<int>& left_out_cpus) {
  if (group.name == exposition::kExporterGroup) {
    add_mistake(group.at, "'" + group.name + "' stands for the exporter's own metrics in a scrape",
                "give the group another name");
  }
  ChosenGroup chosen{group, left_out_cpus, {group.pinned, group.exclusive}};
  for (const config::EventEntry& entry : group.events) add_entry(entry, chosen);
  std::vector<ChosenGroup> countable = keep_countable(chosen);
  refuse_doubles(countable.front());
  return countable;
}

void EventSelector::add_mistake(const yaml::Position& at, const std::string& what,
                                const Remedy& remedy) {
  plan_.mistakes.push_back(yaml::mistake(at, what, remedy));
}

void EventSelector::add_entry(const config::EventEntry& entry, ChosenGroup& chosen) {
  const Result<events::ParsedEvents, events::SyntaxError> parsed =
      events::parse_events(entry.spelling);
  if (!parsed) {
    const events::SyntaxError& error = parsed.error();
    return add_mistake(entry.at, at_character(entry.spelling, error.at, error.what), error.remedy);
  }
  if (parsed->in_braces && chosen.group.events.size() > 1) {
    return add_mistake(entry.at, "a group in braces next to other events",
                       "give it an entry of its own under 'groups'");
  }
  const bool is_described = entry.name || entry.help || entry.unit || entry.scale || entry.filter;
  if (is_described && parsed->events.size() > 1) {
    return add_mistake(entry.at, "several events cannot share a name, help, unit or filter",
                       "give each event an entry of its own");
  }
  const bool was_full = chosen.spelled > perf::kMaxGroupEvents;
  chosen.spelled += parsed->events.size();
  if (was_full) return;
  if (chosen.spelled > perf::kMaxGroupEvents) {
    return add_mistake(entry.at, "more than 64 events in one group", "make several groups of them");
  }
  for (const events::ParsedEvent& event : parsed->events) add_event(entry, event, chosen);
}

void EventSelector::add_event(const config::EventEntry& entry, events::ParsedEvent event,
                              ChosenGroup& chosen) {
  chosen.mode.pinned = chosen.mode.pinned || event.modifiers.pinned;
  chosen.mode.exclusive = chosen.mode.exclusive || event.modifiers.exclusive;
  const std::string quoted = "'" + events::spelling(event) + "'";
  if (event.modifiers.weak && !chosen.group.weak) {
    return add_mistake(entry.at, quoted + " is weak, and its group is not",
                       "remove the W, or 'weak: false'");
  }
  if (entry.filter && !std::holds_alternative<events::Tracepoint>(event.kind)) {
    return add_mistake(entry.at, quoted + " has a filter, and is no tracepoint",
                       "remove the filter");
  }
  const events::Modifiers written = event.modifiers;
  if (!exclude(chosen.group, event.modifiers)) {
    return add_mistake(entry.at, quoted + " counts only what its group excludes",
                       "remove its modifiers, or count it in another group");
  }
  Result<std::vector<events::EventSpec>, events::Unresolved> specs = resolver_.resolve(event);
  if (!specs && event.modifiers != written && resolver_.resolve({event.kind, written, event.at})) {
    specs.error().error.remedy = "count it in a group without 'exclude_...'";
  }
  if (!specs) return add_unresolved(entry, event, specs.error(), chosen.group);
  for (events::EventSpec& spec : *specs) {
    if (describe(entry, spec) && keeps_the_rules(entry, spec, chosen.group)) {
      add_resolved(std::move(spec), chosen);
    }
  }
}

void EventSelector::add_unresolved(const config::EventEntry& entry,
                                   const events::ParsedEvent& event, const events::Unresolved& why,
                                   const config::Group& group) {
  const std::string what = at_character(entry.spelling, why.at, why.error.attempted);
  if (why.on_every_machine) return add_mistake(entry.at, what, why.error.remedy);
  plan_.events.push_back({events::spelling(event), group.name, group.cpu_scope, group.cgroup_scope,
                          false, Error{why.error.code, what, why.error.remedy}});
}

/// Gives `spec` what the operator said of it. False when that contradicts what is known of it.
bool EventSelector::describe(const config::EventEntry& entry, events::EventSpec& spec) {
  events::EventIdentity& identity = spec.identity;
  const Unit unit = entry.unit ? *entry.unit : identity.unit;
  if (unit != identity.unit && identity.unit != Unit::kEvents && !entry.scale) {
    add_mistake(entry.at, "'" + identity.name + "' is counted in another unit",
                "leave out the unit, or say with 'scale' what one count is worth in it");
    return false;
  }
  if (unit != identity.unit) identity.scale = 1;
  identity.unit = unit;
  if (entry.scale) identity.scale = *entry.scale;
  if (entry.name) identity.metric = events::metric_word(*entry.name);
  if (entry.help) identity.help = *entry.help;
  for (events::EventInstance& instance : spec.instances) {
    instance.attributes.filter = entry.filter.value_or("");
  }
  return true;
}

bool EventSelector::keeps_the_rules(const config::EventEntry& entry, const events::EventSpec& spec,
                                    const config::Group& group) {
  const events::EventIdentity& event = spec.identity;
  if (event.is_uncore && group.cgroup_scope) {
    add_mistake(entry.at,
                "'" + event.name + "' is counted by a part of the package, which does not know " +
                    "whose work it does: it cannot be counted by cgroup",
                "write scope: cpu");
    return false;
  }
  bool is_single = true;
  if (group.cpu_scope) is_single = claim_series(Scope::kCpu, event, entry.at);
  if (group.cgroup_scope) is_single = claim_series(Scope::kCgroup, event, entry.at) && is_single;
  return is_single;
}

/// Two events of one family and with the same labels would be two samples of one series.
bool EventSelector::claim_series(Scope scope, const events::EventIdentity& event,
                                 const yaml::Position& at) {
  const std::string family = exposition::family_name(scope, event);
  if (is_ours(family)) {
    add_mistake(
        at,
        "'" + event.name + "' would be a second " + family + "; the first is the exporter's own",
        "give it another name");
    return false;
  }
  const auto [first, is_new] = claimed_.try_emplace({family, event.labels}, at);
  if (!is_new) {
    add_mistake(at,
                "'" + event.name + "' would be a second " + family + "; the first is " +
                    place_of(first->second),
                "count it in one group only, or give it a name");
    return false;
  }
  return claim_family(scope, event, family, at);
}

/// A family belongs to one scope, and its name is not what OpenMetrics calls a sample of another
/// one.
bool EventSelector::claim_family(Scope scope, const events::EventIdentity& event,
                                 const std::string& family, const yaml::Position& at) {
  const auto [mine, is_new] = families_.try_emplace(family, std::pair{scope, at});
  if (mine->second.first != scope) {
    add_mistake(at,
                "'" + event.name + "' would be in " + family + " with what is counted by " +
                    std::string(name_of(mine->second.first)) + " as " +
                    place_of(mine->second.second),
                "give it another name");
    return false;
  }
  for (const std::string& other : confusable(family)) {
    const auto found = families_.find(other);
    if (!is_new || found == families_.end()) continue;
    add_mistake(at,
                "'" + event.name + "' would be " + family + " beside " + other + ", " +
                    place_of(found->second.second) +
                    ", whose creation OpenMetrics could not tell apart",
                "give it another name");
    return false;
  }
  return true;
}

/// Under another name an event may be counted twice, but not in one group that can lose the PMU:
/// what is told of how well it was counted is told by group and event.
void EventSelector::refuse_doubles(const ChosenGroup& chosen) {
  const auto always_counts = [this](const events::EventSpec& event) {
    return resolver_.pmus().always_counts(event.instances.front().attributes.type);
  };
  if (std::all_of(chosen.events.begin(), chosen.events.end(), always_counts)) return;
  std::set<Series> known;
  for (const events::EventSpec& event : chosen.events) {
    if (known.insert({event.identity.name, event.identity.labels}).second) continue;
    add_mistake(chosen.group.at,
                "'" + event.identity.name + "' is in group '" + chosen.group.name + "' twice",
                "count it in a group of its own under its other name");
  }
}

void EventSelector::add_resolved(events::EventSpec spec, ChosenGroup& chosen) {
  const config::Group& group = chosen.group;
  chosen.availability.push_back(plan_.events.size());
  plan_.events.push_back(
      {name_with_pmu(spec.identity), group.name, group.cpu_scope, group.cgroup_scope});
  chosen.events.push_back(std::move(spec));
}

/// Those events that the kernel does not refuse on CPUs; where it refuses some of them in cgroups,
/// the group is chosen once for each scope.
std::vector<ChosenGroup> EventSelector::keep_countable(const ChosenGroup& resolved) {
  const config::Group& group = resolved.group;
  ChosenGroup chosen{group, resolved.left_out_cpus, resolved.mode};
  Refusals in_cgroups;
  for (std::size_t event = 0; event < resolved.events.size(); ++event) {
    EventTrial trial =
        trials_.of(resolved.events, event, group.cgroup_scope, resolved.left_out_cpus);
    if (!group.cpu_scope && trial.refused_in_cgroup) trial.refused.swap(trial.refused_in_cgroup);
    EventAvailability& told = plan_.events[resolved.availability[event]];
    told.tried_in_cgroup = trial.tried_in_cgroup;
    if (trial.refused) {
      refuse(told, *trial.refused, group);
      continue;
    }
    chosen.availability.push_back(resolved.availability[event]);
    chosen.events.push_back(resolved.events[event]);
    in_cgroups.push_back(std::move(trial.refused_in_cgroup));
  }
  const bool is_one = std::none_of(in_cgroups.begin(), in_cgroups.end(),
                                   [](const auto& refused) { return refused.has_value(); });
  if (is_one) return {std::move(chosen)};
  return by_scope(std::move(chosen), in_cgroups);
}

std::vector<ChosenGroup> EventSelector::by_scope(ChosenGroup chosen, const Refusals& in_cgroups) {
  ChosenGroup of_cgroups{chosen.group, chosen.left_out_cpus, chosen.mode};
  of_cgroups.group.cpu_scope = false;
  chosen.group.cgroup_scope = false;
  for (std::size_t event = 0; event < chosen.events.size(); ++event) {
    EventAvailability told = plan_.events[chosen.availability[event]];
    plan_.events[chosen.availability[event]].cgroup_scope = false;
    told.cpu_scope = false;
    if (in_cgroups[event]) {
      refuse(told, *in_cgroups[event], chosen.group);
    } else {
      of_cgroups.availability.push_back(plan_.events.size());
      of_cgroups.events.push_back(chosen.events[event]);
    }
    plan_.events.push_back(std::move(told));
  }
  return {std::move(chosen), std::move(of_cgroups)};
}

}  // namespace pex::plan
