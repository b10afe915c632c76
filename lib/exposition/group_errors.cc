#include "exposition/group_errors.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::exposition {
namespace {

using collect::PollReport;

struct Kind {
  FamilyEntry family;
  std::string_view reason;  ///< the label of the same error of an auxiliary counter
  std::uint64_t PollReport::GroupErrors::*count;
};
constexpr FamilyEntry error_family(std::string_view name, std::string_view help,
                                   std::string_view details = {}) {
  return {name, FamilyType::kCounter, "`group`", help, details};
}
constexpr Kind kKinds[] = {
    {error_family("perf_group_anomalies_total", "Readings in which a kernel total decreased.",
                  "If it was the group's, the increment since the previous reading is not counted. "
                  "If it was the reference's, counts are scaled by time."),
     "anomaly", &PollReport::GroupErrors::anomalies},
    {error_family("perf_group_mistimed_polls_total",
                  "Readings of a group whose running time the kernel accounted wrongly.",
                  "The running time of the group's own clock was used."),
     "mistimed", &PollReport::GroupErrors::mistimed},
    {error_family("perf_group_pinned_errors_total",
                  "Readings of a pinned group that was not on the PMU.",
                  "The exporter enabled it again."),
     "pinned", &PollReport::GroupErrors::pinned_errors},
    {error_family("perf_group_read_errors_total", "Failed reads of a group."), "read",
     &PollReport::GroupErrors::read_failures},
    {error_family(
         "perf_group_standstills_total",
         "Times that a group of a CPU was reopened because the kernel did not schedule it.",
         "Events in the meantime are unmeasured."),
     "standstill", &PollReport::GroupErrors::standstills},
};

/// The label of an auxiliary group.
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

}  // namespace

std::vector<FamilyEntry> group_error_families() {
  std::vector<FamilyEntry> families;
  for (const Kind& kind : kKinds) families.push_back(kind.family);
  return families;
}

void GroupErrors::add(const PollReport& report,
                      const std::shared_ptr<const collect::CountingPlan>& plan) {
  if (plan_ != plan) follow(*plan);
  plan_ = plan;
  for (const auto& [name, errors] : report.errors) {
    Group& group = find_or_add(name);
    for (const Kind& kind : kKinds) group.total.*kind.count += errors.*kind.count;
  }
}

void GroupErrors::follow(const collect::CountingPlan& plan) {
  std::set<std::string_view> names;
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      names.insert(group.name);
      find_or_add(group.name);
    }
  }
  std::erase_if(groups_, [&](const Group& group) { return !names.contains(group.name); });
}

GroupErrors::Group& GroupErrors::find_or_add(const std::string& name) {
  const auto known = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return group.name == name; });
  return known != groups_.end() ? *known : groups_.emplace_back(Group{name, {}});
}

void GroupErrors::collect(std::vector<prometheus::MetricFamily>& families) const {
  prometheus::MetricFamily& auxiliary_errors =
      families.emplace_back(collected(self_family("perf_event_exporter_auxiliary_errors_total")));
  for (const Group& group : groups_) {
    const Auxiliary* auxiliary = find_auxiliary(group.name);
    if (auxiliary == nullptr) continue;
    for (const Kind& kind : kKinds) {
      add_sample(auxiliary_errors, {{"auxiliary", auxiliary->label}, {"reason", kind.reason}},
                 static_cast<double>(group.total.*kind.count));
    }
  }
  for (const Kind& kind : kKinds) {
    prometheus::MetricFamily& family = families.emplace_back(collected(kind.family));
    for (const Group& group : groups_) {
      if (find_auxiliary(group.name) != nullptr) continue;
      add_sample(family, {{"group", group.name}}, static_cast<double>(group.total.*kind.count));
    }
  }
}

}  // namespace pex::exposition
