#include "daemon/commands/stat_counting.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "count/target_groups.h"
#include "daemon/service/human_format.h"
#include "events/core_pmu.h"
#include "events/event_table.h"

namespace pex::daemon {
namespace {

using std::chrono::nanoseconds;

constexpr const char* kClock = "task-clock";
constexpr nanoseconds kMoment = std::chrono::milliseconds{1};  ///< between two readings

/// Software events always count; the kernel may still account some microseconds of each wake-up as
/// enabled and not running.
bool always_counts(const perf::GroupReading& reading, const collect::GroupPlan& plan) {
  return !plan.shares_pmu && reading.time_running.count() > 0;
}

StatValue::Coverage coverage_of(const collect::GroupTimes& times, bool was_counted) {
  if (times.enabled.count() == 0) return StatValue::Coverage::kComplete;  // nothing to count
  if (!was_counted) return StatValue::Coverage::kNone;
  if (times.unmeasured.count() > 0) return StatValue::Coverage::kIncomplete;
  return times.running >= times.enabled ? StatValue::Coverage::kComplete
                                        : StatValue::Coverage::kScaled;
}

/// The least reliable part decides.
StatValue::Coverage worse(StatValue::Coverage a, StatValue::Coverage b) { return std::max(a, b); }

constexpr const char* kWhyUncounted =
    "the kernel counts nothing of a program while it frees its memory at the end, and stops "
    "counting one that takes the rights of another user (set-user-ID), or whose file the user may "
    "not read";
/// Root has all rights, and yet such a program takes those of another user.
const char* count_another() {
  return ::geteuid() == 0 ? "count another program, or the cgroup in which it runs"
                          : "count as root, or count another program";
}

/// That a program started, and perhaps some of its children: too little to be counts of it.
bool is_next_to_nothing(nanoseconds counted, nanoseconds cpu_time) {
  constexpr int kPartOf = 5;
  return counted < cpu_time / kPartOf;
}

/// Linux 6.16, and older kernels with its fix "perf: Fix sample vs do_exit()", free the memory of a
/// task after they have closed its events (kernel/exit.c): 90 us of each of 300 small programs, and
/// up to 4 ms of the command, whose first pages are read, where all CPUs are busy.
bool is_much(nanoseconds uncounted, nanoseconds cpu_time) {
  constexpr nanoseconds kOfTheCommand = std::chrono::milliseconds{5};
  return uncounted > kOfTheCommand && uncounted > cpu_time / 20;
}

bool needs_its_cpus(const collect::GroupPlan& group) {
  return std::any_of(group.events.begin(), group.events.end(), [](const perf::CounterSpec& event) {
    return events::is_decided_by_cpu(event.attributes);
  });
}

}  // namespace

StatGroups::StatGroups(const plan::TaskPlan& plan,
                       const std::map<std::string, std::vector<int>>& partial_pmus) {
  for (const collect::GroupPlan& group : plan.counting.groups) {
    const auto partial = partial_pmus.find(group.pmu);
    groups.push_back({group.events, group.mode, {}});
    if (partial != partial_pmus.end() && needs_its_cpus(group))
      groups.back().cpus = partial->second;
  }
  for (const collect::GroupPlan& group : plan.counting.groups) {
    const auto partial = partial_pmus.find(group.pmu);
    if (partial == partial_pmus.end() || clocks.contains(group.pmu)) continue;
    clocks[group.pmu] = groups.size();
    groups.push_back({{events::generic_counter(kClock)}, {}, partial->second});
  }
  if (std::all_of(groups.begin(), groups.end(), perf::is_inherited)) return;
  clock_of_all = groups.size();
  groups.push_back({{events::generic_counter(kClock)}, {}, {}});
}

StatCounting::Group::Group(const collect::GroupPlan& plan)
    : last(perf::words_of_last_reading(plan.events.size())),
      estimator(plan.estimated(), plan.mux_interval, plan.shares_pmu),
      totals(plan.estimated()),
      models(plan.estimated()) {}

StatCounting::StatCounting(plan::TaskPlan plan, StatGroups groups, perf::TaskCounters counters,
                           perf::PerfKernel& kernel)
    : plan_(std::move(plan)),
      layout_(std::move(groups)),
      counters_(std::move(counters)),
      kernel_(kernel) {
  for (const collect::GroupPlan& group : plan_.counting.groups) groups_.emplace_back(group);
}

bool StatCounting::counts_any() const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (plan_.counting.groups[i].is_published && counters_.refusal(i) == nullptr) return true;
  }
  return false;
}

