#include "collect/counting_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

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

bool has_same_counters(const CountingPlan& one, const CountingPlan& other) {
  const auto counted = [](const CountingPlan& plan) {
    return std::tie(plan.cpu, plan.cgroup, plan.cgroup_per_cpu, plan.left_out_cpus);
  };
  return counted(one) == counted(other);
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
