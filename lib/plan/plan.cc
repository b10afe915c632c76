#include "plan/plan.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "exposition/metric_names.h"
#include "plan/event_selector.h"
#include "plan/reference_selector.h"

namespace pex::plan {
namespace {

collect::Budget budget_of(const config::Config& config, const Machine& machine) {
  return {.max_cgroups = config.cgroups.max,
          .max_open_events = config.limits.max_open_events.value_or(machine.max_open_events),
          .max_series = config.limits.max_series,
          .opens_per_second = config.limits.opens_per_second,
          .max_directories = config.limits.max_cgroup_directories,
          .max_path_bytes = config.limits.label_length};
}

using Cgroups = Result<SelectedCgroups, std::vector<yaml::Diagnostic>>;

std::vector<yaml::Diagnostic> in_file_order(const std::vector<yaml::Diagnostic>& of_events,
                                            const Cgroups& cgroups) {
  yaml::Diagnostics diagnostics;
  diagnostics.add_all(of_events);
  if (!cgroups) diagnostics.add_all(cgroups.error());
  return diagnostics.errors();
}

/// A group that requested a reference and has none is scaled by time, which is reported.
std::vector<Error> missing_references(const std::vector<PlannedGroup>& groups,
                                      const Reference& reference,
                                      const events::PmuCatalogue& pmus) {
  std::vector<Error> warnings;
  for (const PlannedGroup& group : groups) {
    if (group.estimator != config::Estimator::kReference) continue;
    const std::vector<collect::GroupPlan>& parts = group.counted.groups;
    const auto has_one = [&](const collect::GroupPlan& part) {
      return takes_reference(part, group.estimator, reference, Scope::kCpu, pmus);
    };
    if (std::all_of(parts.begin(), parts.end(), has_one)) continue;
    const bool never_scaled = std::none_of(parts.begin(), parts.end(),
                                           [](const auto& part) { return part.is_multiplexed(); });
    warnings.push_back(
        never_scaled
            ? Error{0, "group '" + group.name + "' needs no reference: it is never multiplexed",
                    "remove its 'estimator'"}
            : Error{0, "group '" + group.name + "' is scaled by time, because it has no reference",
                    "put fewer events in each group, so that a counter is free for cycles; none if "
                    "the CPU does not count cycles or the events are not counted by CPUs"});
  }
  return warnings;
}

GuestsLeftOut guests_left_out(const config::Config& config, const events::EventResolver& resolver,
                              std::span<const EventAvailability> events) {
  const bool is_so = std::ranges::any_of(events, [](const EventAvailability& event) {
    return event.available && event.is_without_guests;
  });
  if (!is_so) return GuestsLeftOut::kNot;
  if (config.guests == config::Guests::kExclude) return GuestsLeftOut::kConfigured;
  return resolver.counts_guests() ? GuestsLeftOut::kRefused : GuestsLeftOut::kMediatedPmu;
}

/// Events that are counted with exclude_guest, though nobody has written it.
std::vector<Error> without_guests(GuestsLeftOut why, std::span<const EventAvailability> events) {
  if (why == GuestsLeftOut::kConfigured) return {};
  if (why == GuestsLeftOut::kMediatedPmu) {
    return {
        {0,
         "KVM gives virtual machines the PMU (enable_mediated_pmu): hardware events do not count "
         "virtual machines",
         {}}};
  }
  std::set<std::string> names;
  for (const EventAvailability& event : events) {
    if (event.available && event.is_without_guests) names.insert(event.event);
  }
  if (names.empty()) return {};
  return {{0,
           "this kernel counts " + join(names) +
               " with exclude_guest only: these events do not count virtual machines",
           {}}};
}

/// What the file says of cgroups first, without a group that counts them.
std::optional<Error> unused_cgroups(const config::Config& config) {
  const config::Cgroups& cgroups = config.cgroups;
  std::vector<yaml::Position> written;
  const auto note = [&written](const auto& entries, auto at_of) {
    if (!entries.empty() && at_of(entries.front()).line > 0) {
      written.push_back(at_of(entries.front()));
    }
  };
  const auto at = [](const auto& entry) { return entry.at; };
  note(cgroups.include, at);
  note(cgroups.exclude, at);
  note(cgroups.labels, [](const config::LabelRule& rule) { return rule.match.at; });
  note(cgroups.sums, at);
  const bool counts_cgroups =
      std::any_of(config.groups.begin(), config.groups.end(),
                  [](const config::Group& group) { return group.cgroup_scope; });
  if (counts_cgroups || written.empty()) return {};
  const auto first =
      std::min_element(written.begin(), written.end(), [](const auto& one, const auto& other) {
        return std::pair(one.line, one.column) < std::pair(other.line, other.column);
      });
  return yaml::error_of({.position = *first,
                         .message = "no group has the scope cgroup: nothing is counted by cgroup",
                         .remedy = "add 'scope: cgroup' to a group, or remove 'cgroups'",
                         .severity = yaml::Severity::kWarning});
}

/// PMUs of which no CPU is online.
std::vector<Error> waiting_pmus(const collect::CountingPlan& plan, const Machine& machine) {
  std::set<std::string> waiting;
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      if (machine.is_waiting(group.pmu)) waiting.insert(group.pmu);
    }
  }
  std::vector<Error> warnings;
  for (const std::string& pmu : waiting) warnings.push_back(collect::waiting_for_a_cpu(pmu));
  return warnings;
}