void StatCounting::read() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (counters_.refusal(i) == nullptr) read_group(i);
  }
}

void StatCounting::read_group(std::size_t index) {
  Group& group = groups_[index];
  const Result<> done = counters_.read(kernel_, index, group.reading);
  group.failed = done ? std::nullopt : std::optional(done.error());
  const bool is_off = group.reading.state == perf::GroupReading::State::kOffPmu;
  group.has_lost_place = group.has_lost_place || (done && is_off);
  group.was_read = done && !is_off;
  if (!group.was_read) return;
  const estimate::Interval interval = interval_of(index);
  std::vector<estimate::EventIncrement> increments(group.models.size());
  std::vector<estimate::ModelUpdate> updates(group.models.size());
  const estimate::GroupIncrement increment =
      group.estimator.advance(interval, group.models, increments, updates);
  group.times.add(collect::times_of(increment));
  for (std::size_t i = 0; i < increments.size(); ++i) {
    group.totals[i].add(collect::total_of(increments[i]));
  }
  group.counted = group.counted || (increment.running.count() > 0 &&
                                    increment.coverage != estimate::Coverage::kNone);
  const bool is_scaled = increment.coverage == estimate::Coverage::kScaled;
  group.scaled += is_scaled && increment.running.count() > 0 ? 1 : 0;
  group.anomalies += increment.anomaly ? 1 : 0;
  for (std::size_t i = 0; i < updates.size(); ++i) group.models[i].learn(updates[i]);
}

/// For how long the group wanted the PMU, in all. The kernel also accounts the time on CPUs without
/// it, so there the clock of its CPUs decides.
nanoseconds StatCounting::enabled(const collect::GroupPlan& plan, Group& group) const {
  const auto clock = layout_.clocks.find(plan.pmu);
  if (clock == layout_.clocks.end()) return group.reading.time_enabled;
  perf::GroupReading on_cpus;
  if (counters_.refusal(clock->second) == nullptr &&
      counters_.read(kernel_, clock->second, on_cpus)) {
    group.clock = std::max(group.clock, nanoseconds{on_cpus.counts.front()});
  }
  return std::max(group.clock, group.reading.time_running);  // they are read a moment apart
}

estimate::Interval StatCounting::interval_of(std::size_t index) {
  const collect::GroupPlan& plan = plan_.counting.groups[index];
  Group& group = groups_[index];
  perf::GroupReading now = group.reading;
  now.time_enabled = enabled(plan, group);
  if (always_counts(now, plan)) now.time_running = now.time_enabled;
  perf::advance(group.last, now, group.since);
  collect::AlwaysOn always_on;
  const std::optional<collect::EventAt>& always = plan.auxiliary.reference_always;
  if (always && groups_[always->group].was_read) {
    const perf::GroupReading& reference = groups_[always->group].reading;
    always_on.reference = {reference.counts[always->event], reference.time_enabled};
  }
  return collect::interval_of(group.since, plan, always_on);
}

void StatCounting::finish(const std::optional<StatUse>& use) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].times.add({.unmeasured = groups_[i].estimator.discard_open()});
    add_lost_time(i);
  }
  add_time_of_others();
  if (use) add_uncounted(*use);
}

/// The time of threads and children that groups do not inherit.
void StatCounting::add_time_of_others() {
  perf::GroupReading all;
  if (!layout_.clock_of_all || !counters_.read(kernel_, *layout_.clock_of_all, all)) return;
  of_all_ = all.time_enabled;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (perf::is_inherited(layout_.groups[i]) || counters_.refusal(i) != nullptr) continue;
    Group& group = groups_[i];
    const nanoseconds others = of_all_ - group.times.enabled;
    if (others <= kMoment) continue;
    group.of_others = others;
    group.times.add({.enabled = others, .unmeasured = others});
  }
}

void StatCounting::add_uncounted(const StatUse& use) {
  nanoseconds counted = of_all_;
  for (const Group& group : groups_) counted = std::max(counted, group.reading.time_enabled);
  was_counted_ = !is_next_to_nothing(counted, use.cpu_time);
  if (!is_much(use.cpu_time - counted, use.cpu_time)) return;
  uncounted_ = use.cpu_time - counted;
  for (Group& group : groups_) {
    group.times.add({.enabled = uncounted_, .unmeasured = uncounted_});
  }
}

