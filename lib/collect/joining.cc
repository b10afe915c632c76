#include "collect/joining.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <string_view>

#include "base/boot_clock.h"

namespace pex::collect {
namespace {

void set_reference_weights(GroupTable& table, const std::vector<estimate::EventModel>& models) {
  table.reference_weights.assign(table.events, std::nullopt);
  for (std::size_t event = 0; event < table.events; ++event) {
    const bool has_learned = models[event].reference_rate() > 0;
    if (has_learned) table.reference_weights[event] = models[event].reference_weight();
  }
}

using PartOfCpu = const GroupPart& (CpuTotals::*)(std::size_t group) const;

/// Whether a group is on any CPU. `part` is CpuTotals::of_cpu or of_cgroups.
bool is_estimated(std::span<const CpuTotals* const> cpus, PartOfCpu part, std::size_t group) {
  return std::any_of(cpus.begin(), cpus.end(), [&](const CpuTotals* cpu) {
    return (cpu->*part)(group).totals.is_estimated();
  });
}

GroupTable make_table(const GroupPlan& plan, const std::vector<estimate::EventModel>& models,
                      std::size_t rows) {
  GroupTable table;
  table.events = plan.estimated();
  table.rows.resize(rows);
  table.totals.resize(rows * table.events);
  set_reference_weights(table, models);
  return table;
}

void clear(GroupTable& table, std::size_t row) {
  table.rows[row] = {};
  for (std::size_t event = 0; event < table.events; ++event) table.total(row, event) = {};
}

/// How parts that have not had the PMU affect a row. Those of a CPU's row are always enabled; a
/// cgroup runs on one CPU after the other.
enum class Rule { kAllParts, kAnyPart };

/// The state of one group at one row while its parts are added up.
struct Knowledge {
  bool failed = false;
  bool unreadable = false;
  bool measured = false;
  bool counted = false;
  bool wanted = false;
  bool never_counted = false;  ///< of some part
  bool lacks_the_pmu = false;
  bool was_on_pmu = false;
  unsigned polls_counted = 0;  ///< since the first part was
  unsigned polls_waited = 0;   ///< by the part that has waited longest for the PMU

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
  /// A part that appears when others are counted already joins later.
  bool has_all_parts() const {
    const bool waits_from_the_start = never_counted && polls_waited >= polls_counted;
    return !waits_from_the_start && !lacks_the_pmu;
  }
  bool has_any_part() const { return (counted || !wanted) && (was_on_pmu || !lacks_the_pmu); }
};

/// A target that a late CPU has not opened yet, or has missed: a sum would lack it.
constexpr GroupState kUnopened{.is_wanted = true, .has_failed = true};
constexpr GroupState kMissed{.is_wanted = false, .has_failed = true};
constexpr GroupState kNotHere{};

void add_state(GroupRow& row, Knowledge& known, const GroupState& state) {
  row.wanted_on += state.is_wanted ? 1 : 0;
  row.counted_on += state.is_wanted && state.is_open && !state.is_unreadable ? 1 : 0;
  known.add(state);
}

void add_totals(GroupTable& table, std::size_t row, const GroupTotals& totals, std::size_t target) {
  table.rows[row].times.add(totals.times(target));
  for (std::size_t event = 0; event < table.events; ++event) {
    table.total(row, event).add(totals.total(target, event));
  }
}

/// What a cgroup did while its counters were closed is on none of the CPUs.
void add_passed_over(GroupRow& row, const CgroupTarget& target, std::size_t group) {
  if (target.passed_over.empty()) return;
  row.times.enabled = saturating_sum(row.times.enabled, target.passed_over[group]);
  row.times.unmeasured = saturating_sum(row.times.unmeasured, target.passed_over[group]);
}

/// Of an idle cgroup no group is opened: one that a reload has added counts from 0, and what the
/// cgroup does until it is opened is passed over.
void decide(GroupRow& row, const Knowledge& known, Rule rule, bool is_idle = false) {
  row.value = known.value(rule);
  if (is_idle && row.value == GroupRow::Value::kNotHere) row.value = GroupRow::Value::kKnown;
  const bool lacks_for_good = known.failed && row.wanted_on == 0;  // gone before all was open
  row.has_times = (known.measured || known.wanted) && !lacks_for_good;
}

std::uint64_t new_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// The number of targets and CPUs that are joined in about a millisecond.
constexpr std::size_t kTargetsOfAPiece = 16'384;

}  // namespace

/// The totals of one CPU, by the published targets: some may be unknown to it.
class Joining::Part {
 public:
  Part(const CpuTotals& totals, const CountingPlan& plan, const TargetSet& targets)
      : totals_(&totals), plan_(&plan), targets_(&targets) {}

  int cpu() const { return totals_->cpu(); }
  /// Those of the totals, if their targets are the published ones.
  TotalsStamp stamp() const {
    const std::span<const std::uint64_t> known = totals_->series();
    const bool is_same = std::equal(
        targets_->cgroups.begin(), targets_->cgroups.end(), known.begin(), known.end(),
        [](const CgroupTarget& target, std::uint64_t series) { return target.series == series; });
    return is_same ? totals_->stamp() : TotalsStamp{};
  }

