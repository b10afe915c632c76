#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/boot_clock.h"
#include "count/totals.h"
#include "host/cpu_place.h"
#include "targets/counting_plan.h"
#include "targets/targets.h"

namespace pex::collect {

struct StateCounts;

/// The totals of one group at one row: a part of the machine (Aggregation), or a cgroup, summed
/// over all CPUs or on one of them.
struct GroupRow {
  enum class Value {
    kNotHere,  ///< not counted at this row, for example on a CPU of another PMU, or not published
    kNone,     ///< has not had the PMU (Ledger), or a part of it cannot be counted: not zero
    kKnown,
  };
  Value value = Value::kNotHere;
  bool has_times = false;  ///< false: never enabled nor read, so the times are unknown too
  GroupTimes times;
  std::size_t wanted_on = 0;   ///< CPUs on which it should be counted now
  std::size_t counted_on = 0;  ///< those of them where it is open and readable; if fewer, the row
                               ///< has no value

  /// From the states of its CPUs. `is_counted`: often enough on the PMU.
  void settle(const StateCounts& cpus, bool is_counted);
};

/// The totals of one group at all rows.
struct GroupTable {
  std::size_t events = 0;
  /// Not all that happened was observed, at some row, or it can lose the PMU: so it has evidence.
  bool is_estimated = false;
  std::vector<GroupRow> rows;
  std::vector<EventTotal> totals;  ///< [event * rows + row], as published; only where the value is
                                   ///< known
  /// For each event how far it follows the reference (EventModel); none without a reference, or if
  /// nothing was learned yet.
  std::vector<std::optional<double>> reference_weights;

  EventTotal& total(std::size_t row, std::size_t event) {
    return totals[event * rows.size() + row];
  }
  const EventTotal& total(std::size_t row, std::size_t event) const {
    return totals[event * rows.size() + row];
  }
  void add(std::size_t row, const GroupTimes& times, std::span<const EventTotal> of_events) {
    rows[row].times.add(times);
    for (std::size_t event = 0; event < of_events.size(); ++event) {
      total(row, event).add(of_events[event]);
    }
  }
  GroupSum sum(std::size_t row) const {
    GroupSum sum{rows[row].times, {}};
    for (std::size_t event = 0; event < events; ++event) sum.totals.push_back(total(row, event));
    return sum;
  }
};

/// One row of scope cpu. Only the numbers of its Aggregation in `place` are valid.
struct HostRow {
  host::CpuPlace place;
  std::vector<int> cpus;  ///< that are in its sum, rising
};
using HostRows = std::vector<HostRow>;

/// The parts of the machine that the CPUs in `counted`, which rise, are summed up in, by the
/// numbers of their places. A CPU whose place is not known is a part of its own.
HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   const std::vector<int>& counted);

/// Whether `cpu`, which need not be counted, is in the part of the machine that `row` sums up.
bool is_in(const HostRow& row, Aggregation aggregation, const MachineCpus& cpus, int cpu);

/// One row of scope cgroup.
struct CgroupRow {
  std::size_t target = 0;  ///< its slot, which may be free
  std::optional<int> cpu;  ///< nothing: the sum over all CPUs
};

/// Consecutive rows, from `first` up to `end`.
struct RowRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// A sum over cgroups.
struct SumRow {
  std::vector<std::string> values;  ///< of the labels of the SumPlan
  BootClock::time_point since;      ///< it began at 0
  std::size_t cgroups = 0;          ///< that are added to it now
  bool is_new = false;  ///< still published as 0 (SumPlan::zero_for), whatever was counted
  /// Of SumPlan::is_series: the labels of the series; else null.
  std::shared_ptr<const cgroup::Description> of_series = {};
};

/// The sums of one SumPlan, in the order of their values.
struct SumTable {
  std::vector<SumRow> rows;
  std::vector<GroupTable> groups;  ///< as plan->cgroup.groups
  std::size_t left_out = 0;        ///< cgroups that are in none, because there are SumPlan::max
};

/// When the totals of each group began, at 0, if that was after those of their rows: the plan did
/// not have it before.
struct GroupStarts {
  using Clock = BootClock;

  GroupStarts() = default;
  explicit GroupStarts(const CountingPlan& plan)
      : cpu(plan.cpu.groups.size()), cgroup(plan.cgroup.groups.size()) {}

  /// The groups that only `plan` has begin at `now`.
  void follow(const CountingPlan& before, const CountingPlan& plan, Clock::time_point now);

  std::vector<Clock::time_point> cpu;     ///< as plan->cpu.groups
  std::vector<Clock::time_point> cgroup;  ///< as plan->cgroup.groups; of sums too
};

/// All totals of one poll. Immutable once published.
struct Snapshot {
  std::uint64_t number = 0;  ///< greater than those of all made before; 0: it has none
  BootClock::time_point taken;
  std::shared_ptr<const CountingPlan> plan;
  std::shared_ptr<const TargetSet> targets;
  std::array<HostRows, kAggregations> host_rows;  ///< of the aggregations that groups use
  std::vector<CgroupRow> cgroup_rows;
  std::vector<GroupTable> cpu;     ///< as plan->cpu.groups
  std::vector<GroupTable> cgroup;  ///< as plan->cgroup.groups
  /// For each slot the number of the snapshot in which its rows last changed, if the plan and the
  /// layout of the targets are the same; empty without a number.
  std::vector<std::uint64_t> same_since;
  std::vector<SumTable> sums;  ///< as plan->sums
  GroupStarts starts;
  std::uint64_t sums_layout = 0;  ///< equal numbers of one plan: equal rows of all sums

  const HostRows& rows_of(Aggregation aggregation) const {
    return host_rows[static_cast<std::size_t>(aggregation)];
  }
};

/// Whether a part of the row is not counted. Its times are still published, and its coverage.
bool lacks_coverage(const GroupRow& row);

/// The published value of `column` at `row`: nothing if one of its parts has no value, or none is
/// counted there. `tables` are those of the column's scope.
inline std::optional<EventTotal> value_of(const PublishedEvent& column,
                                          std::span<const GroupTable> tables, std::size_t row) {
  std::optional<EventTotal> sum;
  for (const PublishedEvent::Part& part : column.parts) {
    const GroupTable& table = tables[part.group];
    switch (table.rows[row].value) {
      case GroupRow::Value::kNotHere:
        break;
      case GroupRow::Value::kNone:
        return {};
      case GroupRow::Value::kKnown:
        if (!sum) sum.emplace();
        sum->add(table.total(row, part.event));
    }
  }
  return sum;
}

/// Whether a column has evidence in addition to its value. `tables` are those of its scope.
bool is_estimated(const PublishedEvent& column, std::span<const GroupTable> tables);

/// CPU time of each target, as its counters know it: the enabled time of the group that has most;
/// of groups of one kind of core each, the sum over these.
std::vector<std::chrono::nanoseconds> counted_times(const Snapshot& snapshot);

/// Series of the snapshot.
std::size_t count_series(const Snapshot& snapshot);

/// If there are more series than `most`, groups that cannot lose the PMU are published without
/// evidence, for which no series are planned (series_of_group). True then.
bool limit_evidence(Snapshot& snapshot, std::size_t most);

}  // namespace pex::collect