/// The time for which a pinned group had lost its place: the clock of the tasks went on. Readings a
/// moment apart are no loss.
void StatCounting::add_lost_time(std::size_t index) {
  const collect::GroupPlan& plan = plan_.counting.groups[index];
  if (!plan.mode.pinned || !plan.auxiliary.always_on || counters_.refusal(index) != nullptr) return;
  Group& group = groups_[index];
  const nanoseconds lost = groups_[*plan.auxiliary.always_on].times.enabled - group.times.enabled;
  if (lost > kMoment) group.times.add({.enabled = lost, .unmeasured = lost});
}

std::vector<StatValue> StatCounting::values() const {
  std::vector<StatValue> values;
  for (const plan::TaskEvent& event : plan_.events) values.push_back(value_of(event));
  return values;
}

StatValue StatCounting::value_of(const plan::TaskEvent& event) const {
  StatValue value{event.availability, StatValue::Coverage::kComplete, {}, 0.0, {}};
  if (!event.column) {
    value.coverage = StatValue::Coverage::kNone;
    return value;
  }
  for (const collect::EventAt& part : plan_.counting.columns[*event.column].parts) {
    const perf::OpenFailure* refusal = counters_.refusal(part.group);
    if (refusal != nullptr) {
      value.event.available = false;
      value.event.reason = refusal->error;
      value.coverage = StatValue::Coverage::kNone;
      return value;
    }
    add_part(part, value);
  }
  if (value.coverage == StatValue::Coverage::kIncomplete) value.standard_error.reset();
  if (!was_counted_) {
    value.event.available = false;
    value.event.reason = {0, kWhyUncounted, count_another()};
    value.coverage = StatValue::Coverage::kNone;
  }
  return value;
}

/// The first interval that was scaled has no variance, as there was none before it to compare it
/// with: it is taken to be as uncertain as the others are on average.
void StatCounting::add_part(const collect::EventAt& part, StatValue& value) const {
  const Group& group = groups_[part.group];
  const collect::EventTotal& total = group.totals[part.event];
  value.coverage = worse(value.coverage, coverage_of(group.times, group.counted));
  value.total.add(total);
  value.times.add(group.times);
  if (group.scaled == 0) return;
  if (group.scaled == 1) value.standard_error.reset();
  if (!value.standard_error) return;
  const auto intervals = static_cast<double>(group.scaled);
  const double variance = total.variance * intervals / (intervals - 1);
  value.standard_error = std::sqrt(*value.standard_error * *value.standard_error + variance);
}

std::vector<Error> StatCounting::warnings() const {
  std::vector<Error> warnings = plan_.warnings;
  if (const std::size_t threads = counters_.uncertain_threads(); threads > 0) {
    warnings.push_back({0,
                        number_of(threads, "thread") +
                            " started while the counters were opened, and may not be counted",
                        "count the process again when it creates fewer threads"});
  }
  if (was_counted_ && uncounted_.count() > 0) {
    warnings.push_back(
        {0, duration_text(uncounted_) + " of CPU time were not counted: " + kWhyUncounted,
         count_another()});
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    const std::string name = "group '" + plan_.counting.groups[i].name + "'";
    if (group.failed) {
      warnings.push_back({group.failed->code, "read " + name + " for the last time",
                          "none is needed: its values are those of an earlier reading"});
    }
    if (group.of_others.count() > 0) {
      warnings.push_back(
          {0,
           name + " did not count threads and children that started later, which ran for " +
               duration_text(group.of_others) +
               ": the kernel lets a fork fail if it counts a probe",
           "count the probe by CPU or cgroup, with the exporter"});
    }
    if (group.has_lost_place) {
      warnings.push_back({0, "pinned " + name + " lost its place on the PMU",
                          "pin fewer events, or stop other programs that use the counters"});
    }
    if (group.anomalies > 0) {
      warnings.push_back(
          {0, "a total of " + name + " fell in " + number_of(group.anomalies, "interval"),
           "none is needed: these are unmeasured"});
    }
  }
  return warnings;
}

}  // namespace pex::daemon