collect::CountingPlan counting_plan(const config::Config& config, const Machine& machine,
                                    const std::vector<PlannedGroup>& groups,
                                    const Reference& reference) {
  collect::CountingPlan counting;
  counting.cpu = with_auxiliary_counters(groups, Scope::kCpu, reference, machine);
  counting.cgroup = with_auxiliary_counters(groups, Scope::kCgroup, reference, machine);
  counting.evidence = {config.evidence.variance, config.evidence.reference, config.evidence.cgroups,
                       config.openmetrics.created};
  counting.cgroup_per_cpu = config.cgroups.per_cpu;
  counting.publishes_cgroups = config.cgroups.series != config::CgroupSeries::kNone;
  counting.cgroups_nest = config.cgroups.nesting == config::Nesting::kAll;
  counting.left_out_cpus = machine.left_out_cpus.everywhere;
  for (collect::ScopePlan* scope : {&counting.cpu, &counting.cgroup}) {
    for (collect::GroupPlan& group : scope->groups) {
      group.refuses_impossible = config.truth_check && group.shares_pmu;
    }
  }
  return counting;
}

/// The names of the counters of a sum: also of events that this machine does not count.
std::set<std::string> names_of_counters(const collect::SumPlan& sum,
                                        const std::vector<EventAvailability>& events) {
  std::set<std::string> names;
  for (const EventAvailability& event : events) {
    if (event.cgroup_scope && event.identity) {
      names.insert(exposition::family_name(sum, *event.identity));
    }
  }
  return names;
}

/// A sum whose metrics would have names of other metrics.
std::vector<yaml::Diagnostic> ambiguous_sums(const config::Cgroups& configured,
                                             const std::vector<collect::SumPlan>& sums,
                                             const std::vector<EventAvailability>& events) {
  std::set<std::string> taken;
  for (const EventAvailability& event : events) {
    if (!event.identity) continue;
    if (event.cpu_scope) taken.insert(exposition::family_name(Scope::kCpu, *event.identity));
    if (event.cgroup_scope) taken.insert(exposition::family_name(Scope::kCgroup, *event.identity));
  }
  std::vector<yaml::Diagnostic> errors;
  for (std::size_t number = 0; number < sums.size(); ++number) {
    const std::set<std::string> counters = names_of_counters(sums[number], events);
    // In OpenMetrics a counter has the name without _total.
    const std::string cgroups = exposition::cgroups_family_name(sums[number]) + "_total";
    if (counters.contains(cgroups)) {
      errors.push_back({configured.sums[number].at,
                        "its metric " + cgroups + " would have the name of its number of cgroups",
                        "give the event another name"});
      continue;
    }
    std::string second = taken.insert(cgroups).second ? "" : cgroups;
    for (const std::string& name : counters) {
      if (!taken.insert(name).second && second.empty()) second = name;
    }
    if (second.empty()) continue;
    errors.push_back({configured.sums[number].at, "its metric would be a second " + second,
                      "give the sum another name"});
  }
  return errors;
}

