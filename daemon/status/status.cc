#include "daemon/status/status.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "daemon/cli/words.h"
#include "daemon/status/ranking.h"
#include "exposition/metric_names.h"
#include "plan/availability.h"

namespace pex::daemon {
namespace {

using collect::GroupRow;
using collect::GroupTable;
using collect::Snapshot;

/// The published events of one group, each once.
std::vector<Status::Event> events_of(const collect::ScopePlan& plan, Scope scope,
                                     std::size_t group) {
  std::vector<Status::Event> events;
  for (const collect::PublishedEvent& column : plan.columns) {
    const auto is_here = [&](const collect::PublishedEvent::Part& part) {
      return part.group == group;
    };
    if (std::none_of(column.parts.begin(), column.parts.end(), is_here)) continue;
    events.push_back({column.event.name, exposition::family_name(scope, column.event)});
  }
  return events;
}

void add_row(const GroupRow& row, Status::Group& group) {
  group.targets->wanted += row.wanted_on;
  group.targets->counted += row.counted_on;
  if (!row.has_times) return;
  if (!group.times) group.times.emplace();
  group.times->add(row.times);
}

/// A gone cgroup lingers with its last times, which no longer describe the group.
bool is_there(const Snapshot& snapshot, Scope scope, std::size_t row) {
  if (scope == Scope::kCpu) return true;
  return snapshot.targets->cgroups[snapshot.cgroup_rows[row].target].cgroup != nullptr;
}

void add_counts(const Snapshot& snapshot, std::size_t index, Status::Group& group) {
  const GroupTable& table = (group.scope == Scope::kCpu ? snapshot.cpu : snapshot.cgroup)[index];
  group.targets = Status::Targets{};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (is_there(snapshot, group.scope, row)) add_row(table.rows[row], group);
    const bool is_counted_here = table.rows[row].value != GroupRow::Value::kNotHere;
    if (group.scope == Scope::kCpu && is_counted_here) ++group.targets->rows;
  }
  if (group.scope == Scope::kCgroup) group.targets->rows = snapshot.targets->present;
}

void add_groups(const StatusInputs& inputs, const collect::ScopePlan& plan, Scope scope,
                Status& status) {
  for (std::size_t index = 0; index < plan.groups.size(); ++index) {
    const collect::GroupPlan& planned = plan.groups[index];
    if (!planned.is_published) continue;
    Status::Group group;
    group.name = planned.name;
    group.scope = scope;
    if (scope == Scope::kCpu) group.aggregation = planned.aggregation;
    group.pmu = planned.pmu;
    group.events = events_of(plan, scope, index);
    group.shares_pmu = planned.shares_pmu;
    group.is_pinned = planned.mode.pinned;
    if (inputs.snapshot != nullptr) add_counts(*inputs.snapshot, index, group);
    group.recent_running_ratio = inputs.activity.recent_running_ratio(scope, index);
    status.groups.push_back(std::move(group));
  }
}

/// The plan of the snapshot, if there is one: after a reload it is still the previous plan.
const collect::CountingPlan& plan_of(const StatusInputs& inputs) {
  return inputs.snapshot == nullptr ? inputs.plan.counting : *inputs.snapshot->plan;
}

void add_once(const std::string& text, std::vector<std::string>& texts) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

std::vector<Status::NotCounted> not_counted(const plan::Plan& plan) {
  std::vector<Status::NotCounted> reasons;
  for (const auto& [reason, events, groups] : by_reason(plan)) {
    reasons.push_back({events, groups, reason.code, without_remedy(reason), worded(reason.remedy)});
  }
  return reasons;
}

std::vector<std::string> reference_of(const plan::Plan& plan) {
  std::vector<std::string> events;
  for (const plan::Reference::OfPmu& of : plan.reference.counters)
    add_once(of.counter.name, events);
  return events;
}

std::vector<Status::Pmu> pmus_of(const collect::MachineCpus& cpus) {
  std::vector<Status::Pmu> pmus;
  for (const auto& [name, of] : cpus.pmus) pmus.push_back({name, of});
  return pmus;
}

/// Includes those that are left out.
std::vector<int> online_of(const collect::MachineCpus& cpus) {
  std::vector<int> online = cpus.online;
  online.insert(online.end(), cpus.left_out.begin(), cpus.left_out.end());
  std::sort(online.begin(), online.end());
  return online;
}

Status::Rate rate_of(const history::Measure& measure, std::string metric,
                     std::optional<double> per_second) {
  return {
      {measure.event().name, std::move(metric)}, measure.event().unit, measure.role, per_second};
}

/// Of each measure, first that of the event they are ranked by. `name_of_metric` names the metric
/// of an event.
template <typename NameOfMetric>
void add_rates(const std::vector<history::Measure>& measures, const history::Rates& recent,
               std::size_t ranked_by, NameOfMetric name_of_metric, Status::Busy& busy) {
  for (std::size_t i = 0; i < measures.size(); ++i) {
    busy.rates.push_back(
        rate_of(measures[i], name_of_metric(measures[i].event()), recent.per_second[i]));
  }
  const auto first = busy.rates.begin() + static_cast<std::ptrdiff_t>(ranked_by);
  std::rotate(busy.rates.begin(), first, first + 1);
  busy.instructions_per_cycle = recent.instructions_per_cycle;
}

Status::BusyCgroup busy_cgroup(const collect::CgroupTarget& target, const history::Rates& recent,
                               std::size_t ranked_by, const history::Activity& activity) {
  Status::BusyCgroup busy;
  busy.path = target.path;
  busy.labels = target.description->identity;
  const std::vector<cgroup::Label>& more = target.description->information;
  busy.labels.insert(busy.labels.end(), more.begin(), more.end());
  busy.is_gone = target.cgroup == nullptr;
  const auto metric = [](const events::EventIdentity& event) {
    return exposition::family_name(Scope::kCgroup, event);
  };
  add_rates(activity.measures(Scope::kCgroup), recent, ranked_by, metric, busy);
  busy.points = activity.points_of_cgroup(target.path, ranked_by);
  return busy;
}

void add_busiest(const Snapshot& snapshot, const history::Activity& activity, Status::Use& use) {
  const std::vector<history::Measure>& measures = activity.measures(Scope::kCgroup);
  const std::vector<collect::CgroupTarget>& targets = snapshot.targets->cgroups;
  std::vector<Ranked> all;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].is_free() && targets[i].is_published)
      all.push_back({i, activity.recent_of_cgroup(targets[i].path)});
  }
  const Ranking ranking =
      rank(std::move(all), measures.size(), Status::kMaxBusy,
           [&](std::size_t a, std::size_t b) { return targets[a].path < targets[b].path; });
  if (!ranking.measure) return;
  use.ranked_by = measures[*ranking.measure].role;
  use.busy_cgroups = ranking.busy;
  use.idle_cgroups = ranking.idle;
  for (const auto& [place, recent] : ranking.busiest) {
    use.cgroups.push_back(busy_cgroup(targets[place], recent, *ranking.measure, activity));
  }
}