  void add_cpu(GroupTable& table, std::size_t row, Knowledge& known, std::size_t group) const {
    const GroupPart& part = totals_->of_cpu(group);
    if (!part.is_known) {
      return add_state(table.rows[row], known, unknown(plan_->cpu, group, kUnopened));
    }
    add_totals(table, row, part.totals, 0);
    add_state(table.rows[row], known, part.states[0]);
  }

  void add_cgroup(GroupTable& table, std::size_t row, Knowledge& known, std::size_t group,
                  std::size_t target) const {
    if (targets_->cgroups[target].is_free()) return;
    const GroupPart& part = totals_->of_cgroups(group);
    const bool is_known = target < totals_->series().size() &&
                          totals_->series()[target] == targets_->cgroups[target].series;
    if (!is_known || !part.is_known) {
      const bool is_there = targets_->cgroups[target].is_counted();
      return add_state(table.rows[row], known,
                       unknown(plan_->cgroup, group, is_there ? kUnopened : kMissed));
    }
    add_totals(table, row, part.totals, target);
    add_state(table.rows[row], known, part.states[target]);
  }

 private:
  /// Of a group at a target that is not in the totals: `state`, where it is counted on this CPU.
  const GroupState& unknown(const ScopePlan& scope, std::size_t group,
                            const GroupState& state) const {
    const MachineCpus& cpus = *targets_->cpus;
    const GroupPlan& plan = scope.groups[group];
    const bool is_wanted =
        cpus.is_online(cpu()) && cpus.counts_on(plan.pmu, cpu(), plan.left_out_cpus);
    return is_wanted ? state : kNotHere;
  }

  const CpuTotals* totals_;
  const CountingPlan* plan_;
  const TargetSet* targets_;
};

namespace {

/// `place` with only the numbers that identify a part of this `aggregation`, so that equal ones are
/// one row.
host::CpuPlace reduced(const host::CpuPlace& place, Aggregation aggregation) {
  const std::span<const std::string_view> labels = labels_of(aggregation);
  host::CpuPlace named;
  for (const auto& [label, number] : host::kCpuPlaceParts) {
    const bool is_named = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (is_named) named.*number = place.*number;
  }
  return named;
}

/// The order of rows.
using PlaceNumbers = std::array<int, std::size(host::kCpuPlaceParts)>;

PlaceNumbers numbers_of(const host::CpuPlace& place) {
  PlaceNumbers numbers{};
  std::transform(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), numbers.begin(),
                 [&](const host::CpuPlacePart& part) { return place.*part.number; });
  return numbers;
}

HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   std::span<const CpuTotals* const> parts) {
  std::map<PlaceNumbers, HostRow> rows;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int cpu = parts[part]->cpu();
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

std::vector<CgroupRow> cgroup_rows(const CountingPlan& plan, std::size_t cgroups,
                                   std::span<const CpuTotals* const> parts) {
  std::vector<CgroupRow> rows;
  rows.reserve(cgroups * (plan.cgroup_per_cpu ? parts.size() : 1));
  for (std::size_t target = 0; target < cgroups; ++target) {
    if (!plan.cgroup_per_cpu) {
      rows.push_back({target, {}});
      continue;
    }
    for (const CpuTotals* part : parts) rows.push_back({target, part->cpu()});
  }
  return rows;
}

/// Whether `before` has the same rows, of the same targets, and what has changed since is known.
bool is_continued(const Snapshot& before, const Snapshot& now,
                  std::span<const CpuTotals* const> parts) {
  return before.plan == now.plan && before.targets->has_layout_of(*now.targets) &&
         std::equal(parts.begin(), parts.end(), before.joined.begin(), before.joined.end(),
                    [](const CpuTotals* part, const TotalsStamp& joined) {
                      return part->stamp().follows(joined);
                    });
}

}  // namespace

Joining::Joining(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
                 const EventModels& models, std::span<const CpuTotals* const> parts,
                 const std::shared_ptr<const Snapshot>& before) {
  snapshot_.number = new_number();
  snapshot_.taken = BootClock::now();
  snapshot_.plan = std::move(plan);
  snapshot_.targets = std::move(targets);
  if (before && is_continued(*before, snapshot_, parts)) before_ = before;
  parts_.reserve(parts.size());
  for (const CpuTotals* totals : parts) {
    Part& part = parts_.emplace_back(*totals, *snapshot_.plan, *snapshot_.targets);
    snapshot_.joined.push_back(part.stamp());
  }
  add_cpu_rows(models, parts);
  add_cgroup_rows(models, parts);
}

Joining::~Joining() = default;

