#include "count/snapshot.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "count/group_state.h"

namespace pex::collect {
namespace {

std::size_t count_rows(const GroupTable& table, bool (*is_counted)(const GroupRow&)) {
  return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), is_counted));
}

bool has_times(const GroupRow& row) { return row.has_times; }
bool is_known(const GroupRow& row) { return row.value == GroupRow::Value::kKnown; }

/// Rows at which a column has a value.
std::size_t count_values(const PublishedEvent& column, std::span<const GroupTable> tables) {
  std::size_t values = 0;
  const std::size_t rows = tables[column.parts.front().group].rows.size();
  for (std::size_t row = 0; row < rows; ++row) values += value_of(column, tables, row) ? 1 : 0;
  return values;
}

/// One for each column that has one, whatever its rows.
std::size_t count_weights(const ScopePlan& plan, std::span<const GroupTable> tables) {
  return static_cast<std::size_t>(
      std::count_if(plan.columns.begin(), plan.columns.end(), [&](const PublishedEvent& column) {
        const EventAt& part = column.parts.front();
        return tables[part.group].reference_weights[part.event].has_value();
      }));
}

std::size_t count_series(RowKind kind, const ScopePlan& plan, const Evidence& evidence,
                         std::span<const GroupTable> tables) {
  std::size_t series = 0;
  std::vector<std::size_t> known;  // rows of each group: nearly all columns have one part
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const GroupPlan& of = plan.groups[group];
    known.push_back(count_rows(tables[group], is_known));
    series += count_rows(tables[group], has_times) *
              series_of_group(kind, of, evidence, tables[group].is_estimated);
    series += of.is_published ? count_rows(tables[group], lacks_coverage) : 0;
  }
  for (const PublishedEvent& column : plan.columns) {
    const std::size_t values =
        column.parts.size() == 1 ? known[column.parts.front().group] : count_values(column, tables);
    series += values * series_of_column(kind, evidence, is_estimated(column, tables));
  }
  return series;
}

// --- rows of scope cpu --------------------------------------------------------------------------

/// The order of rows.
using PlaceNumbers = std::array<int, std::size(host::kCpuPlaceParts)>;

PlaceNumbers numbers_of(const host::CpuPlace& place) {
  PlaceNumbers numbers{};
  std::transform(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), numbers.begin(),
                 [&](const host::CpuPlacePart& part) { return place.*part.number; });
  return numbers;
}

/// With only the numbers that identify a part of this `aggregation`, so that equal ones are one
/// row.
host::CpuPlace place_of(int cpu, Aggregation aggregation, const MachineCpus& cpus) {
  const auto known = cpus.places.find(cpu);
  const host::CpuPlace place =
      known == cpus.places.end() ? host::CpuPlace{.cpu = cpu} : known->second;
  const std::span<const std::string_view> labels = labels_of(aggregation);
  host::CpuPlace named;
  for (const auto& [label, number] : host::kCpuPlaceParts) {
    const bool is_named = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (is_named) named.*number = place.*number;
  }
  return named;
}

}  // namespace

void GroupRow::settle(const StateCounts& cpus, bool is_counted) {
  wanted_on = cpus.wanted_on;
  counted_on = cpus.counted_on;
  const bool fails = cpus.failed > 0 || cpus.unreadable > 0;
  if (!fails && cpus.measured == 0 && cpus.wanted == 0) {
    value = Value::kNotHere;
  } else {
    const bool is_known = !fails && cpus.measured > 0 && is_counted;
    value = is_known ? Value::kKnown : Value::kNone;
  }
  const bool lacks_for_good = cpus.failed > 0 && cpus.wanted_on == 0;  // gone before all was open
  has_times = (cpus.measured > 0 || cpus.wanted > 0) && !lacks_for_good;
}

bool is_in(const HostRow& row, Aggregation aggregation, const MachineCpus& cpus, int cpu) {
  return numbers_of(place_of(cpu, aggregation, cpus)) == numbers_of(row.place);
}

HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   const std::vector<int>& counted) {
  std::map<PlaceNumbers, HostRow> rows;
  for (const int cpu : counted) {
    const host::CpuPlace place = place_of(cpu, aggregation, cpus);
    HostRow& row = rows[numbers_of(place)];
    row.place = place;
    row.cpus.push_back(cpu);
  }
  HostRows sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

void GroupStarts::follow(const CountingPlan& before, const CountingPlan& plan,
                         Clock::time_point now) {
  const auto begin = [now](const GroupPlan&) { return now; };
  follow_groups(before.cpu, plan.cpu, cpu, begin);
  follow_groups(before.cgroup, plan.cgroup, cgroup, begin);
}

bool is_estimated(const PublishedEvent& column, std::span<const GroupTable> tables) {
  return std::any_of(column.parts.begin(), column.parts.end(),
                     [&](const EventAt& part) { return tables[part.group].is_estimated; });
}

bool lacks_coverage(const GroupRow& row) { return row.counted_on < row.wanted_on; }

std::vector<std::chrono::nanoseconds> counted_times(const Snapshot& snapshot) {
  using Times = std::vector<std::chrono::nanoseconds>;
  const Times none(snapshot.targets->cgroups.size());
  std::map<std::string_view, Times> by_pmu;  // "": counted on all CPUs
  for (std::size_t group = 0; group < snapshot.cgroup.size(); ++group) {
    Times of_group = none;
    for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
      of_group[snapshot.cgroup_rows[row].target] += snapshot.cgroup[group].rows[row].times.enabled;
    }
    Times& most = by_pmu.try_emplace(snapshot.plan->cgroup.groups[group].pmu, none).first->second;
    for (std::size_t i = 0; i < none.size(); ++i) most[i] = std::max(most[i], of_group[i]);
  }
  Times sum = none;
  for (const auto& [pmu, times] : by_pmu) {
    for (std::size_t i = 0; i < none.size() && !pmu.empty(); ++i) sum[i] += times[i];
  }
  const Times& everywhere = by_pmu.try_emplace("", none).first->second;
  for (std::size_t i = 0; i < none.size(); ++i) sum[i] = std::max(sum[i], everywhere[i]);
  return sum;
}

std::size_t count_series(const Snapshot& snapshot) {
  const CountingPlan& plan = *snapshot.plan;
  std::size_t series = count_series(RowKind::kCpu, plan.cpu, plan.evidence, snapshot.cpu) +
                       count_weights(plan.cpu, snapshot.cpu) +
                       count_weights(plan.cgroup, snapshot.cgroup);
  if (plan.publishes_cgroups) {
    series += count_series(RowKind::kCgroup, plan.cgroup, plan.evidence, snapshot.cgroup) +
              snapshot.targets->series();  // a description each
  }
  for (std::size_t number = 0; number < snapshot.sums.size(); ++number) {
    if (plan.sums[number].is_series) continue;  // counted as those of its cgroups
    const SumTable& sum = snapshot.sums[number];
    series += count_series(RowKind::kSum, plan.cgroup, plan.evidence, sum.groups) + sum.rows.size();
  }
  return series;
}

bool limit_evidence(Snapshot& snapshot, std::size_t most) {
  std::vector<GroupTable*> unplanned;
  const auto find = [&](const ScopePlan& plan, std::vector<GroupTable>& tables) {
    for (std::size_t group = 0; group < tables.size(); ++group) {
      if (tables[group].is_estimated && !plan.groups[group].shares_pmu) {
        unplanned.push_back(&tables[group]);
      }
    }
  };
  find(snapshot.plan->cpu, snapshot.cpu);
  find(snapshot.plan->cgroup, snapshot.cgroup);
  for (SumTable& sum : snapshot.sums) find(snapshot.plan->cgroup, sum.groups);
  if (unplanned.empty() || count_series(snapshot) <= most) return false;
  for (GroupTable* const table : unplanned) table->is_estimated = false;
  return true;
}

}  // namespace pex::collect
