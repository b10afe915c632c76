#include "history/reading.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>

#include "base/unit.h"

namespace pex::history {
namespace {

using collect::GroupRow;
using collect::GroupTable;
using collect::PublishedEvent;
using collect::ScopePlan;

/// By Measure. Without events of another unit or scale, which the operator may have configured.
struct MeasureEntry {
  std::string_view event;
  Unit unit;
  double scale;
};
constexpr MeasureEntry kMeasureEntries[kMeasures] = {{"task-clock", Unit::kSeconds, 1e-9},
                                                     {"cycles", Unit::kEvents, 1},
                                                     {"instructions", Unit::kEvents, 1}};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

bool measures(const PublishedEvent& column, const MeasureEntry& entry) {
  return column.event.name == entry.event && column.event.unit == entry.unit &&
         column.event.scale == entry.scale;
}

/// One for each kind of CPU if there are several; none if nothing counts it. An event in two groups
/// is taken once.
std::vector<const PublishedEvent*> columns_of(const ScopePlan& plan, const MeasureEntry& entry) {
  std::vector<const PublishedEvent*> columns;
  for (const PublishedEvent& column : plan.columns) {
    const auto is_same = [&](const PublishedEvent* other) {
      return other->event.labels == column.event.labels;
    };
    if (!measures(column, entry) || std::any_of(columns.begin(), columns.end(), is_same)) continue;
    columns.push_back(&column);
  }
  return columns;
}

/// A sum over rows; unknown if one of them is.
struct Sum {
  double value = 0;
  bool is_counted = false;
  bool is_spoiled = false;

  void add(const PublishedEvent& column, std::span<const GroupTable> tables, std::size_t row) {
    if (const auto total = collect::value_of(column, tables, row)) {
      value += static_cast<double>(total->value) * column.event.scale;
      is_counted = true;
      return;
    }
    const auto is_elsewhere = [&](const PublishedEvent::Part& part) {
      return tables[part.group].rows[row].value == GroupRow::Value::kNotHere;
    };
    is_spoiled = is_spoiled || !std::all_of(column.parts.begin(), column.parts.end(), is_elsewhere);
  }
  std::optional<double> total() const {
    return is_counted && !is_spoiled ? std::optional(value) : std::nullopt;
  }
};

void add_times(const ScopePlan& plan, std::span<const GroupTable> tables, std::size_t group,
               std::size_t row, PmuTimes& pmu_times) {
  const GroupRow& of = tables[group].rows[row];
  if (!plan.groups[group].shares_pmu || !of.has_times) return;
  pmu_times[group].enabled += seconds(of.times.enabled);
  pmu_times[group].running += seconds(of.times.running);
}

}  // namespace

Reading read_host(const collect::Snapshot& snapshot) {
  const ScopePlan& plan = snapshot.plan->cpu;
  Reading reading;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    if (static_cast<Measure>(measure) == Measure::kCpuTime) continue;  // runs while idle as well
    Sum sum;
    for (const PublishedEvent* column : columns_of(plan, kMeasureEntries[measure])) {
      const std::size_t rows = snapshot.cpu[column->parts.front().group].rows.size();
      for (std::size_t row = 0; row < rows; ++row) sum.add(*column, snapshot.cpu, row);
    }
    reading.totals[measure] = sum.total();
  }
  reading.pmu_times.resize(plan.groups.size());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    for (std::size_t row = 0; row < snapshot.cpu[group].rows.size(); ++row) {
      add_times(plan, snapshot.cpu, group, row, reading.pmu_times);
    }
  }
  return reading;
}

std::vector<Reading> read_cgroups(const collect::Snapshot& snapshot) {
  const ScopePlan& plan = snapshot.plan->cgroup;
  const std::vector<collect::CgroupTarget>& targets = snapshot.targets->cgroups;
  std::vector<Reading> readings(targets.size());
  for (std::size_t target = 0; target < targets.size(); ++target) {
    readings[target].series = targets[target].series;
    readings[target].pmu_times.resize(plan.groups.size());
  }
  const std::vector<collect::CgroupRow>& rows = snapshot.cgroup_rows;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    std::vector<Sum> sums(targets.size());
    for (const PublishedEvent* column : columns_of(plan, kMeasureEntries[measure])) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        sums[rows[row].target].add(*column, snapshot.cgroup, row);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) readings[i].totals[measure] = sums[i].total();
  }
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      add_times(plan, snapshot.cgroup, group, row, readings[rows[row].target].pmu_times);
    }
  }
  return readings;
}

}  // namespace pex::history
