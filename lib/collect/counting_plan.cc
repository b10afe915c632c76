#include "collect/counting_plan.h"

#include <algorithm>
#include <set>

namespace pex::collect {

std::vector<std::string> pmus_of(const CountingPlan& plan) {
  std::set<std::string> pmus;
  for (const ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const GroupPlan& group : scope->groups) {
      if (!group.pmu.empty()) pmus.insert(group.pmu);
    }
  }
  return {pmus.begin(), pmus.end()};
}

bool has_probe_in_file(const GroupPlan& group) {
  return std::any_of(group.events.begin(), group.events.end(), [](const perf::CounterSpec& event) {
    return event.attributes.probe.starts_with('/');
  });
}

namespace {

/// Whether both are the same but for their duty cycles, and for where in the plan the groups are
/// that they are estimated by.
bool is_counted_alike(const GroupPlan& one, GroupPlan other) {
  const auto& places = one.auxiliary;
  if (places.always_on.has_value() != other.auxiliary.always_on.has_value() ||
      places.reference_always.has_value() != other.auxiliary.reference_always.has_value()) {
    return false;
  }
  other.duty_cycle = one.duty_cycle;
  other.auxiliary.always_on = places.always_on;
  if (places.reference_always) {
    other.auxiliary.reference_always->group = places.reference_always->group;
  }
  return one == other;
}

/// The groups that others are estimated by come before those.
std::vector<std::size_t> change_of(const ScopePlan& before, const ScopePlan& now) {
  std::vector<std::size_t> places;
  const auto is_at = [&places](std::size_t group, std::size_t place) {
    return group < places.size() && places[group] == place;
  };
  for (const GroupPlan& group : now.groups) {
    const auto is_same = [&](const GroupPlan& old) {
      const AuxiliaryCounters& was = old.auxiliary;
      const AuxiliaryCounters& is = group.auxiliary;
      return is_counted_alike(old, group) && !has_probe_in_file(old) &&
             (!is.always_on || is_at(*is.always_on, *was.always_on)) &&
             (!is.reference_always ||
              is_at(is.reference_always->group, was.reference_always->group));
    };
    const auto same = std::find_if(before.groups.begin(), before.groups.end(), is_same);
    places.push_back(same == before.groups.end()
                         ? kNewPlace
                         : static_cast<std::size_t>(same - before.groups.begin()));
  }
  return places;
}

}  // namespace

PlanChange change_of(const CountingPlan& before, const CountingPlan& now) {
  return {change_of(before.cpu, now.cpu), change_of(before.cgroup, now.cgroup)};
}

std::string_view configured_name(std::string_view group) {
  return group.substr(0, group.find('/'));
}

std::string_view configured_name(const GroupPlan& group) { return configured_name(group.name); }

bool is_estimated(const PublishedEvent& column, const ScopePlan& plan) {
  return std::any_of(column.parts.begin(), column.parts.end(),
                     [&](const EventAt& part) { return plan.groups[part.group].shares_pmu; });
}

bool has_evidence(RowKind rows, const Evidence& evidence) {
  switch (rows) {
    case RowKind::kCpu:
      break;
    case RowKind::kCgroup:
      return evidence.cgroups == CgroupEvidence::kEach;
    case RowKind::kSum:
      return evidence.cgroups != CgroupEvidence::kNone;
  }
  return true;
}

namespace {

/// A counter, and its start time.
std::size_t series_of_counter(const Evidence& evidence) { return evidence.created ? 2 : 1; }

}  // namespace

std::size_t series_of_group(RowKind rows, const GroupPlan& group, const Evidence& evidence) {
  constexpr std::size_t kTimes = 2;        // enabled, running
  constexpr std::size_t kTimesOffPmu = 2;  // imputed, unmeasured
  constexpr std::size_t kReferences = 2;   // all of it, and what was sampled
  if (!group.is_published || !has_evidence(rows, evidence)) return 0;
  const bool has_reference = evidence.reference && group.auxiliary.reference;
  const std::size_t counters =
      kTimes + (group.shares_pmu ? kTimesOffPmu : 0) + (has_reference ? kReferences : 0);
  return counters * series_of_counter(evidence);
}

std::size_t series_of_column(RowKind rows, const PublishedEvent& column, const ScopePlan& plan,
                             const Evidence& evidence) {
  constexpr std::size_t kValue = 1;
  constexpr std::size_t kObserved = 1;
  const bool has_parts = is_estimated(column, plan) && has_evidence(rows, evidence);
  const std::size_t parts = has_parts ? kObserved + (evidence.variance ? 1 : 0) : 0;
  return (kValue + parts) * series_of_counter(evidence);
}

}  // namespace pex::collect
