#include "collect/snapshot.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>

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

/// What a row makes of parts that have not had the PMU. Those of a CPU's row always want it; a
/// cgroup comes to one CPU after the other.
enum class Rule { kAllParts, kAnyPart };

/// What is known of one group at one row while its parts are added up.
struct Knowledge {
  bool failed = false;
  bool unreadable = false;
  bool measured = false;
  bool counted = false;
  bool wanted = false;
  bool never_counted = false;  ///< some part
  bool lacks_the_pmu = false;
  bool was_on_pmu = false;
  unsigned polls_counted = 0;  ///< since the first part was
  unsigned polls_waited = 0;   ///< by the part that has waited longest for its first turn

  void add(const GroupState& part) {
    failed = failed || part.has_failed;
    unreadable = unreadable || part.is_unreadable;
    measured = measured || part.measured;
    counted = counted || part.counted;
    wanted = wanted || part.wanted;
    lacks_the_pmu = lacks_the_pmu || part.lacks_the_pmu;
    was_on_pmu = was_on_pmu || part.was_on_pmu;
    polls_counted = std::max(polls_counted, part.polls_counted);
    if ((part.measured || part.wanted) && !part.counted) {
      never_counted = true;
      polls_waited = std::max(polls_waited, part.polls_wanted);
    }
  }
  GroupRow::Value value(Rule rule) const {
    if (!failed && !unreadable && !measured && !wanted) return GroupRow::Value::kNotHere;
    const bool enough = rule == Rule::kAllParts ? has_all_parts() : has_any_part();
    const bool known = !failed && !unreadable && measured && enough;
    return known ? GroupRow::Value::kKnown : GroupRow::Value::kNone;
  }

 private:
  /// A part that came when others were counted already joins later.
  bool has_all_parts() const {
    const bool waits_from_the_start = never_counted && polls_waited >= polls_counted;
    return !waits_from_the_start && !lacks_the_pmu;
  }
  bool has_any_part() const { return (counted || !wanted) && (was_on_pmu || !lacks_the_pmu); }
};

/// Adds up the `parts` of one row; `group_of(part)` is the group in one of them.
template <typename GroupOf>
void fill_row(GroupTable& table, std::size_t row, std::size_t parts, Rule rule, GroupOf group_of) {
  GroupRow& sum = table.rows[row];
  Knowledge known;
  for (std::size_t part = 0; part < parts; ++part) {
    const GroupView here = group_of(part);
    for (std::size_t event = 0; event < here.totals.size(); ++event) {
      table.total(row, event).add(here.totals[event]);
    }
    sum.times.add(here.state.times);
    sum.wanted_on += here.state.is_wanted ? 1 : 0;
    sum.counted_on +=
        here.state.is_wanted && here.state.is_open && !here.state.is_unreadable ? 1 : 0;
    known.add(here.state);
  }
  sum.value = known.value(rule);
  const bool lacks_for_good = known.failed && sum.wanted_on == 0;  // gone before all was open
  sum.has_times = (known.measured || known.wanted) && !lacks_for_good;
}

/// The totals of one CPU, by the targets that are published: it may not know all of them yet.
class Part {
 public:
  Part(const CpuTotals& totals, const CountingPlan& plan, const TargetSet& targets)
      : totals_(totals), plan_(plan), targets_(targets) {
    const std::span<const std::uint64_t> known = totals.series();
    const auto is_same = [](const CgroupTarget& target, std::uint64_t series) {
      return target.series == series;
    };
    if (std::equal(targets.cgroups.begin(), targets.cgroups.end(), known.begin(), known.end(),
                   is_same)) {
      return;
    }
    for (const CgroupTarget& target : targets.cgroups) {
      const auto at = std::lower_bound(known.begin(), known.end(), target.series);
      const bool is_known = at != known.end() && *at == target.series;
      places_.push_back(is_known ? static_cast<std::size_t>(at - known.begin()) : kUnknown);
    }
  }

  int cpu() const { return totals_.cpu(); }

  GroupView cpu_group(std::size_t group) const {
    return totals_.is_known() ? totals_.cpu_group(group) : unopened(plan_.cpu.groups[group]);
  }
  GroupView cgroup_group(std::size_t target, std::size_t group) const {
    const std::size_t place = places_.empty() ? target : places_[target];
    if (place != kUnknown) return totals_.cgroup_group(place, group);
    if (!targets_.cgroups[target].cgroup) return {kNotHere, {}};
    return unopened(plan_.cgroup.groups[group]);
  }

 private:
  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
  static constexpr GroupState kUnopened{.is_wanted = true, .has_failed = true};
  static constexpr GroupState kNotHere{};

