#include "daemon/status/status.h"

#include <algorithm>
#include <array>

#include "exposition/metric_names.h"

namespace pex::daemon {
namespace {

using collect::GroupRow;
using collect::GroupTable;
using collect::Snapshot;
using Measure = history::Activity::Measure;

/// What is published of one group, each event once.
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

/// A cgroup that is gone lingers with its times, which are no news.
bool is_there(const Snapshot& snapshot, Scope scope, std::size_t row) {
  if (scope == Scope::kCpu) return true;
  return snapshot.targets->cgroups[snapshot.cgroup_rows[row].target].cgroup != nullptr;
}

void add_counts(const Snapshot& snapshot, std::size_t index, Status::Group& group) {
  const GroupTable& table = (group.scope == Scope::kCpu ? snapshot.cpu : snapshot.cgroup)[index];
  group.targets.emplace();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (is_there(snapshot, group.scope, row)) add_row(table.rows[row], group);
    const bool is_counted_here = table.rows[row].value != GroupRow::Value::kNotHere;
    if (group.scope == Scope::kCpu && is_counted_here) ++group.targets->rows;
  }
  if (group.scope == Scope::kCgroup) group.targets->rows = snapshot.targets->present;
}

void add_groups(const Known& known, const collect::ScopePlan& plan, Scope scope, Status& status) {
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
    if (known.snapshot != nullptr) add_counts(*known.snapshot, index, group);
    group.recent_running_ratio = known.activity.recent_running_ratio(scope, index);
    status.groups.push_back(std::move(group));
  }
}

/// Of the snapshot, as long as there is one: after a reload it is still that of the plan before.
const collect::CountingPlan& plan_of(const Known& known) {
  return known.snapshot == nullptr ? known.plan.counting : *known.snapshot->plan;
}

void add_once(const std::string& text, std::vector<std::string>& texts) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