Status::BusySum busy_sum(const collect::SumPlan& plan, const collect::SumRow& row,
                         const history::Rates& recent, std::size_t ranked_by,
                         const history::Activity& activity) {
  Status::BusySum busy;
  for (std::size_t i = 0; i < plan.labels.size(); ++i) {
    busy.labels.push_back({plan.labels[i], row.values[i]});
  }
  busy.members = row.cgroups;
  const auto metric = [&](const events::EventIdentity& event) {
    return exposition::family_name(plan, event);
  };
  add_rates(activity.measures(Scope::kCgroup), recent, ranked_by, metric, busy);
  busy.points = activity.points_of_sum(plan.name, row.values, ranked_by);
  return busy;
}

void add_sums(const collect::SumPlan& plan, const collect::SumTable& table,
              const history::Activity& activity, Status::Sum& sum) {
  const std::vector<history::Measure>& measures = activity.measures(Scope::kCgroup);
  sum.numbers = Status::Sum::Numbers{.sums = table.rows.size(), .members_left_out = table.left_out};
  std::vector<Ranked> all;
  for (const collect::SumRow& row : table.rows) {
    sum.numbers->is_new += row.is_new ? 1 : 0;
    sum.numbers->members += row.cgroups;
    all.push_back({all.size(), activity.recent_of_sum(plan.name, row.values)});
  }
  const Ranking ranking = rank(std::move(all), measures.size(), Status::kMaxBusySums, std::less());
  if (!ranking.measure) return;
  sum.ranked_by = measures[*ranking.measure].role;
  sum.busy = ranking.busy;
  sum.idle = ranking.idle;
  for (const auto& [place, recent] : ranking.busiest) {
    sum.busiest.push_back(busy_sum(plan, table.rows[place], recent, *ranking.measure, activity));
  }
}

std::vector<Status::Sum> sums_of(const StatusInputs& inputs) {
  std::vector<Status::Sum> sums;
  for (const collect::SumPlan& plan : plan_of(inputs).sums) {
    if (plan.is_series) continue;  // the last one: each of its cgroups is shown
    Status::Sum& sum = sums.emplace_back();
    sum.name = plan.name;
    sum.labels = plan.labels;
    sum.max = plan.max;
    if (inputs.snapshot == nullptr) continue;
    add_sums(plan, inputs.snapshot->sums[sums.size() - 1], inputs.activity, sum);
  }
  return sums;
}