/// The configured ones, and last the series that cgroups share.
std::vector<collect::SumPlan> all_sums(const config::Cgroups& configured,
                                       const SelectedCgroups& selected) {
  std::vector<collect::SumPlan> sums = selected.sums;
  const bool is_folded = configured.series == config::CgroupSeries::kFolded && !configured.per_cpu;
  if (is_folded) sums.push_back(collect::sum_of_shared_series());
  return sums;
}

bool publishes_no_cgroups(const config::Cgroups& cgroups, const collect::CountingPlan& plan) {
  return !plan.cgroup.empty() && cgroups.series == config::CgroupSeries::kNone &&
         cgroups.sums.empty();
}

}  // namespace

Result<Plan, std::vector<yaml::Diagnostic>> make_plan(const config::Config& config,
                                                      const Machine& machine,
                                                      const Plan* in_force) {
  Cgroups cgroups = select_cgroups(config.cgroups, config.kubernetes.metadata);
  if (!cgroups) return in_file_order(check_events(config, machine), cgroups);
  std::vector<EventAvailability> counted;
  if (in_force != nullptr) {
    counted = in_force->events;
    machine.knows_cpu_clock = in_force->knows_cpu_clock;
  }
  SelectedEvents selected = select_events(config, machine, counted);
  if (!selected.errors.empty())
    return in_file_order(selected.errors,
                         cgroups);  // nothing will be counted, so no group need be tried

  if (auto ambiguous = ambiguous_sums(config.cgroups, cgroups->sums, selected.events);
      !ambiguous.empty()) {
    return ambiguous;
  }

  Plan plan;
  if (config.truth_check) {
    plan.checked =
        check_events(selected, machine, in_force == nullptr ? Checked{} : in_force->checked);
    leave_out_lies(plan.checked, selected);
  }
  FittedGroups fitted =
      fit_groups(selected.groups, machine, in_force == nullptr ? nullptr : &in_force->fits,
                 config.pmu.reserve);
  Reference reference =
      select_reference(fitted.plans, machine, in_force == nullptr ? nullptr : &in_force->reference);
  const bool is_left_free = config.pmu.reserve > 0 && reference.cost == Reference::Cost::kCounter;
  if (is_left_free || has_lies(plan.checked)) reference = {};  // lies: of the same PMU
  const auto warn = [&](std::vector<Error> of) {
    std::ranges::move(of, std::back_inserter(fitted.warnings));
  };
  warn(missing_references(fitted.plans, reference, machine.pmus()));
  plan.counting = counting_plan(config, machine, fitted.plans, reference);
  warn(waiting_pmus(plan.counting, machine));
  if (!config.enabled) {
    fitted.warnings.push_back(
        {0, "counting is disabled by the configuration (enabled: false)", {}});
  }
  if (auto unused = unused_cgroups(config)) fitted.warnings.push_back(std::move(*unused));
  if (publishes_no_cgroups(config.cgroups, plan.counting)) {
    fitted.warnings.push_back({0, "cgroups are counted, and nothing of them is published",
                               "add 'sums' to cgroups, or remove 'series: none'"});
  }
  if (!plan.counting.cgroup.empty()) plan.counting.sums = all_sums(config.cgroups, *cgroups);
  continue_plan(in_force == nullptr ? collect::CountingPlan{} : in_force->counting, plan.counting);
  plan.cgroups = std::move(*cgroups);
  plan.budget = budget_of(config, machine);
  plan.counted = machine.counted;
  plan.events = without_dropped(std::move(selected.events), fitted.dropped);
  plan.counts_guests = machine.resolver.counts_guests();
  plan.guests_left_out = guests_left_out(config, machine.resolver, plan.events);
  warn(without_guests(plan.guests_left_out, plan.events));
  plan.left_out_groups = std::move(selected.left_out_groups);
  plan.fits = std::move(fitted.fits);
  plan.reference = std::move(reference);
  plan.warnings = std::move(fitted.warnings);
  plan.knows_cpu_clock = machine.knows_cpu_clock;
  return plan;
}

std::vector<yaml::Diagnostic> check_names(const config::Config& config, const Machine& machine) {
  return in_file_order(check_events(config, machine),
                       select_cgroups(config.cgroups, config.kubernetes.metadata));
}

}  // namespace pex::plan