std::vector<Status::NotCounted> not_counted(const plan::Plan& plan) {
  std::vector<Status::NotCounted> reasons;
  for (const auto& [reason, events, groups] : by_reason(plan)) {
    reasons.push_back({events, groups, reason.code,
                       describe(Error{reason.code, reason.attempted, {}}), reason.remedy});
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

/// Those that are left out as well.
std::vector<int> online_of(const collect::MachineCpus& cpus) {
  std::vector<int> online = cpus.online;
  online.insert(online.end(), cpus.left_out.begin(), cpus.left_out.end());
  std::sort(online.begin(), online.end());
  return online;
}

std::optional<double> rate(const history::Rates& rates, Measure measure) {
  switch (measure) {
    case Measure::kCpuTime:
      return rates.cpus;
    case Measure::kCycles:
      return rates.cycles;
    case Measure::kInstructions:
      break;
  }
  return rates.instructions;
}

struct Ranked {
  const collect::CgroupTarget* cgroup;
  history::Rates recent;
};

std::vector<Ranked> known_by(Measure measure, const std::vector<Ranked>& all) {
  std::vector<Ranked> known;
  for (const Ranked& each : all) {
    if (rate(each.recent, measure)) known.push_back(each);
  }
  return known;
}

/// Falling; equal ones by path, so that idle cgroups keep their places.
void keep_busiest(Measure measure, std::vector<Ranked>& ranked) {
  const std::size_t most = std::min(ranked.size(), Status::kMaxBusy);
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(most);
  std::partial_sort(ranked.begin(), end, ranked.end(), [&](const Ranked& a, const Ranked& b) {
    const auto of_a = rate(a.recent, measure);
    const auto of_b = rate(b.recent, measure);
    return of_a != of_b ? of_a > of_b : a.cgroup->path < b.cgroup->path;
  });
  ranked.erase(end, ranked.end());
}

Status::BusyCgroup busy_cgroup(const Ranked& ranked, Measure measure,
                               const history::Activity& activity) {
  const collect::CgroupTarget& target = *ranked.cgroup;
  Status::BusyCgroup busy;
  busy.path = target.path;
  busy.labels = target.description->identity;
  const std::vector<cgroup::Label>& more = target.description->information;
  busy.labels.insert(busy.labels.end(), more.begin(), more.end());
  busy.is_gone = target.cgroup == nullptr;
  busy.recent = ranked.recent;
  busy.points = activity.points_of_cgroup(target.path, measure);
  return busy;
}

void add_busiest(const Snapshot& snapshot, const history::Activity& activity, Status::Use& use) {
  std::vector<Ranked> all;
  for (const collect::CgroupTarget& target : snapshot.targets->cgroups) {
    all.push_back({&target, activity.recent_of_cgroup(target.path)});
  }
  for (const Measure measure : {Measure::kCpuTime, Measure::kCycles}) {
    std::vector<Ranked> ranked = known_by(measure, all);
    if (ranked.empty()) continue;
    use.ranked_by = measure;
    keep_busiest(measure, ranked);
    for (const Ranked& each : ranked) {
      use.cgroups.push_back(busy_cgroup(each, measure, activity));
    }
    return;
  }
}

Status::Use use_of(const Known& known) {
  Status::Use use;
  use.recent = known.activity.recent();
  use.span = known.activity.span();
  use.ages = known.activity.ages();
  use.host = known.activity.recent_of_host();
  use.host_cycles = known.activity.points_of_host(Measure::kCycles);
  if (known.snapshot != nullptr) add_busiest(*known.snapshot, known.activity, use);
  return use;
}

Status::Cgroups cgroups_of(const collect::TargetSet& targets,
                           const collect::PollReport::State& last) {
  Status::Cgroups cgroups;
  cgroups.directories = last.cgroup_directories;
  cgroups.counted = targets.present;
  cgroups.waiting = targets.waiting;
  cgroups.lingering = targets.cgroups.size() - targets.present;
  cgroups.left_out = targets.found->left_out;
  cgroups.unreadable = targets.found->unreadable.size();
  if (cgroups.left_out == 0) return cgroups;
  cgroups.left_out_by = targets.left_out_reason;
  cgroups.left_out_paths = targets.found->left_out_paths;
  return cgroups;
}

Status::Limits limits_of(const Known& known) {
  Status::Limits limits;
  if (known.process) {
    limits.open_files = known.process->open_fds;
    limits.max_open_files = known.process->max_fds;
  }
  if (known.snapshot != nullptr) {
    limits.open_events = known.polled.last.open_events;
    limits.series = collect::count_series(*known.snapshot);
  }
  limits.max_open_events = known.plan.budget.max_open_events;
  limits.max_series = known.plan.budget.max_series;
  limits.max_cgroups = known.plan.budget.max_cgroups;
  return limits;
}

void add_snapshot(const Known& known, Status& status) {
  const Snapshot& snapshot = *known.snapshot;
  status.last_poll =
      Status::Poll{known.polled.last.duration, Moment{snapshot.taken, known.polled_at},
                   known.polled.last.groups_off_pmu, known.polled.last.targets_in_turns};
  const collect::MachineCpus& cpus = *snapshot.targets->cpus;
  status.machine =
      Status::Machine{online_of(cpus), pmus_of(cpus), known.polled.last.late_cpus, cpus.left_out};
  status.cgroups = cgroups_of(*snapshot.targets, known.polled.last);
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

Status make_status(const Known& known) {
  Status status;
  status.version = known.version;
  status.now = known.now;
  status.started = known.started;
  status.interval = known.interval;
  status.polls = known.polled.polls;
  status.overruns = known.polled.overruns;
  status.reference = reference_of(known.plan);
  add_groups(known, plan_of(known).cpu, Scope::kCpu, status);
  add_groups(known, plan_of(known).cgroup, Scope::kCgroup, status);
  status.not_counted = not_counted(known.plan);
  status.remarks.assign(known.remarks.begin(), known.remarks.end());
  status.use = use_of(known);
  if (known.snapshot != nullptr) add_snapshot(known, status);
  status.cgroups_missed = known.polled.cgroups_missed;
  status.limits = limits_of(known);
  status.configuration = known.configuration;
  status.web_configuration = known.web_configuration;
  status.telemetry_path = known.telemetry_path;
  return status;
}

}  // namespace pex::daemon
