#include "exposition/group_troubles.h"

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "exposition/self_families.h"

namespace pex::exposition {
namespace {

using collect::PollReport;

struct Kind {
  FamilyEntry family;
  std::string_view reason;  ///< the same of an auxiliary counter
  std::uint64_t PollReport::GroupTrouble::*count;
};
constexpr FamilyEntry trouble(std::string_view name, std::string_view help) {
  return {name, FamilyType::kCounter, "`group`", help};
}
constexpr Kind kKinds[] = {
    {trouble(
         "perf_group_anomalies_total",
         "Readings in which a total of the kernel fell: of the group itself, and what was counted "
         "since the reading before is in no count; or of the reference, and counts are scaled by "
         "time."),
     "anomaly", &PollReport::GroupTrouble::anomalies},
    {trouble("perf_group_mistimed_polls_total",
             "Readings of a group whose running time the kernel booked wrongly; that of the "
             "group's own clock was taken."),
     "mistimed", &PollReport::GroupTrouble::mistimed},
    {trouble(
         "perf_group_pinned_errors_total",
         "Readings at which a pinned group had lost its place on the PMU; it was asked for anew."),
     "pinned", &PollReport::GroupTrouble::pinned_errors},
    {trouble("perf_group_read_errors_total", "Readings of a group that failed."), "read",
     &PollReport::GroupTrouble::read_failures},
    {trouble("perf_group_standstills_total",
             "Times that a group of a CPU was opened again because the kernel did not let it "
             "count; what happened meanwhile is unmeasured."),
     "standstill", &PollReport::GroupTrouble::standstills},
};

/// What an auxiliary group is called in a label.
struct Auxiliary {
  std::string_view group;
  std::string_view label;
};
constexpr Auxiliary kAuxiliaries[] = {{collect::kClockGroup, "clock"},
                                      {collect::kReferenceGroup, "reference"}};

const Auxiliary* find_auxiliary(std::string_view group) {
  const auto* const found = std::find_if(std::begin(kAuxiliaries), std::end(kAuxiliaries),
                                         [group](const Auxiliary& a) { return a.group == group; });
  return found == std::end(kAuxiliaries) ? nullptr : found;
}

prometheus::Labels labels_of(const std::string& group, const Kind& kind) {
  const Auxiliary* auxiliary = find_auxiliary(group);
  if (auxiliary == nullptr) return {{"group", group}};
  return {{"auxiliary", std::string(auxiliary->label)}, {"reason", std::string(kind.reason)}};
}

prometheus::Family<prometheus::Counter>& registered(const FamilyEntry& row,
                                                    prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name(std::string(row.name))
      .Help(std::string(row.help))
      .Register(registry);
}

}  // namespace

std::vector<FamilyEntry> trouble_families() {
  std::vector<FamilyEntry> rows;
  for (const Kind& kind : kKinds) rows.push_back(kind.family);
  return rows;
}

GroupTroubles::GroupTroubles(prometheus::Registry& registry)
    : auxiliary_(&registered(self_family("perf_event_exporter_auxiliary_errors_total"), registry)) {
  for (const Kind& kind : kKinds) families_.push_back(&registered(kind.family, registry));
}

void GroupTroubles::add(const PollReport& report,
                        const std::shared_ptr<const collect::CountingPlan>& plan) {
  if (plan_.lock() != plan) follow(*plan);
  plan_ = plan;
  for (const auto& [group, trouble] : report.troubles) {
    const Counters& counters = counters_of(group);
    for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
      counters[kind]->Increment(static_cast<double>(trouble.*kKinds[kind].count));
    }
  }
}

void GroupTroubles::follow(const collect::CountingPlan& plan) {
  std::set<std::string_view> names;
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      names.insert(group.name);
      counters_of(group.name);
    }
  }
  std::erase_if(groups_, [&](const auto& entry) {
    const auto& [group, counters] = entry;
    if (names.contains(group)) return false;
    for (std::size_t kind = 0; kind < counters.size(); ++kind) {
      family_of(group, kind).Remove(counters[kind]);
    }
    return true;
  });
}

GroupTroubles::Family& GroupTroubles::family_of(const std::string& group, std::size_t kind) {
  return find_auxiliary(group) == nullptr ? *families_[kind] : *auxiliary_;
}

GroupTroubles::Counters& GroupTroubles::counters_of(const std::string& group) {
  const auto [entry, is_new] = groups_.try_emplace(group);
  for (std::size_t kind = 0; is_new && kind < std::size(kKinds); ++kind) {
    entry->second.push_back(&family_of(group, kind).Add(labels_of(group, kKinds[kind])));
  }
  return entry->second;
}

}  // namespace pex::exposition
