#pragma once

#include <rapidcheck.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "snapshots.h"
#include "support/events.h"

namespace pex::exposition {

inline std::size_t below(std::size_t end) { return *rc::gen::inRange<std::size_t>(0, end); }

/// Up to two of one to three events each. No event twice on one PMU, as no two columns of a scope
/// are the same series.
inline std::vector<test::GroupOf> any_groups() {
  static const std::vector<std::string> kEvents = {"cycles",   "instructions", "task-clock",
                                                   "branches", "page-faults",  "bus-cycles"};
  std::set<std::pair<std::string, std::string>> taken;
  std::vector<test::GroupOf> groups(below(3));
  for (test::GroupOf& group : groups) {
    group.name = "g" + std::to_string(&group - groups.data());
    group.pmu = *rc::gen::element<std::string>("", "big", "little");
    group.aggregation = below(2) == 0 ? Aggregation::kCpu : Aggregation::kHost;
    const std::size_t events = below(3) + 1;
    for (std::size_t at = below(kEvents.size()); group.events.size() < events; ++at) {
      const std::string& event = kEvents[at % kEvents.size()];
      if (taken.insert({group.pmu, event}).second) group.events.push_back(event);
    }
  }
  return groups;
}

/// With columns of one part, or of two that are counted in the same places.
inline collect::ScopePlan any_scope() {
  collect::ScopePlan plan = scope_plan(any_groups());
  for (collect::GroupPlan& group : plan.groups) {
    group.shares_pmu = below(2) == 0;
    group.is_published = below(4) != 0;
    if (below(2) == 0) group.auxiliary.reference = 0;
  }
  for (collect::PublishedEvent& column : plan.columns) {
    const std::string& pmu = plan.groups[column.parts.front().group].pmu;
    if (!pmu.empty()) column.event.labels = {{"pmu", pmu}};
  }
  for (std::size_t i = 0; i + 1 < plan.columns.size(); ++i) {
    if (plan.columns[i].aggregation != plan.columns[i + 1].aggregation || below(3) != 0) continue;
    plan.columns[i].parts.push_back(plan.columns[i + 1].parts[0]);
  }
  return plan;
}

/// With rows of any state.
inline collect::GroupTable any_table(const collect::GroupPlan& group, std::size_t rows) {
  collect::GroupTable table;
  table.events = group.events.size();
  table.is_estimated = group.shares_pmu || below(4) == 0;
  table.rows.resize(rows);
  for (collect::GroupRow& row : table.rows) {
    row.value =
        *rc::gen::element(collect::GroupRow::Value::kNotHere, collect::GroupRow::Value::kNone,
                          collect::GroupRow::Value::kKnown);
    row.has_times = below(2) == 0;
    row.wanted_on = below(3);
    row.counted_on = below(row.wanted_on + 1);
  }
  const collect::EventTotal total{below(1000), below(1000), static_cast<double>(below(1000))};
  table.totals.resize(rows * table.events, total);
  table.reference_weights.resize(table.events);
  if (below(2) == 0) table.reference_weights[0] = 0.5;
  return table;
}

inline collect::Snapshot any_snapshot() {
  collect::Snapshot snapshot;
  const auto of_cgroups = static_cast<CgroupEvidence>(below(3));
  const collect::CountingPlan plan{
      any_scope(), any_scope(), {below(2) == 0, below(2) == 0, of_cgroups, below(2) == 0}};
  const std::size_t cpus = below(4);
  for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
    snapshot.host_rows[0].push_back({{.cpu = static_cast<int>(cpu)}, {}});
  }
  snapshot.host_rows[static_cast<std::size_t>(Aggregation::kHost)].emplace_back();
  snapshot.targets = below(2) == 0 ? targets({}) : targets({"/a", "/b", "/c"});
  for (const collect::GroupPlan& group : plan.cpu.groups) {
    snapshot.cpu.push_back(any_table(group, snapshot.rows_of(group.aggregation).size()));
  }
  const bool per_cpu = below(2) == 0;
  for (std::size_t target = 0; target < snapshot.targets->cgroups.size(); ++target) {
    snapshot.cgroup_rows.push_back({target, per_cpu ? std::optional(0) : std::nullopt});
    if (per_cpu) snapshot.cgroup_rows.push_back({target, 1});
  }
  for (const collect::GroupPlan& group : plan.cgroup.groups) {
    snapshot.cgroup.push_back(any_table(group, snapshot.cgroup_rows.size()));
  }
  snapshot.plan = std::make_shared<const collect::CountingPlan>(plan);
  return snapshot;
}

}  // namespace pex::exposition
