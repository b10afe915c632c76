#include "collect/snapshot.h"

namespace pex::collect {
namespace {

ScopeTable make_table(const ScopePlan& plan, std::size_t rows) {
  ScopeTable table;
  table.rows = rows;
  table.groups = plan.size();
  table.events = events_in(plan);
  table.group_rows.resize(rows * table.groups);
  table.totals.resize(rows * table.events);
  return table;
}

/// What is known of one group at one row while its parts are added up.
struct Evidence {
  bool failed = false;
  bool measured = false;
  bool counted = false;
  bool wanted = false;

  void add(const TargetGroup& part) {
    failed = failed || part.has_failed();
    measured = measured || part.totals().measured();
    counted = counted || part.totals().counted();
    wanted = wanted || part.totals().wanted();
  }
  bool gives_a_value() const { return !failed && measured && (counted || !wanted); }
};

/// Adds up the parts of one row; `part_groups(part)` are the groups of one part, in plan order.
template <typename PartGroups>
void fill_row(ScopeTable& table, std::size_t row, std::size_t parts, PartGroups part_groups) {
  std::uint64_t* totals = table.totals.data() + row * table.events;
  for (std::size_t group = 0; group < table.groups; ++group) {
    GroupRow& sum = table.group_rows[row * table.groups + group];
    Evidence evidence;
    std::size_t events = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const TargetGroup& here = part_groups(part)[group];
      const std::span<const std::uint64_t> counts = here.totals().events();
      events = counts.size();
      for (std::size_t event = 0; event < events; ++event) totals[event] += counts[event];
      sum.enabled += here.totals().enabled();
      sum.running += here.totals().running();
      evidence.add(here);
    }
    sum.has_value = evidence.gives_a_value();
    sum.has_times = evidence.measured;
    totals += events;
  }
}

}  // namespace

Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              std::span<const PollCycle* const> cycles) {
  Snapshot snapshot;
  snapshot.taken = std::chrono::system_clock::now();
  snapshot.cpu = make_table(plan->cpu, cycles.size());
  snapshot.cgroup = make_table(plan->cgroup, targets->cgroups.size());
  for (std::size_t row = 0; row < cycles.size(); ++row) {
    snapshot.cpus.push_back(cycles[row]->cpu());
    fill_row(snapshot.cpu, row, 1, [&](std::size_t) { return cycles[row]->cpu_groups(); });
  }
  for (std::size_t row = 0; row < targets->cgroups.size(); ++row) {
    fill_row(snapshot.cgroup, row, cycles.size(),
             [&](std::size_t part) { return cycles[part]->cgroup_groups(row); });
  }
  snapshot.plan = std::move(plan);
  snapshot.targets = std::move(targets);
  return snapshot;
}

}  // namespace pex::collect
