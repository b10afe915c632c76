#include "exposition/group_errors.h"

#include <cstdint>
#include <set>
#include <string_view>

#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::exposition {
namespace {

using collect::PollReport;

struct Kind {
  std::string_view problem;
  std::uint64_t PollReport::GroupErrors::*count;
};
constexpr Kind kKinds[] = {{"anomaly", &PollReport::GroupErrors::anomalies},
                           {"mistimed", &PollReport::GroupErrors::mistimed},
                           {"pinned_off_pmu", &PollReport::GroupErrors::pinned_errors},
                           {"read_error", &PollReport::GroupErrors::read_failures},
                           {"standstill", &PollReport::GroupErrors::standstills}};

}  // namespace

void GroupErrors::add(const PollReport& report,
                      const std::shared_ptr<const collect::CountingPlan>& plan) {
  for (const auto& [name, errors] : report.errors) {
    for (const Kind& kind : kKinds) totals_[name].*kind.count += errors.*kind.count;
  }
  if (plan_ != plan) forget_all_but(*plan);
  plan_ = plan;
}

void GroupErrors::forget_all_but(const collect::CountingPlan& plan) {
  std::set<std::string_view> names;
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) names.insert(group.name);
  }
  std::erase_if(totals_, [&](const auto& group) { return !names.contains(group.first); });
}

prometheus::MetricFamily GroupErrors::collect() const {
  prometheus::MetricFamily family = collected(self_family("perf_group_problems_total"));
  for (const auto& [group, total] : totals_) {
    for (const Kind& kind : kKinds) {
      if (total.*kind.count == 0) continue;
      add_sample(family, {{"group", group}, {"problem", kind.problem}},
                 static_cast<double>(total.*kind.count));
    }
  }
  return family;
}

}  // namespace pex::exposition
