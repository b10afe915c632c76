#include "exposition/metric_names.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "exposition/family.h"
#include "exposition/labels.h"

namespace pex::exposition {
namespace {

std::string suffix_of(Unit unit) {
  return unit == Unit::kEvents ? "" : "_" + std::string(name_of(unit));
}

/// An operator may have written the suffix that every name gets.
std::string_view without_total(std::string_view metric) {
  constexpr std::string_view kTotal = "_total";
  const bool is_there = metric.ends_with(kTotal) && metric.size() > kTotal.size();
  return is_there ? metric.substr(0, metric.size() - kTotal.size()) : metric;
}

/// What one series of a family represents.
std::string row_text(Scope scope, const EventFamily& family, bool per_cpu) {
  if (scope == Scope::kCgroup) {
    return per_cpu ? "by cgroup with its children, and CPU"
                   : "by cgroup with its children, over all CPUs";
  }
  const Aggregation first = family.columns.front().column->aggregation;
  const bool is_one = std::all_of(
      family.columns.begin(), family.columns.end(),
      [&](const EventFamily::Member& member) { return member.column->aggregation == first; });
  return is_one ? std::string(entry_of(first).help) : "by different parts of the machine";
}

/// `means_another`: the event has another help text there. `rows`: what a series represents.
std::string help_of(const EventFamily& family, bool means_another, const std::string& rows) {
  std::vector<std::string> names;
  for (const EventFamily::Member& member : family.columns) {
    const std::string& name = member.column->event.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const events::EventIdentity& first = family.columns.front().column->event;
  std::string help = means_another ? first.cpu_help : first.help;
  const std::string of = (names.size() == 1 ? "event " : "events ") + join(names) + ", " + rows;
  if (help.empty()) return "The " + of + ".";
  if (help.ends_with('.')) help.pop_back();
  return help + " (" + of + ").";
}

/// "perf_cgroup_", or "perf_" for what has no part of the machine of its own.
std::string family_name(const std::string& prefix, const events::EventIdentity& event) {
  std::string name = prefix;
  name += without_total(event.metric);
  const std::string unit = suffix_of(event.unit);
  if (!name.ends_with(unit)) name += unit;
  return name + "_total";
}

/// Inserts `part` before the unit, which stays at the end of the name.
std::string name_of_part(std::string_view family, std::string_view part, std::string_view power) {
  std::string_view name = without_total(family);
  const std::string_view unit = unit_of(name);
  if (!unit.empty()) name.remove_suffix(unit.size() + 1);
  std::string made = std::string(name) + std::string(part);
  if (!unit.empty()) made += "_" + std::string(unit) + std::string(power);
  return made + "_total";
}

/// `name_of_event` is one of the functions family_name.
template <typename Name>
std::vector<EventFamily> by_name(const std::vector<collect::PublishedEvent>& columns,
                                 Name name_of_event) {
  std::vector<EventFamily> families;
  std::map<std::string, std::size_t> known;
  for (const collect::PublishedEvent& column : columns) {
    const std::string name = name_of_event(column.event);
    const auto [place, is_new] = known.try_emplace(name, families.size());
    if (is_new) families.push_back({name, {}, {}});
    families[place->second].columns.push_back({&column, labels_of_event(column.event)});
  }
  return families;
}

}  // namespace

std::string row_text(const collect::SumPlan& sum) {
  return sum.labels.empty() ? "" : "by " + join_last(sum.labels, " and ");
}

std::string family_name(Scope scope, const events::EventIdentity& event) {
  return family_name(event.is_uncore ? "perf_" : "perf_" + std::string(name_of(scope)) + "_",
                     event);
}

std::string family_name(const collect::SumPlan& sum, const events::EventIdentity& event) {
  return family_name("perf_" + sum.name + "_", event);
}

std::string observed_family_name(std::string_view family) {
  return name_of_part(family, "_observed", "");
}

std::string variance_family_name(std::string_view family) {
  return name_of_part(family, "_variance", "_squared");
}

std::string cgroups_family_name(const collect::SumPlan& sum) {
  return "perf_" + sum.name + "_cgroups";
}

std::vector<EventFamily> families_of(Scope scope, const collect::CountingPlan& plan) {
  std::vector<EventFamily> families =
      by_name((scope == Scope::kCpu ? plan.cpu : plan.cgroup).columns,
              [&](const events::EventIdentity& event) { return family_name(scope, event); });
  for (EventFamily& family : families) {
    const events::EventIdentity& first = family.columns.front().column->event;
    const bool means_another = scope == Scope::kCpu && !first.cpu_help.empty();
    family.help = help_of(family, means_another, row_text(scope, family, plan.cgroup_per_cpu));
  }
  return families;
}

std::vector<EventFamily> families_of(const collect::SumPlan& sum,
                                     const collect::CountingPlan& plan) {
  if (sum.is_series) return families_of(Scope::kCgroup, plan);
  std::vector<EventFamily> families =
      by_name(plan.cgroup.columns,
              [&](const events::EventIdentity& event) { return family_name(sum, event); });
  for (EventFamily& family : families) {
    family.help =
        help_of(family, false,
                "summed over " + (sum.labels.empty() ? "all cgroups" : "cgroups " + row_text(sum)));
  }
  return families;
}

}  // namespace pex::exposition
