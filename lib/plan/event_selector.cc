#include "plan/event_selector.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "events/event_syntax.h"
#include "exposition/selection.h"
#include "plan/event_trial.h"
#include "plan/series_claims.h"

namespace pex::plan {
namespace {

/// `what`, with its position in the text unless that is the beginning.
std::string at_character(const std::string& text, events::TextOffset at, const std::string& what) {
  if (at.characters == 0) return what;
  return "at character " + std::to_string(at.characters + 1) + " of '" + text + "': " + what;
}

/// The modes that a group leaves out, as if they had been written after each event. False if it
/// leaves out all modes of the event.
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

/// The same event of two core PMUs is distinguished like its series.
std::string name_with_pmu(const events::EventIdentity& event) {
  for (const auto& [name, value] : event.labels) {
    if (name == "pmu" && event.name.find('/') == std::string::npos) {
      return event.name + " on " + value;
    }
  }
  return event.name;
}

Error has_filter(const std::string& event) {
  return {0, "'" + event + "' has a filter, and is not a tracepoint", "remove the filter"};
}

/// Applies the operator's keys to `event`. Fails if they contradict what is known of it.
Result<> describe(const config::EventEntry& entry, events::EventSpec& event) {
  events::EventIdentity& identity = event.identity;
  const Unit unit = entry.unit ? *entry.unit : identity.unit;
  if (unit != identity.unit && identity.unit != Unit::kEvents && !entry.scale) {
    return Error{0, "'" + identity.name + "' is counted in another unit",
                 "leave out the unit, or set 'scale' to what one count is worth in it"};
  }
  if (unit != identity.unit) identity.scale = 1;
  identity.unit = unit;
  if (entry.scale) identity.scale = *entry.scale;
  if (entry.name) identity.metric = events::metric_word(*entry.name);
  if (entry.help) {
    identity.help = *entry.help;
    identity.cpu_help.clear();
  }
  for (events::EventInstance& instance : event.instances) {
    if (entry.filter && !events::is_tracepoint(instance.attributes)) {
      return has_filter(identity.name);
    }
    instance.attributes.filter = entry.filter.value_or("");
  }
  return {};
}

/// One event of a group.
struct Candidate {
  std::optional<events::EventSpec> spec;  ///< nothing: it is not counted here
  EventAvailability availability;
  std::optional<Error> refused_in_cgroup = {};  ///< it can be counted on CPUs only

  void leave_out(Error why) {
    spec.reset();
    availability.available = false;
    availability.reason = std::move(why);
  }
};

using Labels = std::vector<std::pair<std::string, std::string>>;

/// A group before its events are tried.
struct ResolvedGroup {
  const config::Group& group;
  perf::GroupMode mode;
  std::vector<Candidate> candidates = {};
  std::set<std::pair<std::string, Labels>> on_every_machine = {};  ///< events with such names
  std::size_t spelled = 0;  ///< events of its entries, whether they can be counted or not
};

/// Errors of the group, as opposed to the machine, are reported with its position.
EventAvailability unavailable(EventAvailability event, const Error& why,
                              const config::Group& group) {
  event.available = false;
  event.reason = why;
  if (!why.attempted.empty()) {
    event.reason.attempted = yaml::error_of({group.at, why.attempted}).attempted;
  }
  return event;
}

EventAvailability in_cpus_only(EventAvailability event) {
  event.cgroup_scope = false;
  return event;
}

EventAvailability in_cgroups_only(const Candidate& event, const config::Group& group) {
  EventAvailability in_cgroups = event.availability;
  in_cgroups.cpu_scope = false;
  if (!event.refused_in_cgroup) return in_cgroups;
  return unavailable(std::move(in_cgroups), *event.refused_in_cgroup, group);
}

std::vector<events::EventSpec> specs_of(const std::vector<Candidate>& candidates) {
  std::vector<events::EventSpec> specs;
  for (const Candidate& candidate : candidates) {
    if (candidate.spec) specs.push_back(*candidate.spec);
  }
  return specs;
}

Error is_twice(const events::EventIdentity& event, const config::Group& group) {
  return {0, "'" + event.name + "' is in group '" + group.name + "' twice",
          "count it in a separate group under its other name"};
}

class EventSelector {
 public:
  explicit EventSelector(const Machine& machine, std::span<const EventAvailability> in_force = {})
      : machine_(machine), in_force_(in_force), trials_(machine) {}

