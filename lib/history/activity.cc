#include "history/activity.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace pex::history {
namespace {

using collect::GroupRow;
using collect::GroupTable;
using collect::PublishedEvent;
using collect::ScopePlan;

/// By Activity::Measure. Not of another unit or worth: the operator may have given the event one.
struct MeasureEntry {
  std::string_view event;
  Unit unit;
  double scale;
};
constexpr MeasureEntry kMeasureRows[Activity::kMeasures] = {{"task-clock", Unit::kSeconds, 1e-9},
                                                            {"cycles", Unit::kEvents, 1},
                                                            {"instructions", Unit::kEvents, 1}};

/// Polls come a little early or late; with this, a point is made every kSpacing all the same.
constexpr std::chrono::milliseconds kSlack{500};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

bool measures(const PublishedEvent& column, const MeasureEntry& row) {
  return column.event.name == row.event && column.event.unit == row.unit &&
         column.event.scale == row.scale;
}

/// One for each kind of CPU where there are several; none when nothing counts it. What is counted
/// twice, in two groups, is taken once.
std::vector<const PublishedEvent*> columns_of(const ScopePlan& plan, const MeasureEntry& row) {
  std::vector<const PublishedEvent*> columns;
  for (const PublishedEvent& column : plan.columns) {
    const auto is_same = [&](const PublishedEvent* other) {
      return other->event.labels == column.event.labels;
    };
    if (!measures(column, row) || std::any_of(columns.begin(), columns.end(), is_same)) continue;
    columns.push_back(&column);
  }
  return columns;
}

/// A sum over rows, as good as the worst of them.
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

template <typename Turns>
void add_times(const ScopePlan& plan, std::span<const GroupTable> tables, std::size_t group,
               std::size_t row, std::vector<Turns>& turns) {
  const GroupRow& of = tables[group].rows[row];
  if (!plan.groups[group].shares_pmu || !of.has_times) return;
  turns[group].enabled += seconds(of.times.enabled);
  turns[group].running += seconds(of.times.running);
}

std::optional<double> known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<double> ratio(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

Activity::Reading Activity::read_host(const collect::Snapshot& snapshot) {
  const ScopePlan& plan = snapshot.plan->cpu;
  Reading reading;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    if (static_cast<Measure>(measure) == Measure::kCpuTime) continue;  // runs while idle as well
    Sum sum;
    for (const PublishedEvent* column : columns_of(plan, kMeasureRows[measure])) {
      const std::size_t rows = snapshot.cpu[column->parts.front().group].rows.size();
      for (std::size_t row = 0; row < rows; ++row) sum.add(*column, snapshot.cpu, row);
    }
    reading.totals[measure] = sum.total();
  }
  reading.turns.resize(plan.groups.size());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    for (std::size_t row = 0; row < snapshot.cpu[group].rows.size(); ++row) {
      add_times(plan, snapshot.cpu, group, row, reading.turns);
    }
  }
  return reading;
}

/// One for each target; it may have several rows, one for each CPU.
std::vector<Activity::Reading> Activity::read_cgroups(const collect::Snapshot& snapshot) {
  const ScopePlan& plan = snapshot.plan->cgroup;
  const std::vector<collect::CgroupTarget>& targets = snapshot.targets->cgroups;
  std::vector<Reading> readings(targets.size());
  for (std::size_t target = 0; target < targets.size(); ++target) {
    readings[target].series = targets[target].series;
    readings[target].turns.resize(plan.groups.size());
  }
  const std::vector<collect::CgroupRow>& rows = snapshot.cgroup_rows;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    std::vector<Sum> sums(targets.size());
    for (const PublishedEvent* column : columns_of(plan, kMeasureRows[measure])) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        sums[rows[row].target].add(*column, snapshot.cgroup, row);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) readings[i].totals[measure] = sums[i].total();
  }
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      add_times(plan, snapshot.cgroup, group, row, readings[rows[row].target].turns);
    }
  }
  return readings;
}

/// On a grid, as far as polls allow.
bool Activity::is_due(Clock::time_point now) {
  if (last_ && now + kSlack < due_) return false;
  due_ = last_ ? due_ + kSpacing : now + kSpacing;
  if (due_ <= now + kSlack) due_ = now + kSpacing;
  return true;
}

void Activity::start(const collect::Snapshot& snapshot) {
  *this = Activity{};
  plan_ = snapshot.plan;
}

void Activity::add(const collect::Snapshot& snapshot, Clock::time_point now) {
  if (snapshot.plan != plan_) start(snapshot);
  if (!is_due(now)) return;
  if (last_) open_point(now);
  last_ = now;
  advance(host_, read_host(snapshot), Scope::kCpu);
  advance_cgroups(snapshot);
}

void Activity::open_point(Clock::time_point now) {
  ends_.push_back({now, now - *last_});
  if (ends_.size() > kPoints) ends_.pop_front();
  ++made_;
  turns_[0][slot(0)].assign(plan_->cpu.groups.size(), {});
  turns_[1][slot(0)].assign(plan_->cgroup.groups.size(), {});
}

