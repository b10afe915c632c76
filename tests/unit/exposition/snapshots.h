#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "count/snapshot.h"
#include "exposition/self_metrics.h"

namespace pex::exposition {

/// In place of the exporter's own metrics.
class NoMetrics final : public SelfReading {
 public:
  void write(const Selection&, FormatWriter&) const override {}
};

inline std::shared_ptr<const collect::TargetSet> targets(std::initializer_list<const char*> paths) {
  collect::TargetSet set;
  for (const char* path : paths) {
    collect::CgroupTarget& target = set.cgroups.emplace_back();
    target.series = set.cgroups.size();
    target.path = path;
  }
  return std::make_shared<const collect::TargetSet>(std::move(set));
}

/// Every group of every row counted all the time, for one second. `totals` are those of the first
/// row, group by group, then those of the next.
inline std::vector<collect::GroupTable> tables(const collect::ScopePlan& plan, std::size_t rows,
                                               const std::vector<std::uint64_t>& totals) {
  std::vector<collect::GroupTable> tables;
  for (const collect::GroupPlan& group : plan.groups) {
    const collect::GroupTimes second{.enabled = std::chrono::seconds{1},
                                     .running = std::chrono::seconds{1}};
    tables.push_back({group.events.size(),
                      group.shares_pmu,
                      {rows, {collect::GroupRow::Value::kKnown, true, second}},
                      std::vector<collect::EventTotal>(rows * group.events.size()),
                      std::vector<std::optional<double>>(group.events.size())});
  }
  auto total = totals.begin();
  for (std::size_t row = 0; row < rows; ++row) {
    for (collect::GroupTable& table : tables) {
      for (std::size_t event = 0; event < table.events; ++event) {
        table.total(row, event).value = *total++;
      }
    }
  }
  return tables;
}

inline collect::Snapshot host_snapshot(collect::ScopePlan plan, std::vector<host::CpuPlace> places,
                                       const std::vector<std::uint64_t>& totals) {
  collect::Snapshot snapshot;
  snapshot.cpu = tables(plan, places.size(), totals);
  for (const collect::GroupPlan& group : plan.groups) {
    collect::HostRows& rows = snapshot.host_rows[static_cast<std::size_t>(group.aggregation)];
    rows.clear();
    for (const host::CpuPlace& place : places) rows.push_back({place, {}});
  }
  snapshot.targets = targets({});
  snapshot.plan =
      std::make_shared<const collect::CountingPlan>(collect::CountingPlan{std::move(plan), {}, {}});
  return snapshot;
}

inline collect::Snapshot cpu_snapshot(collect::ScopePlan plan, const std::vector<int>& cpus,
                                      const std::vector<std::uint64_t>& totals) {
  std::vector<host::CpuPlace> places;
  for (const int cpu : cpus) places.push_back({.cpu = cpu});
  return host_snapshot(std::move(plan), std::move(places), totals);
}

inline collect::Snapshot cgroup_snapshot(collect::ScopePlan plan,
                                         std::shared_ptr<const collect::TargetSet> rows,
                                         const std::vector<std::uint64_t>& totals) {
  collect::Snapshot snapshot;
  snapshot.cgroup = tables(plan, rows->cgroups.size(), totals);
  for (std::size_t target = 0; target < rows->cgroups.size(); ++target) {
    snapshot.cgroup_rows.push_back({target, {}});
  }
  snapshot.targets = std::move(rows);
  snapshot.plan =
      std::make_shared<const collect::CountingPlan>(collect::CountingPlan{{}, std::move(plan), {}});
  return snapshot;
}

}  // namespace pex::exposition