  /// Without opening anything.
  ResolvedGroup resolve(const config::Group& group);
  const std::vector<yaml::Diagnostic>& errors() const { return errors_; }
  /// Adds the part of `group` that can be counted.
  void select(const ResolvedGroup& group);
  SelectedEvents selected() && { return std::move(selected_); }

 private:
  void add_error(const yaml::Position& at, const std::string& what, const Remedy& remedy,
                 int code = 0);
  void resolve_entry(const config::EventEntry& entry, ResolvedGroup& group);
  void resolve_event(const config::EventEntry& entry, events::ParsedEvent event,
                     ResolvedGroup& group);
  void refuse(const config::EventEntry& entry, const Error& why, ResolvedGroup& group);
  void leave_out(const std::string& event, const Error& why, ResolvedGroup& group);
  void add_unknown(const config::EventEntry& entry, const events::ParsedEvent& event,
                   const events::Unresolved& why, ResolvedGroup& group);
  std::vector<Error> check(const config::EventEntry& entry, events::EventSpec& event,
                           const config::Group& group, SeriesClaims& claims);
  std::vector<Candidate> try_all(const ResolvedGroup& group, const std::vector<int>& left_out_cpus);
  void add_group(const ResolvedGroup& group, const std::vector<Candidate>& tried,
                 const std::vector<int>& left_out_cpus);
  bool always_counts(const events::EventSpec& event) const;
  void leave_out_doubles(ResolvedGroup& group);
  bool is_in_force(const EventAvailability& event) const;

