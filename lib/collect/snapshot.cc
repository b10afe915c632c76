#include "collect/snapshot.h"

#include <algorithm>

namespace pex::collect {
namespace {

std::size_t count_rows(const GroupTable& table, bool (*is_counted)(const GroupRow&)) {
  return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), is_counted));
}

bool has_times(const GroupRow& row) { return row.has_times; }

std::size_t count_series(const ScopePlan& plan, const Evidence& evidence,
                         std::span<const GroupTable> tables) {
  std::size_t series = 0;
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const GroupPlan& of = plan.groups[group];
    series += count_rows(tables[group], has_times) * series_of_group(of, evidence);
    series += of.is_published ? count_rows(tables[group], lacks_coverage) : 0;
  }
  for (const PublishedEvent& column : plan.columns) {
    const EventAt& part = column.parts.front();
    series += tables[part.group].reference_weights[part.event] ? 1 : 0;
    const std::size_t each = series_of_column(column, plan, evidence);
    const std::size_t rows = tables[part.group].rows.size();
    for (std::size_t row = 0; row < rows; ++row) series += value_of(column, tables, row) ? each : 0;
  }
  return series;
}

}  // namespace

bool lacks_coverage(const GroupRow& row) { return row.counted_on < row.wanted_on; }

std::size_t count_series(const Snapshot& snapshot) {
  const CountingPlan& plan = *snapshot.plan;
  return count_series(plan.cpu, plan.evidence, snapshot.cpu) +
         count_series(plan.cgroup, plan.evidence, snapshot.cgroup) +
         snapshot.targets->cgroups.size();  // a description each
}

}  // namespace pex::collect
