#include "collect/snapshot.h"

#include <map>
#include <tuple>

namespace pex::collect {
namespace {

GroupTable make_table(const GroupPlan& plan, std::size_t rows) {
  GroupTable table;
  table.events = plan.events.size();
  table.rows.resize(rows);
  table.totals.resize(rows * table.events);
  return table;
}

/// Whether a part that has never had the PMU leaves a row without a value, or joins it later. The
/// CPUs of a host row are its parts from the start; a cgroup comes to one CPU after the other.
enum class Starved { kSpoils, kJoinsLater };

/// What is known of one group at one row while its parts are added up.
struct Evidence {
  bool failed = false;
  bool measured = false;
  bool counted = false;
  bool wanted = false;
  bool starved = false;

  void add(const TargetGroup& part) {
    failed = failed || part.has_failed();
    measured = measured || part.totals().measured();
    counted = counted || part.totals().counted();
    wanted = wanted || part.totals().wanted();
    starved = starved || (part.totals().wanted() && !part.totals().counted());
  }
  GroupRow::Value value(Starved rule) const {
    if (!failed && !measured && !wanted) return GroupRow::Value::kNotHere;
    const bool enough = rule == Starved::kSpoils ? !starved : counted || !wanted;
    const bool known = !failed && measured && enough;
    return known ? GroupRow::Value::kKnown : GroupRow::Value::kNone;
  }
};

/// Adds up the `parts` of one row; `group_of(part)` is the group in one of them.
template <typename GroupOf>
void fill_row(GroupTable& table, std::size_t row, std::size_t parts, Starved rule,
              GroupOf group_of) {
  std::uint64_t* totals = table.totals.data() + row * table.events;
  GroupRow& sum = table.rows[row];
  Evidence evidence;
  for (std::size_t part = 0; part < parts; ++part) {
    const TargetGroup& here = group_of(part);
    const std::span<const std::uint64_t> counts = here.totals().events();
    for (std::size_t event = 0; event < table.events; ++event) {
      totals[event] = saturating_sum(totals[event], counts[event]);
    }
    sum.enabled += here.totals().enabled();
    sum.running += here.totals().running();
    evidence.add(here);
  }
  sum.value = evidence.value(rule);
  sum.has_times = evidence.measured;
}

/// `place` with only what `aggregation` tells apart, so that equal ones are one row.
host::CpuPlace reduced(const host::CpuPlace& place, Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kCpu:
      return {.cpu = place.cpu};
    case Aggregation::kCore:
      return {.core = place.core, .die = place.die, .package = place.package};
    case Aggregation::kDie:
      return {.die = place.die, .package = place.package};
    case Aggregation::kPackage:
      return {.package = place.package};
    case Aggregation::kNode:
      return {.node = place.node};
    case Aggregation::kHost:
      break;
  }
  return {};
}

HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   std::span<const PollCycle* const> cycles) {
  using Key = std::tuple<int, int, int, int, int>;
  std::map<Key, HostRow> rows;
  for (std::size_t cycle = 0; cycle < cycles.size(); ++cycle) {
    const auto known = cpus.places.find(cycles[cycle]->cpu());
    const host::CpuPlace place = reduced(
        known == cpus.places.end() ? host::CpuPlace{.cpu = cycles[cycle]->cpu()} : known->second,
        aggregation);
    HostRow& row = rows[{place.node, place.package, place.die, place.core, place.cpu}];
    row.place = place;
    row.cycles.push_back(cycle);
  }
  HostRows sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

void join_cpus(Snapshot& snapshot, const CountingPlan& plan, const MachineCpus& cpus,
               std::span<const PollCycle* const> cycles) {
  for (std::size_t group = 0; group < plan.cpu.groups.size(); ++group) {
    const Aggregation aggregation = plan.cpu.groups[group].aggregation;
    HostRows& rows = snapshot.host_rows[static_cast<std::size_t>(aggregation)];
    if (rows.empty()) rows = host_rows(aggregation, cpus, cycles);
    GroupTable& table = snapshot.cpu.emplace_back(make_table(plan.cpu.groups[group], rows.size()));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::vector<std::size_t>& parts = rows[row].cycles;
      fill_row(table, row, parts.size(), Starved::kSpoils,
               [&](std::size_t part) -> const TargetGroup& {
                 return cycles[parts[part]]->cpu_groups()[group];
               });
    }
  }
}

void join_cgroups(Snapshot& snapshot, const CountingPlan& plan, std::size_t cgroups,
                  std::span<const PollCycle* const> cycles) {
  for (std::size_t group = 0; group < plan.cgroup.groups.size(); ++group) {
    GroupTable& table =
        snapshot.cgroup.emplace_back(make_table(plan.cgroup.groups[group], cgroups));
    for (std::size_t row = 0; row < cgroups; ++row) {
      fill_row(table, row, cycles.size(), Starved::kJoinsLater,
               [&](std::size_t part) -> const TargetGroup& {
                 return cycles[part]->cgroup_groups(row)[group];
               });
    }
  }
}

std::size_t count_series(const ScopePlan& plan, std::span<const GroupTable> tables) {
  std::size_t series = 0;
  for (const GroupTable& table : tables) {
    for (const GroupRow& row : table.rows) series += row.has_times ? 2 : 0;  // enabled, running
  }
  for (const Column& column : plan.columns) {
    const std::size_t rows = tables[column.parts.front().group].rows.size();
    for (std::size_t row = 0; row < rows; ++row) series += value_of(column, tables, row) ? 1 : 0;
  }
  return series;
}

}  // namespace

std::optional<std::uint64_t> value_of(const Column& column, std::span<const GroupTable> tables,
                                      std::size_t row) {
  std::optional<std::uint64_t> sum;
  for (const Column::Part& part : column.parts) {
    const GroupTable& table = tables[part.group];
    switch (table.rows[row].value) {
      case GroupRow::Value::kNotHere:
        break;
      case GroupRow::Value::kNone:
        return {};
      case GroupRow::Value::kKnown:
        sum = saturating_sum(sum.value_or(0), table.total(row, part.event));
    }
  }
  return sum;
}

Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              std::span<const PollCycle* const> cycles) {
  Snapshot snapshot;
  snapshot.taken = std::chrono::system_clock::now();
  join_cpus(snapshot, *plan, *targets->cpus, cycles);
  join_cgroups(snapshot, *plan, targets->cgroups.size(), cycles);
  snapshot.plan = std::move(plan);
  snapshot.targets = std::move(targets);
  return snapshot;
}

std::size_t count_series(const Snapshot& snapshot) {
  return count_series(snapshot.plan->cpu, snapshot.cpu) +
         count_series(snapshot.plan->cgroup, snapshot.cgroup);
}

}  // namespace pex::collect