  const Machine& machine_;
  std::span<const EventAvailability> in_force_;
  EventTrials trials_;
  SeriesClaims claims_;
  SeriesClaims claims_on_every_machine_;
  std::vector<yaml::Diagnostic> errors_;
  SelectedEvents selected_;
};

void EventSelector::select(const ResolvedGroup& group) {
  const std::vector<int>& left_out_cpus = machine_.left_out_cpus.of(group.group.name);
  add_group(group, try_all(group, left_out_cpus), left_out_cpus);
}

void EventSelector::add_error(const yaml::Position& at, const std::string& what,
                              const Remedy& remedy, int code) {
  yaml::Diagnostic error{at, what, remedy, yaml::Severity::kError, code};
  // The same error in an event of each kind of core is one.
  if (errors_.empty() || !(errors_.back() == error)) errors_.push_back(std::move(error));
}

ResolvedGroup EventSelector::resolve(const config::Group& group) {
  if (group.name == exposition::kExporterGroup) {
    add_error(group.at, "'" + group.name + "' selects the exporter's metrics in a scrape",
              "give the group another name");
  }
  ResolvedGroup resolved{group, {group.pinned, group.exclusive}};
  for (const config::EventEntry& entry : group.events) resolve_entry(entry, resolved);
  leave_out_doubles(resolved);
  return resolved;
}

void EventSelector::resolve_entry(const config::EventEntry& entry, ResolvedGroup& group) {
  const Result<events::ParsedEvents, events::SyntaxError> parsed =
      events::parse_events(entry.spelling);
  if (!parsed) {
    const events::SyntaxError& error = parsed.error();
    const std::string what = at_character(entry.spelling, error.at, error.what);
    return refuse(entry, Error{0, what, error.remedy}, group);
  }
  if (parsed->in_braces && group.group.events.size() > 1) {
    return refuse(entry,
                  Error{0, "a group in braces next to other events",
                        "give it a separate entry under 'groups'"},
                  group);
  }
  const bool is_described = entry.name || entry.help || entry.unit || entry.scale || entry.filter;
  if (is_described && parsed->events.size() > 1) {
    return refuse(entry,
                  Error{0, "several events cannot share a name, help, unit or filter",
                        "give each event a separate entry"},
                  group);
  }
  const bool was_full = group.spelled > perf::kMaxGroupEvents;
  group.spelled += parsed->events.size();
  if (was_full) return;
  if (group.spelled > perf::kMaxGroupEvents) {
    return refuse(entry,
                  Error{0, "more than 64 events in one group", "split them into several groups"},
                  group);
  }
  for (const events::ParsedEvent& event : parsed->events) resolve_event(entry, event, group);
}

void EventSelector::resolve_event(const config::EventEntry& entry, events::ParsedEvent event,
                                  ResolvedGroup& group) {
  group.mode.pinned = group.mode.pinned || event.modifiers.pinned;
  group.mode.exclusive = group.mode.exclusive || event.modifiers.exclusive;
  const std::string quoted = "'" + events::spelling(event) + "'";
  if (event.modifiers.weak && !group.group.weak) {
    return refuse(
        entry,
        Error{0, quoted + " is weak, and its group is not", "remove the W, or 'weak: false'"},
        group);
  }
  if (entry.filter && event.as_tracepoint.point.system.empty()) {
    return refuse(entry, has_filter(events::spelling(event)), group);
  }
  const events::Modifiers written = event.modifiers;
  if (!exclude(group.group, event.modifiers) ||
      !exclude(group.group, event.as_tracepoint.modifiers)) {
    return refuse(entry,
                  Error{0, quoted + " counts only what its group excludes",
                        "remove its modifiers, or count it in another group"},
                  group);
  }
  const events::EventResolver& resolver = machine_.resolver;
  Result<std::vector<events::EventSpec>, events::Unresolved> specs = resolver.resolve(event);
  if (!specs && event.modifiers != written && resolver.resolve({event.kind, written, event.at})) {
    specs.error().error.remedy = "count it in a group without 'exclude_...'";
  }
  if (!specs) return add_unknown(entry, event, specs.error(), group);
  if (!entry.is_complete) return;  // the rules concern all its keys
  const bool is_on_every_machine = events::is_on_every_machine(event.kind);
  for (events::EventSpec& spec : *specs) {
    EventAvailability availability{name_with_pmu(spec.identity), group.group.name,
                                   group.group.cpu_scope, group.group.cgroup_scope};
    availability.optional = group.group.optional;
    if (is_on_every_machine) {
      auto wrong = check(entry, spec, group.group, claims_on_every_machine_);
      const bool is_new =
          group.on_every_machine.insert({spec.identity.name, spec.identity.labels}).second;
      if (!is_new && wrong.empty() && !always_counts(spec))
        wrong.push_back(is_twice(spec.identity, group.group));
      for (const Error& error : wrong) refuse(entry, error, group);
      if (!wrong.empty()) continue;
    }
    const std::vector<Error> errors = check(entry, spec, group.group, claims_);
    availability.identity = spec.identity;
    Candidate candidate{std::move(spec), std::move(availability)};
    if (!errors.empty()) candidate.leave_out(errors.front());
    group.candidates.push_back(std::move(candidate));
  }
}

/// An error of the file, but in an optional group.
void EventSelector::refuse(const config::EventEntry& entry, const Error& why,
                           ResolvedGroup& group) {
  if (group.group.optional) return leave_out(entry.spelling, why, group);
  add_error(entry.at, why.attempted, why.remedy, why.code);
}

void EventSelector::leave_out(const std::string& event, const Error& why, ResolvedGroup& group) {
  group.candidates.push_back({{},
                              {event, group.group.name, group.group.cpu_scope,
                               group.group.cgroup_scope, false, why, group.group.optional}});
}

void EventSelector::add_unknown(const config::EventEntry& entry, const events::ParsedEvent& event,
                                const events::Unresolved& why, ResolvedGroup& group) {
  const std::string what = at_character(entry.spelling, why.at, why.error.attempted);
  if (why.on_every_machine && !group.group.optional && !group.group.is_for_newer) {
    return add_error(entry.at, what, why.error.remedy);
  }
  if (is_shortage(why.error.code)) {  // it may well exist
    return add_error(entry.at, what, why.error.remedy, why.error.code);
  }
  leave_out(events::spelling(event), {why.error.code, what, why.error.remedy}, group);
  group.candidates.back().availability.is_unknown_here = why.error.code == 0;
}

/// Applies the keys of its entry to `event`, and checks the rules for events of a group.
std::vector<Error> EventSelector::check(const config::EventEntry& entry, events::EventSpec& event,
                                        const config::Group& group, SeriesClaims& claims) {
  if (const Result<> described = describe(entry, event); !described) return {described.error()};
  std::vector<Error> errors;
  if (machine_.counts_tasks) return errors;  // publishes no series
  for (const auto& [scope, is_counted] :
       {std::pair{Scope::kCpu, group.cpu_scope}, {Scope::kCgroup, group.cgroup_scope}}) {
    if (!is_counted || (scope == Scope::kCgroup && event.identity.is_uncore)) continue;
    const Result<> claimed = claims.claim(scope, event.identity, entry.at);
    if (!claimed) errors.push_back(claimed.error());
  }
  return errors;
}

bool EventSelector::always_counts(const events::EventSpec& event) const {
  return machine_.pmus().always_counts(event.instances.front().attributes.type);
}

bool EventSelector::is_in_force(const EventAvailability& event) const {
  return std::any_of(in_force_.begin(), in_force_.end(), [&](const EventAvailability& counted) {
    return counted.available && counted.event == event.event;
  });
}

/// Tries each event that this machine knows.
std::vector<Candidate> EventSelector::try_all(const ResolvedGroup& group,
                                              const std::vector<int>& left_out_cpus) {
  const config::Group& configured = group.group;
  const std::vector<events::EventSpec> specs = specs_of(group.candidates);
  std::vector<Candidate> tried;
  for (Candidate candidate : group.candidates) {
    if (candidate.spec) {
      EventTrial trial = trials_.of(*candidate.spec, specs, configured.cgroup_scope, left_out_cpus);
      if (!configured.cpu_scope && trial.refused_in_cgroup) {
        trial.refused.swap(trial.refused_in_cgroup);
      }
      candidate.availability.tried_in_cgroup = trial.tried_in_cgroup;
      candidate.availability.is_without_guests =
          trial.is_without_guests || candidate.spec->is_without_guests;
      for (events::EventInstance& instance : candidate.spec->instances) {
        instance.attributes.exclude_guest |= trial.is_without_guests;
      }
      candidate.refused_in_cgroup = std::move(trial.refused_in_cgroup);
      const bool has_lost_a_right = trial.refused && is_about_rights(trial.refused->code) &&
                                    is_in_force(candidate.availability);
      if (trial.refused && !has_lost_a_right) {
        candidate.availability =
            unavailable(std::move(candidate.availability), *trial.refused, configured);
      }
    }
    tried.push_back(std::move(candidate));
  }
  return tried;
}

/// Adds what the kernel accepts on CPUs. If it refuses some of that in cgroups, the group is added
/// once for each scope.
void EventSelector::add_group(const ResolvedGroup& group, const std::vector<Candidate>& tried,
                              const std::vector<int>& left_out_cpus) {
  const auto counts_on_cpus_only = [](const Candidate& event) {
    return event.availability.available && event.refused_in_cgroup;
  };
  const bool is_split = std::any_of(tried.begin(), tried.end(), counts_on_cpus_only);
  SelectedGroup selected{group.group, left_out_cpus, group.mode, {}};
  SelectedGroup in_cgroups = selected;
  std::vector<EventAvailability> available_in_cgroups;
  for (const Candidate& event : tried) {
    const bool available = event.availability.available;
    selected_.events.push_back(is_split && available ? in_cpus_only(event.availability)
                                                     : event.availability);
    if (!available) continue;
    selected.events.push_back(*event.spec);
    available_in_cgroups.push_back(in_cgroups_only(event, group.group));
    if (!event.refused_in_cgroup) in_cgroups.events.push_back(*event.spec);
  }
  if (is_split) {
    selected.group.cgroup_scope = false;
    in_cgroups.group.cpu_scope = false;
    selected_.events.insert(selected_.events.end(), available_in_cgroups.begin(),
                            available_in_cgroups.end());
  }
  selected_.groups.push_back(std::move(selected));
  if (is_split) selected_.groups.push_back(std::move(in_cgroups));
}

/// An event may be counted twice under different names, but not in one group that can lose the PMU:
/// its evidence is published by group and event. A pattern over uncore PMUs is the same event of
/// each of their kinds, with another metric.
void EventSelector::leave_out_doubles(ResolvedGroup& group) {
  const std::vector<events::EventSpec> specs = specs_of(group.candidates);
  const auto always = [this](const events::EventSpec& event) { return always_counts(event); };
  if (std::all_of(specs.begin(), specs.end(), always)) return;
  std::set<std::tuple<std::string, std::string, Labels>> known;
  for (Candidate& event : group.candidates) {
    if (!event.spec) continue;
    const events::EventIdentity& identity = event.spec->identity;
    const std::string metric = identity.is_uncore ? identity.metric : std::string{};
    if (!known.insert({identity.name, metric, identity.labels}).second) {
      event.leave_out(is_twice(identity, group.group));
    }
  }
}

}  // namespace

namespace {

/// A configuration whose events are known, and nothing is tried yet.
struct ResolvedGroups {
  std::vector<ResolvedGroup> groups;
  std::vector<LeftOutGroup> left_out;
  std::vector<yaml::Diagnostic> errors;
};

bool may_be_counted(const ResolvedGroup& group, const Machine& machine) {
  const auto needs_no_pmu = [&](const Candidate& event) {
    return !event.spec ||
           machine.pmus().always_counts(event.spec->instances.front().attributes.type);
  };
  return machine.counted == Counted::kAll ||
         (machine.counted == Counted::kSoftware &&
          std::all_of(group.candidates.begin(), group.candidates.end(), needs_no_pmu));
}

/// Also checks groups that are left out, each alone: they may publish the same series as others,
/// which have other conditions.
ResolvedGroups resolve_all(const config::Config& config, const Machine& machine,
                           EventSelector& selector) {
  ResolvedGroups all;
  std::vector<yaml::Diagnostic> of_left_out;
  for (const config::Group& group : config.groups) {
    std::optional<std::string> reason = unmet(group.when, machine);
    if (!reason) {
      ResolvedGroup resolved = selector.resolve(group);
      if (!may_be_counted(resolved, machine)) {
        all.left_out.push_back({group.name, "counting is reduced"});
        continue;
      }
      all.groups.push_back(std::move(resolved));
      continue;
    }
    EventSelector alone{machine};
    alone.resolve(group);
    of_left_out.insert(of_left_out.end(), alone.errors().begin(), alone.errors().end());
    all.left_out.push_back({group.name, *std::move(reason)});
  }
  all.errors = selector.errors();
  all.errors.insert(all.errors.end(), of_left_out.begin(), of_left_out.end());
  return all;
}

}  // namespace

SelectedEvents select_events(const config::Config& config, const Machine& machine,
                             std::span<const EventAvailability> in_force) {
  EventSelector selector{machine, in_force};
  ResolvedGroups resolved = resolve_all(config, machine, selector);
  if (!resolved.errors.empty()) return {{}, {}, {}, std::move(resolved.errors)};
  for (const ResolvedGroup& group : resolved.groups) {
    if (machine.trying) machine.trying(group.group.name);
    selector.select(group);
  }
  if (machine.trying) machine.trying({});
  SelectedEvents selected = std::move(selector).selected();
  selected.left_out_groups = std::move(resolved.left_out);
  for (const std::string& name : config.origin.left_out_groups) {
    selected.left_out_groups.push_back({name, "this version does not know all of it"});
  }
  return selected;
}

std::vector<yaml::Diagnostic> check_events(const config::Config& config, const Machine& machine) {
  EventSelector selector{machine};
  return resolve_all(config, machine, selector).errors;
}

}  // namespace pex::plan