Status::Use use_of(const StatusInputs& inputs) {
  const history::Activity& activity = inputs.activity;
  Status::Use use;
  use.recent = activity.recent();
  use.span = activity.span();
  use.ages = activity.ages();
  const std::vector<history::Measure>& measures = activity.measures(Scope::kCpu);
  const history::Rates host = activity.recent_of_host();
  for (std::size_t i = 0; i < measures.size(); ++i) {
    use.host.push_back(
        {rate_of(measures[i], exposition::family_name(Scope::kCpu, measures[i].event()),
                 host.per_second[i]),
         activity.points_of_host(i)});
  }
  use.host_instructions_per_cycle = host.instructions_per_cycle;
  if (inputs.snapshot != nullptr) add_busiest(*inputs.snapshot, activity, use);
  return use;
}

/// Over the same time as the rates of cgroups, so that these add up to the machine with it; only
/// the largest parts are of the last interval.
Status::Uncounted uncounted_of(const cgroup::UncountedUse::Use& use,
                               const cgroup::Selection& selection,
                               const history::Activity& activity) {
  Status::Uncounted uncounted{.rate = use.rate, .largest = {}};
  const auto [recent, machine] = activity.recent_cpu_time();
  if (machine.count() > 0) uncounted.rate = {recent / activity.recent(), recent / machine};
  for (const cgroup::UncountedUse::Part& part : use.largest) {
    uncounted.largest.push_back({part.text(), part.rate, cgroup::why_uncounted(part, selection)});
  }
  return uncounted;
}

Status::Cgroups cgroups_of(const collect::TargetSet& targets,
                           const collect::PollReport::State& last,
                           const cgroup::Selection& selection, const history::Activity& activity) {
  Status::Cgroups cgroups;
  if (last.uncounted) cgroups.uncounted = uncounted_of(*last.uncounted, selection, activity);
  cgroups.directories = last.cgroup_directories;
  cgroups.counted = targets.present - targets.idle;
  cgroups.idle = targets.idle;
  cgroups.waiting = targets.waiting;
  cgroups.lingering = targets.lingering();
  cgroups.left_out = targets.found->left_out;
  cgroups.unreadable = targets.found->unreadable.size();
  cgroups.cpus_by_records = last.cpus_by_records;
  cgroups.cpus_by_descriptors = last.cpus_by_descriptors;
  cgroups.cpus_without_records = last.cpus_without_records;
  cgroups.why_no_records = last.why_no_records;
  if (cgroups.left_out == 0) return cgroups;
  cgroups.left_out_by = targets.left_out_reason;
  cgroups.left_out_setting = collect::bound_of(targets.left_out_reason).setting;
  cgroups.left_out_paths = targets.found->left_out_paths;
  return cgroups;
}

Status::Limits limits_of(const StatusInputs& inputs) {
  Status::Limits limits;
  if (inputs.process) {
    limits.open_files = inputs.process->open_fds;
    limits.max_open_files = inputs.process->max_fds;
  }
  if (inputs.snapshot != nullptr) {
    limits.open_events = inputs.last_poll.open_events;
    limits.series = collect::count_series(*inputs.snapshot);
  }
  limits.max_open_events = inputs.plan.budget.max_open_events;
  limits.max_series = inputs.plan.budget.max_series;
  limits.max_cgroups = inputs.plan.budget.max_cgroups;
  return limits;
}

void add_snapshot(const StatusInputs& inputs, Status& status) {
  const Snapshot& snapshot = *inputs.snapshot;
  const collect::PollReport::State& last = inputs.last_poll;
  status.last_poll = Status::Poll{last.duration, snapshot.taken, last.groups_off_pmu,
                                  last.targets_rotated_manually};
  const collect::MachineCpus& cpus = *snapshot.targets->cpus;
  status.machine = Status::Machine{online_of(cpus), pmus_of(cpus), last.late_cpus, cpus.left_out};
  status.cgroups =
      cgroups_of(*snapshot.targets, last, inputs.plan.cgroups.selection, inputs.activity);
}

}  // namespace

std::optional<double> Status::Group::coverage_ratio() const {
  if (!targets || targets->wanted == 0) return {};
  return static_cast<double>(targets->counted) / static_cast<double>(targets->wanted);
}

std::optional<double> Status::Group::running_ratio() const {
  if (!times || times->enabled <= std::chrono::nanoseconds{0}) return {};
  return static_cast<double>(times->running.count()) / static_cast<double>(times->enabled.count());
}

Status make_status(const StatusInputs& inputs) {
  Status status;
  static_cast<ProgramState&>(status) = inputs.program;
  status.reference = reference_of(inputs.plan);
  add_groups(inputs, plan_of(inputs).cpu, Scope::kCpu, status);
  add_groups(inputs, plan_of(inputs).cgroup, Scope::kCgroup, status);
  status.not_counted = not_counted(inputs.plan);
  for (const plan::LeftOutGroup& group : inputs.plan.left_out_groups) {
    status.left_out_groups.push_back({group.name, group.reason});
  }
  status.use = use_of(inputs);
  status.sums = sums_of(inputs);
  if (inputs.snapshot != nullptr) add_snapshot(inputs, status);
  status.limits = limits_of(inputs);
  return status;
}

}  // namespace pex::daemon
