#include "exposition/group_troubles.h"

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <iterator>

namespace pex::exposition {
namespace {

using collect::PollReport;

struct Kind {
  FamilyRow family;
  std::uint64_t PollReport::GroupTrouble::*count;
};
constexpr FamilyRow trouble(std::string_view name, std::string_view help) {
  return {name, FamilyType::kCounter, "`group`", help};
}
constexpr Kind kKinds[] = {
    {trouble(
         "perf_group_anomalies_total",
         "Readings in which a total of the kernel fell: of the group itself, and what was counted "
         "since the reading before is in no count; or of the reference, and counts are scaled by "
         "time."),
     &PollReport::GroupTrouble::anomalies},
    {trouble("perf_group_mistimed_polls_total",
             "Readings of a group whose running time the kernel booked wrongly; that of the "
             "group's own clock was taken."),
     &PollReport::GroupTrouble::mistimed},
    {trouble(
         "perf_group_pinned_errors_total",
         "Readings at which a pinned group had lost its place on the PMU; it was asked for anew."),
     &PollReport::GroupTrouble::pinned_errors},
    {trouble("perf_group_read_errors_total", "Readings of a group that failed."),
     &PollReport::GroupTrouble::read_failures},
};

}  // namespace

std::vector<FamilyRow> trouble_families() {
  std::vector<FamilyRow> rows;
  for (const Kind& kind : kKinds) rows.push_back(kind.family);
  return rows;
}

GroupTroubles::GroupTroubles(prometheus::Registry& registry) {
  for (const Kind& kind : kKinds) {
    families_.push_back(&prometheus::BuildCounter()
                             .Name(std::string(kind.family.name))
                             .Help(std::string(kind.family.help))
                             .Register(registry));
  }
}

void GroupTroubles::add(const PollReport& report,
                        const std::shared_ptr<const collect::CountingPlan>& plan) {
  if (plan_.lock() != plan) start(*plan);
  plan_ = plan;
  for (const auto& [group, trouble] : report.troubles) add(group, trouble);
}

void GroupTroubles::start(const collect::CountingPlan& plan) {
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      if (group.is_published) add(group.name, {});
    }
  }
}

void GroupTroubles::add(const std::string& group, const PollReport::GroupTrouble& trouble) {
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    families_[kind]
        ->Add({{"group", group}})
        .Increment(static_cast<double>(trouble.*kKinds[kind].count));
  }
}

}  // namespace pex::exposition