void Joining::add_cpu_rows(const EventModels& models, std::span<const CpuTotals* const> parts) {
  const CountingPlan& plan = *snapshot_.plan;
  snapshot_.cpu.reserve(plan.cpu.groups.size());
  for (std::size_t group = 0; group < plan.cpu.groups.size(); ++group) {
    const Aggregation aggregation = plan.cpu.groups[group].aggregation;
    HostRows& rows = snapshot_.host_rows[static_cast<std::size_t>(aggregation)];
    if (rows.empty()) rows = host_rows(aggregation, *snapshot_.targets->cpus, parts);
    GroupTable& table = snapshot_.cpu.emplace_back(
        make_table(plan.cpu.groups[group], models.cpu[group], rows.size()));
    table.is_estimated = is_estimated(parts, &CpuTotals::of_cpu, group);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Knowledge known;
      for (const std::size_t part : rows[row].parts) {
        parts_[part].add_cpu(table, row, known, group);
      }
      decide(table.rows[row], known, Rule::kAllParts);
    }
  }
}

/// With the contents that they had before, if any.
void Joining::add_cgroup_rows(const EventModels& models, std::span<const CpuTotals* const> parts) {
  const CountingPlan& plan = *snapshot_.plan;
  if (before_) {
    snapshot_.cgroup_rows = before_->cgroup_rows;
    snapshot_.cgroup = before_->cgroup;
    snapshot_.same_since = before_->same_since;
  } else {
    snapshot_.cgroup_rows = cgroup_rows(plan, snapshot_.targets->cgroups.size(), parts);
    snapshot_.cgroup.reserve(plan.cgroup.groups.size());
  }
  const std::vector<CgroupTarget>& targets = snapshot_.targets->cgroups;
  const bool is_any_passed_over =
      !plan.cgroup_per_cpu &&
      std::any_of(targets.begin(), targets.end(),
                  [](const CgroupTarget& target) { return !target.passed_over.empty(); });
  for (std::size_t group = 0; group < plan.cgroup.groups.size(); ++group) {
    if (before_) {
      set_reference_weights(snapshot_.cgroup[group], models.cgroup[group]);
    } else {
      snapshot_.cgroup.push_back(make_table(plan.cgroup.groups[group], models.cgroup[group],
                                            snapshot_.cgroup_rows.size()));
    }
    snapshot_.cgroup[group].is_estimated =
        is_any_passed_over || is_estimated(parts, &CpuTotals::of_cgroups, group);
  }
  find_due(parts);
  const std::size_t work = due_.size() * parts_.size() * plan.cgroup.groups.size();
  pieces_ = std::min(due_.size(), (work + kTargetsOfAPiece - 1) / kTargetsOfAPiece);
}

void Joining::find_due(std::span<const CpuTotals* const> parts) {
  RowSet due{snapshot_.targets->cgroups.size()};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (before_ && parts[part]->stamp() != before_->joined[part]) {
      due.add_all(parts[part]->changed());
    }
  }
  if (!before_) due.add_all();
  snapshot_.same_since.resize(due.rows());
  due.for_each([&](std::size_t target) {
    due_.push_back(static_cast<std::uint32_t>(target));
    snapshot_.same_since[target] = snapshot_.number;
  });
}

/// A range of the targets that are due. The totals of each CPU are read in the order of memory; so
/// every sum is made in the order of the CPUs, by any thread.
void Joining::join(std::size_t piece) {
  const CountingPlan& plan = *snapshot_.plan;
  const std::size_t first = due_.size() * piece / pieces_;
  const std::size_t end = due_.size() * (piece + 1) / pieces_;
  const std::span<const std::uint32_t> due = std::span(due_).subspan(first, end - first);
  const std::size_t rows_of_target = plan.cgroup_per_cpu ? parts_.size() : 1;
  std::vector<Knowledge> known(due.size() * rows_of_target);
  for (std::size_t group = 0; group < snapshot_.cgroup.size(); ++group) {
    GroupTable& table = snapshot_.cgroup[group];
    const auto row_of = [&](std::size_t at) {  // of an element of `known`
      return due[at / rows_of_target] * rows_of_target + at % rows_of_target;
    };
    std::fill(known.begin(), known.end(), Knowledge{});
    for (std::size_t at = 0; before_ && at < known.size(); ++at) clear(table, row_of(at));
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const std::size_t row_of_part = plan.cgroup_per_cpu ? part : 0;
      for (std::size_t i = 0; i < due.size(); ++i) {
        const std::size_t row = due[i] * rows_of_target + row_of_part;
        Knowledge& of_row = known[i * rows_of_target + row_of_part];
        parts_[part].add_cgroup(table, row, of_row, group, due[i]);
      }
    }
    for (std::size_t at = 0; at < known.size(); ++at) {
      GroupRow& row = table.rows[row_of(at)];
      const CgroupTarget& target = snapshot_.targets->cgroups[due[at / rows_of_target]];
      if (!plan.cgroup_per_cpu) add_passed_over(row, target, group);
      decide(row, known[at], Rule::kAnyPart, target.is_idle);
      if (target.is_published) continue;
      row.value = GroupRow::Value::kNotHere;
      row.has_times = false;
    }
  }
}

bool Joining::work() {
  for (std::size_t piece = begun_++; piece < pieces_; piece = begun_++) {
    join(piece);
    if (++done_ == pieces_) return true;
  }
  return false;
}

Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              const EventModels& models, std::span<const CpuTotals* const> parts) {
  Joining joining{std::move(plan), std::move(targets), models, parts};
  (void)joining.work();
  return joining.take();
}

}  // namespace pex::collect