  /// What a late CPU is to count, and does not yet: a sum would lack it.
  GroupView unopened(const GroupPlan& group) const {
    const MachineCpus& cpus = *targets_.cpus;
    const bool is_wanted =
        cpus.is_online(cpu()) && cpus.counts_on(group.pmu, cpu(), group.left_out_cpus);
    return {is_wanted ? kUnopened : kNotHere, {}};
  }

  const CpuTotals& totals_;
  const CountingPlan& plan_;
  const TargetSet& targets_;
  std::vector<std::size_t> places_;  ///< of each target in the totals; empty: the same
};

/// `place` with only the numbers that name a part of this `aggregation`, so that equal ones are one
/// row.
host::CpuPlace reduced(const host::CpuPlace& place, Aggregation aggregation) {
  const std::span<const std::string_view> labels = labels_of(aggregation);
  host::CpuPlace named;
  for (const auto& [label, number] : host::kCpuPlaceParts) {
    const bool is_named = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (is_named) named.*number = place.*number;
  }
  return named;
}

/// Rows are in the order of these.
using PlaceNumbers = std::array<int, std::size(host::kCpuPlaceParts)>;

PlaceNumbers numbers_of(const host::CpuPlace& place) {
  PlaceNumbers numbers{};
  std::transform(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), numbers.begin(),
                 [&](const host::CpuPlacePart& part) { return place.*part.number; });
  return numbers;
}

HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus, std::span<const Part> parts) {
  std::map<PlaceNumbers, HostRow> rows;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int cpu = parts[part].cpu();
    const auto known = cpus.places.find(cpu);
    const host::CpuPlace place = reduced(
        known == cpus.places.end() ? host::CpuPlace{.cpu = cpu} : known->second, aggregation);
    HostRow& row = rows[numbers_of(place)];
    row.place = place;
    row.parts.push_back(part);
  }
  HostRows sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

void join_cpus(Snapshot& snapshot, const CountingPlan& plan, const MachineCpus& cpus,
               const EventModels& models, std::span<const Part> parts) {
  for (std::size_t group = 0; group < plan.cpu.groups.size(); ++group) {
    const Aggregation aggregation = plan.cpu.groups[group].aggregation;
    HostRows& rows = snapshot.host_rows[static_cast<std::size_t>(aggregation)];
    if (rows.empty()) rows = host_rows(aggregation, cpus, parts);
    GroupTable& table = snapshot.cpu.emplace_back(
        make_table(plan.cpu.groups[group], models.cpu[group], rows.size()));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::vector<std::size_t>& of_row = rows[row].parts;
      fill_row(table, row, of_row.size(), Rule::kAllParts,
               [&](std::size_t part) { return parts[of_row[part]].cpu_group(group); });
    }
  }
}

std::vector<CgroupRow> cgroup_rows(const CountingPlan& plan, std::size_t cgroups,
                                   std::span<const Part> parts) {
  std::vector<CgroupRow> rows;
  for (std::size_t target = 0; target < cgroups; ++target) {
    if (!plan.cgroup_per_cpu) {
      rows.push_back({target, {}});
      continue;
    }
    for (const Part& part : parts) rows.push_back({target, part.cpu()});
  }
  return rows;
}

void join_cgroups(Snapshot& snapshot, const CountingPlan& plan, std::size_t cgroups,
                  const EventModels& models, std::span<const Part> parts) {
  snapshot.cgroup_rows = cgroup_rows(plan, cgroups, parts);
  const std::size_t of_row = plan.cgroup_per_cpu ? 1 : parts.size();
  for (std::size_t group = 0; group < plan.cgroup.groups.size(); ++group) {
    GroupTable& table = snapshot.cgroup.emplace_back(
        make_table(plan.cgroup.groups[group], models.cgroup[group], snapshot.cgroup_rows.size()));
    for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
      const std::size_t target = snapshot.cgroup_rows[row].target;
      const std::size_t first = plan.cgroup_per_cpu ? row % parts.size() : 0;
      fill_row(table, row, of_row, Rule::kAnyPart,
               [&](std::size_t part) { return parts[first + part].cgroup_group(target, group); });
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

Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              const EventModels& models, std::span<const CpuTotals* const> of_cpus) {
  std::vector<Part> parts;
  for (const CpuTotals* totals : of_cpus) parts.emplace_back(*totals, *plan, *targets);
  Snapshot snapshot;
  snapshot.taken = std::chrono::system_clock::now();
  join_cpus(snapshot, *plan, *targets->cpus, models, parts);
  join_cgroups(snapshot, *plan, targets->cgroups.size(), models, parts);
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