void Activity::advance_cgroups(const collect::Snapshot& snapshot) {
  std::vector<Reading> readings = read_cgroups(snapshot);
  for (auto& [path, track] : cgroups_) track.is_current = false;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    Track& track = cgroups_[snapshot.targets->cgroups[i].path];
    if (track.series != readings[i].series) track = track_from_zero(readings[i]);
    advance(track, std::move(readings[i]), Scope::kCgroup);
    track.is_current = true;
  }
  std::erase_if(cgroups_, [](const auto& cgroup) { return !cgroup.second.is_current; });
}

/// The totals of a series begin at 0 when its cgroup comes, which is after the newest but one
/// reading. So all of them belong to the newest point, also those of a cgroup that is gone again.
Activity::Track Activity::track_from_zero(const Reading& reading) {
  Track track;
  track.series = reading.series;
  track.totals.fill(0.0);
  track.turns.resize(reading.turns.size());
  return track;
}

void Activity::advance(Track& track, Reading reading, Scope scope) {
  if (!ends_.empty()) fill_point(track, reading, scope);
  track.totals = reading.totals;
  track.turns = std::move(reading.turns);
}

/// From its last reading to this one. What was not known at both ends is not known in between, nor
/// what has fallen: a part of the sum has gone.
void Activity::fill_point(Track& track, const Reading& reading, Scope scope) {
  track.points[slot(0)] = kUnknownPoint;
  const double length = ends_.back().length.count();
  for (std::size_t i = 0; length > 0 && i < kMeasures; ++i) {
    if (!track.totals[i] || !reading.totals[i] || *reading.totals[i] < *track.totals[i]) continue;
    track.points[slot(0)][i] = static_cast<float>((*reading.totals[i] - *track.totals[i]) / length);
  }
  TurnsOfGroups& turns = turns_[static_cast<std::size_t>(scope)][slot(0)];
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (reading.turns[i].enabled < track.turns[i].enabled) continue;
    turns[i].enabled += reading.turns[i].enabled - track.turns[i].enabled;
    turns[i].running += reading.turns[i].running - track.turns[i].running;
  }
}

std::size_t Activity::slot(std::size_t age) const { return (made_ - 1 - age) % kPoints; }

/// As many of the newest as take about kRecent; one, however long it took.
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
  for (std::size_t age = 0; age < recent_points(); ++age) {
    sum += ends_[ends_.size() - 1 - age].length;
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

Rates Activity::recent_of(const Track& track) const {
  struct Mean {
    double sum = 0;
    double length = 0;
    void add(double value, double during) {
      if (std::isnan(value)) return;
      sum += value * during;
      length += during;
    }
    std::optional<double> value() const { return ratio(sum, length); }
  };
  std::array<Mean, kMeasures> means;
  double cycles = 0;
  double instructions = 0;
  for (std::size_t age = 0; age < recent_points(); ++age) {
    const double length = ends_[ends_.size() - 1 - age].length.count();
    const auto& [of_clock, of_cycles, of_instructions] = track.points[slot(age)];
    means[0].add(of_clock, length);
    means[1].add(of_cycles, length);
    means[2].add(of_instructions, length);
    if (std::isnan(of_cycles) || std::isnan(of_instructions)) continue;
    cycles += of_cycles * length;
    instructions += of_instructions * length;
  }
  return {means[0].value(), means[1].value(), means[2].value(), ratio(instructions, cycles)};
}

Activity::Points Activity::points_of(const Track& track, Measure measure) const {
  Points points;
  for (std::size_t age = ends_.size(); age-- > 0;) {
    points.push_back(known(track.points[slot(age)][static_cast<std::size_t>(measure)]));
  }
  return points;
}

const Activity::Track* Activity::find(const std::string& path) const {
  const auto found = cgroups_.find(path);
  return found == cgroups_.end() ? nullptr : &found->second;
}

Rates Activity::recent_of_host() const { return recent_of(host_); }

Rates Activity::recent_of_cgroup(const std::string& path) const {
  const Track* track = find(path);
  return track == nullptr ? Rates{} : recent_of(*track);
}

Activity::Points Activity::points_of_host(Measure measure) const {
  return points_of(host_, measure);
}

Activity::Points Activity::points_of_cgroup(const std::string& path, Measure measure) const {
  const Track* track = find(path);
  return track == nullptr ? Points(ends_.size()) : points_of(*track, measure);
}

std::optional<double> Activity::recent_running_ratio(Scope scope, std::size_t group) const {
  Turns sum;
  for (std::size_t age = 0; age < recent_points(); ++age) {
    const TurnsOfGroups& turns = turns_[static_cast<std::size_t>(scope)][slot(age)];
    if (group >= turns.size()) return {};
    sum.enabled += turns[group].enabled;
    sum.running += turns[group].running;
  }
  return ratio(sum.running, sum.enabled);
}

}  // namespace pex::history
