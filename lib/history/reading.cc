#include "history/reading.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "base/lookup.h"
#include "base/unit.h"

namespace pex::history {
namespace {

using collect::GroupRow;
using collect::GroupTable;
using collect::PublishedEvent;
using collect::ScopePlan;
using events::EventIdentity;

/// Without events of another unit or scale, which the operator may have configured.
struct RoleEntry {
  std::string_view event;
  Unit unit;
  double scale;
  Role role;
};
constexpr RoleEntry kRoles[] = {{"task-clock", Unit::kSeconds, 1e-9, Role::kCpuTime},
                                {"cycles", Unit::kEvents, 1, Role::kCycles},
                                {"instructions", Unit::kEvents, 1, Role::kInstructions}};

/// What usually explains a difference between two CPUs or cgroups. After the roles.
constexpr std::string_view kRevealing[] = {"cache-misses", "LLC-load-misses", "branch-misses"};

Role role_of(const EventIdentity& event) {
  const RoleEntry* entry = lookup(
      kRoles,
      [&](const RoleEntry& of) {
        return of.event == event.name && of.unit == event.unit && of.scale == event.scale;
      },
      true);
  return entry == nullptr ? Role::kOther : entry->role;
}

/// Lower ones come first.
std::size_t rank_of(const Measure& measure) {
  if (measure.role != Role::kOther) return 0;
  const auto found = std::find(std::begin(kRevealing), std::end(kRevealing), measure.event().name);
  return 1 + static_cast<std::size_t>(found - std::begin(kRevealing));
}

bool is_clock(const EventIdentity& event) {
  return event.name == "task-clock" || event.name == "cpu-clock";
}

bool is_of(const Measure& measure, const EventIdentity& event) {
  const EventIdentity& same = measure.event();
  return same.name == event.name && same.metric == event.metric && same.unit == event.unit &&
         same.scale == event.scale;
}

/// An event in two groups is taken once.
void add_column(const PublishedEvent& column, Measure& measure) {
  const auto is_same = [&](const PublishedEvent* other) {
    return other->event.labels == column.event.labels;
  };
  if (std::none_of(measure.columns.begin(), measure.columns.end(), is_same)) {
    measure.columns.push_back(&column);
  }
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

/// So many readings of `tables`; `reading_of(row)` is the one that a row is a part of.
template <typename ReadingOf>
std::vector<Reading> read(std::size_t count, std::span<const GroupTable> tables,
                          const std::vector<Measure>& measures, ReadingOf reading_of) {
  std::vector<Reading> readings(count);
  for (Reading& reading : readings) reading.totals.reserve(measures.size());
  for (const Measure& measure : measures) {
    std::vector<Sum> sums(count);
    for (const PublishedEvent* column : measure.columns) {
      const std::size_t rows = tables[column->parts.front().group].rows.size();
      for (std::size_t row = 0; row < rows; ++row) sums[reading_of(row)].add(*column, tables, row);
    }
    for (std::size_t i = 0; i < count; ++i) readings[i].totals.push_back(sums[i].total());
  }
  return readings;
}

template <typename ReadingOf>
void add_pmu_times(const ScopePlan& plan, std::span<const GroupTable> tables,
                   std::vector<Reading>& readings, ReadingOf reading_of) {
  for (Reading& reading : readings) reading.pmu_times.resize(plan.groups.size());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    if (!plan.groups[group].shares_pmu) continue;
    const std::vector<GroupRow>& rows = tables[group].rows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].has_times) continue;
      PmuTime& of = readings[reading_of(row)].pmu_times[group];
      of.enabled += seconds_of(rows[row].times.enabled);
      of.running += seconds_of(rows[row].times.running);
    }
  }
}

}  // namespace

std::vector<Measure> measures_of(const ScopePlan& plan, Scope scope, std::size_t max) {
  std::vector<Measure> measures;
  for (const PublishedEvent& column : plan.columns) {
    if (scope == Scope::kCpu && is_clock(column.event)) continue;
    auto same = std::find_if(measures.begin(), measures.end(),
                             [&](const Measure& other) { return is_of(other, column.event); });
    if (same == measures.end()) same = measures.insert(same, {role_of(column.event), {}});
    add_column(column, *same);
  }
  std::stable_sort(measures.begin(), measures.end(), [](const Measure& a, const Measure& b) {
    return std::pair(rank_of(a), a.role) < std::pair(rank_of(b), b.role);
  });
  if (measures.size() > max) measures.resize(max);
  return measures;
}

Reading read_host(const collect::Snapshot& snapshot, const std::vector<Measure>& measures) {
  const auto whole = [](std::size_t) { return std::size_t{0}; };
  std::vector<Reading> host = read(1, snapshot.cpu, measures, whole);
  add_pmu_times(snapshot.plan->cpu, snapshot.cpu, host, whole);
  return std::move(host.front());
}

std::vector<Reading> read_cgroups(const collect::Snapshot& snapshot,
                                  const std::vector<Measure>& measures) {
  const std::vector<collect::CgroupTarget>& targets = snapshot.targets->cgroups;
  const auto target_of = [&](std::size_t row) { return snapshot.cgroup_rows[row].target; };
  std::vector<Reading> readings = read(targets.size(), snapshot.cgroup, measures, target_of);
  add_pmu_times(snapshot.plan->cgroup, snapshot.cgroup, readings, target_of);
  for (std::size_t i = 0; i < readings.size(); ++i) readings[i].series = targets[i].series;
  return readings;
}

std::vector<Reading> read_sums(const collect::SumTable& table,
                               const std::vector<Measure>& measures) {
  std::vector<Reading> readings =
      read(table.rows.size(), table.groups, measures, [](std::size_t row) { return row; });
  for (std::size_t row = 0; row < readings.size(); ++row) {
    const collect::SumRow& of = table.rows[row];
    readings[row].series = static_cast<std::uint64_t>(of.since.time_since_epoch().count());
    if (of.is_new) readings[row].totals.assign(measures.size(), std::nullopt);
  }
  return readings;
}

}  // namespace pex::history
