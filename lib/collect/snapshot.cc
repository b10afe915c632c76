#include "collect/snapshot.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace pex::collect {
namespace {

GroupTable make_table(const GroupPlan& plan, const std::vector<estimate::EventModel>& models,
                      std::size_t rows) {
  GroupTable table;
  table.events = plan.estimated();
  table.rows.resize(rows);
  table.totals.resize(rows * table.events);
  table.reference_weights.resize(table.events);
  for (std::size_t event = 0; event < table.events; ++event) {
    const bool has_learned = models[event].reference_rate() > 0;
    if (has_learned) table.reference_weights[event] = models[event].reference_weight();
  }
  return table;
}

/// Whether a part that has never had the PMU leaves a row without a value, or joins it later. The
/// CPUs of a host row are its parts from the start; a cgroup comes to one CPU after the other.
enum class Starved { kSpoils, kJoinsLater };

/// What is known of one group at one row while its parts are added up.
struct Knowledge {
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
  GroupRow& sum = table.rows[row];
  Knowledge known;
  for (std::size_t part = 0; part < parts; ++part) {
    const TargetGroup& here = group_of(part);
    for (std::size_t event = 0; event < table.events; ++event) {
      table.total(row, event).add(here.totals()[event]);
    }
    sum.times.add(here.totals().times());
    sum.wanted_on += here.is_wanted() ? 1 : 0;
    sum.counted_on += here.is_wanted() && here.is_open() ? 1 : 0;
    known.add(here);
  }
  sum.value = known.value(rule);
  const bool lacks_for_good = known.failed && sum.wanted_on == 0;  // gone before all was open
  sum.has_times = (known.measured || known.wanted) && !lacks_for_good;
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
               const EventModels& models, std::span<const PollCycle* const> cycles) {
  for (std::size_t group = 0; group < plan.cpu.groups.size(); ++group) {
    const Aggregation aggregation = plan.cpu.groups[group].aggregation;
    HostRows& rows = snapshot.host_rows[static_cast<std::size_t>(aggregation)];
    if (rows.empty()) rows = host_rows(aggregation, cpus, cycles);
    GroupTable& table = snapshot.cpu.emplace_back(
        make_table(plan.cpu.groups[group], models.cpu[group], rows.size()));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::vector<std::size_t>& parts = rows[row].cycles;
      fill_row(table, row, parts.size(), Starved::kSpoils,
               [&](std::size_t part) -> const TargetGroup& {
                 return cycles[parts[part]]->cpu_groups()[group];
               });
    }
  }
}

std::vector<CgroupRow> cgroup_rows(const CountingPlan& plan, std::size_t cgroups,
                                   std::span<const PollCycle* const> cycles) {
  std::vector<CgroupRow> rows;
  for (std::size_t target = 0; target < cgroups; ++target) {
    if (!plan.cgroup_per_cpu) {
      rows.push_back({target, {}});
      continue;
    }
    for (const PollCycle* cycle : cycles) rows.push_back({target, cycle->cpu()});
  }
  return rows;
}

void join_cgroups(Snapshot& snapshot, const CountingPlan& plan, std::size_t cgroups,
                  const EventModels& models, std::span<const PollCycle* const> cycles) {
  snapshot.cgroup_rows = cgroup_rows(plan, cgroups, cycles);
  const std::size_t parts = plan.cgroup_per_cpu ? 1 : cycles.size();  // of a row
  for (std::size_t group = 0; group < plan.cgroup.groups.size(); ++group) {
    GroupTable& table = snapshot.cgroup.emplace_back(
        make_table(plan.cgroup.groups[group], models.cgroup[group], snapshot.cgroup_rows.size()));
    for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
      const std::size_t target = snapshot.cgroup_rows[row].target;
      const std::size_t first = plan.cgroup_per_cpu ? row % cycles.size() : 0;
      fill_row(table, row, parts, Starved::kJoinsLater,
               [&](std::size_t part) -> const TargetGroup& {
                 return cycles[first + part]->cgroup_groups(target)[group];
               });
    }
  }
}

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
  for (const Column& column : plan.columns) {
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

Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              const EventModels& models, std::span<const PollCycle* const> cycles) {
  Snapshot snapshot;
  snapshot.taken = std::chrono::system_clock::now();
  join_cpus(snapshot, *plan, *targets->cpus, models, cycles);
  join_cgroups(snapshot, *plan, targets->cgroups.size(), models, cycles);
  snapshot.plan = std::move(plan);
  snapshot.targets = std::move(targets);
  return snapshot;
}

std::size_t count_series(const Snapshot& snapshot) {
  const CountingPlan& plan = *snapshot.plan;
  return count_series(plan.cpu, plan.evidence, snapshot.cpu) +
         count_series(plan.cgroup, plan.evidence, snapshot.cgroup) +
         snapshot.targets->cgroups.size();  // a description each
}

}  // namespace pex::collect
