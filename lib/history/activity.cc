#include "history/activity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace pex::history {
namespace {

/// Polls may be a little early or late; with this tolerance, a point is still made every kSpacing.
constexpr std::chrono::milliseconds kSlack{500};

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

std::optional<double> known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

/// Of the same event among `others`; nothing: there is none.
std::optional<std::size_t> place_of(const Measure& measure, const std::vector<Measure>& others) {
  const auto same = std::find_if(others.begin(), others.end(), [&](const Measure& other) {
    return other.event() == measure.event() && other.columns.size() == measure.columns.size();
  });
  if (same == others.end()) return {};
  return static_cast<std::size_t>(same - others.begin());
}

/// Whether any part of it counts from zero.
bool is_in_new_group(const Measure& measure, const collect::ScopePlan& now,
                     const collect::ScopePlan& before) {
  const auto is_new = [&](const collect::EventAt& part) {
    return !find_group(before, now.groups[part.group].id);
  };
  return std::any_of(measure.columns.begin(), measure.columns.end(), [&](const auto* column) {
    return std::any_of(column->parts.begin(), column->parts.end(), is_new);
  });
}

/// They are empty where the scope had no groups.
void follow_groups(const collect::ScopePlan& before, const collect::ScopePlan& now,
                   PmuTimes& times) {
  times.resize(before.groups.size());
  collect::follow_groups(before, now, times, [](const auto&) { return PmuTime{}; });
}

std::optional<double> ratio(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

/// On a grid, as far as polls allow.
bool Activity::is_due(Clock::time_point now) {
  if (last_ && now + kSlack < due_) return false;
  due_ = last_ ? due_ + kSpacing : now + kSpacing;
  if (due_ <= now + kSlack) due_ = now + kSpacing;
  return true;
}

void Activity::start(const collect::Snapshot& snapshot) {
  *this = Activity{};
  follow(snapshot);
  host_ = new_track(Scope::kCpu);
}

void Activity::follow(const collect::Snapshot& snapshot) {
  plan_ = snapshot.plan;
  since_ = snapshot.targets->since;
  measures_ = {measures_of(plan_->cpu, Scope::kCpu, kMaxMeasuresOfHost),
               measures_of(plan_->cgroup, Scope::kCgroup, kMaxMeasuresOfCgroup)};
}

void Activity::change(const collect::Snapshot& snapshot) {
  const std::shared_ptr<const collect::CountingPlan> plan = plan_;  // measures borrow from it
  const std::array<std::vector<Measure>, 2> measures_before = std::move(measures_);
  follow(snapshot);
  const Before of_cpu{plan->cpu, measures_before[index(Scope::kCpu)]};
  const Before of_cgroup{plan->cgroup, measures_before[index(Scope::kCgroup)]};
  change_scope(host_, Scope::kCpu, of_cpu);
  for (auto& [path, track] : cgroups_) change_scope(track, Scope::kCgroup, of_cgroup);
  for (auto& [key, track] : sums_) change_scope(track, Scope::kCgroup, of_cgroup);
  for (End& end : ends_) {
    follow_groups(plan->cpu, plan_->cpu, end.pmu_times[0]);
    follow_groups(plan->cgroup, plan_->cgroup, end.pmu_times[1]);
  }
}

/// Measures that both plans have keep their points. The totals of some of them begin again.
void Activity::change_scope(Track& track, Scope scope, const Before& before) const {
  const collect::ScopePlan& plan = scope == Scope::kCpu ? plan_->cpu : plan_->cgroup;
  const Track old = std::exchange(track, new_track(scope));
  track.is_current = old.is_current;
  track.reading = {old.reading.series, {}, old.reading.pmu_times};
  for (std::size_t measure = 0; measure < measures(scope).size(); ++measure) {
    const auto place = place_of(measures(scope)[measure], before.measures);
    const bool goes_on = place && !is_in_new_group(measures(scope)[measure], plan, before.plan);
    track.reading.totals.push_back(goes_on ? old.reading.totals[*place] : std::nullopt);
    if (!place) continue;
    std::copy_n(old.points.data() + *place * kPoints, kPoints,
                track.points.data() + measure * kPoints);
  }
  follow_groups(before.plan, plan, track.reading.pmu_times);
}

void Activity::add(const collect::Snapshot& snapshot, Clock::time_point now, const CpuTime& used) {
  if (snapshot.plan != plan_) {
    const bool goes_on = plan_ && since_ == snapshot.targets->since;
    goes_on ? change(snapshot) : start(snapshot);
  }
  if (!is_due(now)) return;
  if (last_) open_point(now, used);
  last_ = now;
  used_ = used;
  advance(host_, read_host(snapshot, measures(Scope::kCpu)), Scope::kCpu);
  advance_cgroups(snapshot);
  advance_sums(snapshot);
}

void Activity::open_point(Clock::time_point now, const CpuTime& used) {
  const auto growth = [](Seconds before, Seconds to_date) {
    return to_date >= before ? to_date - before : to_date;  // else it began again
  };
  ends_.push_back({now,
                   now - *last_,
                   {growth(used_.uncounted, used.uncounted), growth(used_.machine, used.machine)},
                   {PmuTimes(plan_->cpu.groups.size()), PmuTimes(plan_->cgroup.groups.size())}});
  if (ends_.size() > kPoints) ends_.pop_front();
  ++points_made_;
}

void Activity::advance_cgroups(const collect::Snapshot& snapshot) {
  std::vector<Reading> readings = read_cgroups(snapshot, measures(Scope::kCgroup));
  for (auto& [path, track] : cgroups_) track.is_current = false;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (snapshot.targets->cgroups[i].is_free()) continue;
    Track& track = cgroups_[snapshot.targets->cgroups[i].path];
    if (track.reading.series != readings[i].series) track = track_from_zero(readings[i]);
    advance(track, std::move(readings[i]), Scope::kCgroup);
    track.is_current = true;
  }
  std::erase_if(cgroups_, [](const auto& cgroup) { return !cgroup.second.is_current; });
}

/// A sum that is new may have any total: that of a cgroup that ran for long before its labels were
/// known. So its points begin with its second reading.
void Activity::advance_sums(const collect::Snapshot& snapshot) {
  std::map<SumKey, Track> before = std::exchange(sums_, {});
  for (std::size_t number = 0; number < snapshot.sums.size(); ++number) {
    if (plan_->sums[number].is_series) continue;
    const collect::SumTable& table = snapshot.sums[number];
    std::vector<Reading> readings = read_sums(table, measures(Scope::kCgroup));
    for (std::size_t row = 0; row < readings.size(); ++row) {
      const SumKey key{plan_->sums[number].name, table.rows[row].values};
      const auto known = before.find(key);
      const bool goes_on =
          known != before.end() && known->second.reading.series == readings[row].series;
      Track track = goes_on ? std::move(known->second) : new_track(Scope::kCgroup);
      if (!goes_on) track.reading.totals.resize(readings[row].totals.size());
      if (!ends_.empty()) fill_point(track, readings[row]);
      track.reading = std::move(readings[row]);
      sums_.emplace(key, std::move(track));
    }
  }
}

Activity::Track Activity::new_track(Scope scope) const {
  Track track;
  track.points.assign(measures(scope).size() * kPoints, kUnknown);
  return track;
}

/// The totals of a series begin at 0 when its cgroup appears, which is after the newest reading but
/// one. So all of them belong to the newest point, also those of a cgroup that is gone again.
Activity::Track Activity::track_from_zero(const Reading& reading) const {
  Track track = new_track(Scope::kCgroup);
  track.reading.series = reading.series;
  track.reading.totals.assign(reading.totals.size(), 0.0);
  track.reading.pmu_times.resize(reading.pmu_times.size());
  return track;
}

void Activity::advance(Track& track, Reading reading, Scope scope) {
  if (!ends_.empty()) {
    fill_point(track, reading);
    add_pmu_times(track.reading.pmu_times, reading.pmu_times, scope);
  }
  track.reading = std::move(reading);
}

/// From its last reading to this one. Unknown if a total is unknown at either end, or has fallen: a
/// part of the sum is gone.
void Activity::fill_point(Track& track, const Reading& reading) {
  const double length = ends_.back().length.count();
  for (std::size_t i = 0; i < reading.totals.size(); ++i) {
    const std::optional<double> before = track.reading.totals[i];
    const std::optional<double> now = reading.totals[i];
    const bool is_known = length > 0 && before && now && *now >= *before;
    track.points[i * kPoints + slot(0)] =
        is_known ? static_cast<float>((*now - *before) / length) : kUnknown;
  }
}

void Activity::add_pmu_times(const PmuTimes& before, const PmuTimes& now, Scope scope) {
  PmuTimes& sums = ends_.back().pmu_times[index(scope)];
  for (std::size_t group = 0; group < sums.size(); ++group) {
    if (now[group].enabled < before[group].enabled) continue;
    sums[group].enabled += now[group].enabled - before[group].enabled;
    sums[group].running += now[group].running - before[group].running;
  }
}

std::size_t Activity::slot(std::size_t age) const { return (points_made_ - 1 - age) % kPoints; }

/// As many of the newest points as take about kRecent; at least one, however long it took.
std::size_t Activity::recent_points() const {
  std::size_t points = 0;
  Seconds taken{};
  for (auto end = ends_.rbegin(); end != ends_.rend(); ++end, ++points) {
    if (points > 0 && taken + end->length / 2 > kRecent) break;
    taken += end->length;
  }
  return points;
}

Activity::Seconds Activity::recent() const {
  Seconds sum{};
  for (std::size_t age = 0; age < recent_points(); ++age) sum += end(age).length;
  return sum;
}

Activity::CpuTime Activity::recent_cpu_time() const {
  CpuTime sum{};
  for (std::size_t age = 0; age < recent_points(); ++age) {
    const CpuTime& used = end(age).used;
    sum = {sum.uncounted + used.uncounted, sum.machine + used.machine};
  }
  return sum;
}

Activity::Seconds Activity::span() const {
  Seconds sum{};
  for (const End& end : ends_) sum += end.length;
  return sum;
}

std::vector<Activity::Seconds> Activity::ages() const {
  std::vector<Seconds> ages;
  for (const End& end : ends_) ages.push_back(ends_.back().at - end.at);
  return ages;
}

Rates Activity::recent_of(const Track& track, Scope scope) const {
  struct Mean {
    double sum = 0;
    double length = 0;
    void add(double value, double during) {
      sum += value * during;
      length += during;
    }
  };
  const std::vector<Measure>& measures = this->measures(scope);
  std::vector<Mean> means(measures.size());
  Mean cycles_with_instructions;
  Mean instructions_with_cycles;
  for (std::size_t age = 0; age < recent_points(); ++age) {
    const double length = end(age).length.count();
    std::optional<double> cycles;
    std::optional<double> instructions;
    for (std::size_t i = 0; i < measures.size(); ++i) {
      const std::optional<double> point = known(track.points[i * kPoints + slot(age)]);
      if (point) means[i].add(*point, length);
      if (measures[i].role == Role::kCycles) cycles = point;
      if (measures[i].role == Role::kInstructions) instructions = point;
    }
    if (!cycles || !instructions) continue;
    cycles_with_instructions.add(*cycles, length);
    instructions_with_cycles.add(*instructions, length);
  }
  Rates rates;
  for (const Mean& mean : means) rates.per_second.push_back(ratio(mean.sum, mean.length));
  rates.instructions_per_cycle = ratio(instructions_with_cycles.sum, cycles_with_instructions.sum);
  return rates;
}

/// All are unknown without a track.
Activity::Points Activity::points_of(const Track* track, std::size_t measure) const {
  if (track == nullptr) return Points(ends_.size());
  Points points;
  for (std::size_t age = ends_.size(); age-- > 0;) {
    points.push_back(known(track->points[measure * kPoints + slot(age)]));
  }
  return points;
}

Rates Activity::recent_of_host() const { return recent_of(host_, Scope::kCpu); }

Rates Activity::recent_of_cgroup(const std::string& path) const {
  return recent_of_cgroups(find(cgroups_, path));
}

Rates Activity::recent_of_sum(const std::string& name,
                              const std::vector<std::string>& values) const {
  return recent_of_cgroups(find(sums_, {name, values}));
}

Rates Activity::recent_of_cgroups(const Track* track) const {
  if (track != nullptr) return recent_of(*track, Scope::kCgroup);
  return {std::vector<std::optional<double>>(measures(Scope::kCgroup).size()), {}};
}

Activity::Points Activity::points_of_host(std::size_t measure) const {
  return points_of(&host_, measure);
}

Activity::Points Activity::points_of_cgroup(const std::string& path, std::size_t measure) const {
  return points_of(find(cgroups_, path), measure);
}

Activity::Points Activity::points_of_sum(const std::string& name,
                                         const std::vector<std::string>& values,
                                         std::size_t measure) const {
  return points_of(find(sums_, {name, values}), measure);
}

std::optional<double> Activity::recent_running_ratio(Scope scope, std::size_t group) const {
  PmuTime sum;
  for (std::size_t age = 0; age < recent_points(); ++age) {
    const PmuTimes& pmu_times = end(age).pmu_times[index(scope)];
    if (group >= pmu_times.size()) return {};
    sum.enabled += pmu_times[group].enabled;
    sum.running += pmu_times[group].running;
  }
  return ratio(sum.running, sum.enabled);
}

}  // namespace pex::history
