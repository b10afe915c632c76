#include "collect/target_group.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "collect/budget.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

constexpr unsigned kMaxWait = 16;  // polls

perf::Place place_on(int cpu, const cgroup::Cgroup* cgroup) {
  if (cgroup == nullptr) return {cpu, -1, {}};
  return {cpu, cgroup->directory.get(), cgroup->path};
}

Error off_pmu(const std::string& group, int cpu) {
  return Error{0,
               "pinned group '" + group + "' has no place on the PMU of CPU " + std::to_string(cpu),
               "pin fewer events, or stop what else holds the counters"};
}

/// Software events always count. But where a cgroup has hardware groups as well, Linux 6.1 books
/// some microseconds of each wake-up as enabled and not running for those that are switched first.
/// One that has never run is another matter: it was never started, and there is no value.
nanoseconds running_total(const perf::GroupReading& reading, const GroupPlan& plan,
                          nanoseconds enabled) {
  const bool always_counts = !plan.shares_pmu && reading.time_running.count() > 0;
  return always_counts ? enabled : reading.time_running;
}

/// The kernel's totals as the estimator wants them.
estimate::Sample sample_of(const perf::GroupReading& reading, const GroupPlan& plan,
                           nanoseconds enabled, const AlwaysOn& always_on) {
  const auto is_open = [&](std::optional<std::size_t> member) {
    return member && *member < reading.counts.size();  // helpers may have been refused
  };
  estimate::Sample sample;
  sample.enabled = enabled;
  sample.running = running_total(reading, plan, enabled);
  sample.counts = std::span(reading.counts).first(plan.estimated());
  if (is_open(plan.auxiliary.clock))
    sample.clock = nanoseconds{reading.counts[*plan.auxiliary.clock]};
  if (always_on.clock) sample.clock_always = {always_on.clock_counted, *always_on.clock};
  if (is_open(plan.auxiliary.reference) && always_on.reference) {
    sample.reference = {reading.counts[*plan.auxiliary.reference], always_on.reference->total,
                        always_on.reference->enabled};
  }
  return sample;
}

}  // namespace

int TargetGroup::open(perf::PerfKernel& kernel, int cpu,
                      std::shared_ptr<const cgroup::Cgroup> cgroup, PollReport& report) {
  if (polls_to_wait_ > 0) return 0;
  const perf::Place place = place_on(cpu, cgroup.get());
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open(kernel, plan_->events, place, plan_->mode);
  const auto needed = std::span(plan_->events).first(plan_->events.size() - plan_->optional_events);
  // What is short now may be there later, so it is better to try all again then.
  if (!opened && opened.error().event >= needed.size() &&
      bound_met_by(opened.error().error.code).empty()) {
    const perf::OpenFailure refused = opened.error();
    opened = perf::CounterGroup::open(kernel, needed, place, plan_->mode);
    if (opened) report_refusal(refused, place, report);  // else CPU or cgroup may just have gone
  }
  if (!opened) {
    const perf::OpenFailure& failure = opened.error();
    if (failure.error.code == ENODEV) return 0;  // offline since the list of CPUs was read
    if (cgroup && !cgroup::still_exists(*cgroup)) return 0;
    report_refusal(failure, place, report);
    const unsigned polls_of_rest = std::min(1U << std::min(failures_, 31U), kMaxWait);
    polls_to_wait_ = polls_of_rest + 1;  // the next one tries after them
    ++failures_;
    return failure.error.code;
  }
  counters_ = std::move(*opened);
  estimator_.restart();
  cgroup_ = std::move(cgroup);
  enabled_ = enabled_unnoticed_ = {};
  always_clock_.reset();
  lost_since_.reset();
  went_on_until_ = kernel.now();
  went_on_to_ = {};
  stopped_ = was_read_ = read_failed_ = has_missed_ = false;
  failures_ = starved_polls_ = 0;
  ++report.groups_opened;
  return 0;
}

void TargetGroup::report_refusal(const perf::OpenFailure& failure, const perf::Place& place,
                                 PollReport& report) const {
  const std::string& event = plan_->events[failure.event].name;
  ++report.refusals[{event, failure.error.code}];
  report.add_failure(event, failure.error, {plan_->name, event, place.cgroup_path, place.cpu});
}

void TargetGroup::close(PollReport& report) {
  totals_.give_up(estimator_.give_up());
  was_on_pmu_ = false;
  counters_.reset();
  cgroup_.reset();
  ++report.groups_closed;
}

Result<> TargetGroup::read(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading) {
  Result<> done = counters_->read(kernel, reading);
  was_read_ = done && reading.state == perf::GroupReading::State::kCounting;
  read_failed_ = !done;
  if (was_read_) complete(reading);
  if (!done) {
    done.error().attempted =
        "read group '" + plan_->name + "' " + perf::describe(place_on(cpu, cgroup_.get()));
  }
  return done;
}

Result<> TargetGroup::read_last(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading) {
  Result<> done = read(kernel, cpu, reading);
  if (!done || was_read_) return done;
  notice_loss();
  was_read_ = counters_->read_off_pmu(kernel, reading) &&
              reading.state == perf::GroupReading::State::kCounting;
  if (was_read_) complete(reading);
  return {};
}

/// A count that is no longer told stays as it was. Of the helpers, those before it are kept.
void TargetGroup::complete(perf::GroupReading& reading) const {
  for (const std::size_t event : reading.unreadable) {
    if (event < plan_->estimated()) {
      reading.counts[event] = estimator_.last_counts()[event];
    } else if (event < reading.counts.size()) {
      reading.counts.resize(event);
    }
  }
  if (reading.counts.size() < plan_->estimated()) {
    reading.counts.resize(plan_->estimated());  // opened without what it can do without
  }
}

void TargetGroup::advance_to(const perf::GroupReading& reading, const AlwaysOn& always_on,
                             const Learning& learning, PollReport& report) {
  settle_lost(reading, always_on);
  const nanoseconds enabled = enabled_total(reading, always_on);
  estimate::Sample sample = sample_of(reading, *plan_, enabled, always_on);
  sample.is_stopped = stopped_;
  sample.kernel_mistimes = learning.kernel_mistimes;
  const estimate::GroupIncrement increment =
      estimator_.advance(sample, learning.models, learning.increments, learning.lessons);
  totals_.add(increment, learning.increments);
  if (plan_->takes_turns()) notice_starving(increment);
  if (!stopped_) note_wanted(increment.enabled, increment.running.count() > 0);
  was_wanted_ = increment.enabled.count() > 0;
  if (increment.anomaly) report_anomaly(report);
  if (!increment.mistimed) return;
  learning.kernel_mistimes = true;
  ++report.of_group(plan_->name).mistimed;
}

void TargetGroup::report_anomaly(PollReport& report) const {
  ++report.of_group(plan_->name).anomalies;
  report.add_failure(
      "anomaly " + plan_->name,
      Error{0, "a total of group '" + plan_->name + "' fell since the last reading",
            "none: counting goes on from the new total; that interval is unmeasured, "
            "or, when it was the reference, scaled by time"},
      subject());
}

/// The kernel still holds what it counted before the place was lost, and tells of it once there is
/// a place again. So the poll in which it was lost is settled only then.
void TargetGroup::missed_its_place(perf::PerfKernel& kernel, int cpu, const AlwaysOn& always_on,
                                   PollReport& report) {
  (void)counters_->enable(kernel);  // back as soon as there is room; refused is no change
  if (!lost_since_) {
    notice_loss();
    if (!lost_since_) lost_since_ = always_on.clock;
  } else if (always_on.clock && always_clock_) {
    book_lost(*always_on.clock - *always_clock_);
  }
  totals_.want_in_vain({});
  always_clock_ = always_on.clock;
  ++report.of_group(plan_->name).pinned_errors;
  if (!plan_->is_published) return;  // a reference: the others do without it for now
  ++report.now.groups_off_pmu;
  report.add_failure("pinned " + plan_->name, off_pmu(plan_->name, cpu), subject(cpu));
}

void TargetGroup::notice_loss() {
  if (lost_since_) return;
  lost_since_ = always_clock_;
  lost_booked_ = {};
}

void TargetGroup::lost_its_counts(const AlwaysOn& always_on) {
  if (lost_since_ && always_on.clock) book_lost(*always_on.clock - *lost_since_ - lost_booked_);
  lost_since_.reset();
}

void TargetGroup::book_lost(nanoseconds lost) {
  lost = std::max(lost, nanoseconds{0});
  add_unmeasured(lost);
  lost_booked_ += lost;
}

void TargetGroup::add_unmeasured(nanoseconds wanted) {
  note_wanted(wanted, false);
  totals_.want_in_vain(wanted);
}

/// Back on the PMU: what has passed since the last reading, and neither the kernel has counted as
/// enabled nor is booked yet.
void TargetGroup::settle_lost(const perf::GroupReading& reading, const AlwaysOn& always_on) {
  if (!lost_since_) return;
  if (always_on.clock) {
    const nanoseconds passed = *always_on.clock - *lost_since_;
    book_lost(passed - lost_booked_ - (reading.time_enabled - enabled_));
  }
  lost_since_.reset();
}

/// Of a group that was stopped, the kernel's own clock has stood still.
nanoseconds TargetGroup::enabled_total(const perf::GroupReading& reading,
                                       const AlwaysOn& always_on) {
  if (in_turns_ && always_on.clock && always_clock_) {
    const nanoseconds on_cpu = *always_on.clock - *always_clock_;
    const nanoseconds noticed = reading.time_enabled - enabled_;
    enabled_unnoticed_ += std::max(on_cpu - noticed, nanoseconds{0});
  }
  enabled_ = reading.time_enabled;
  always_clock_ = always_on.clock;
  return reading.time_enabled + enabled_unnoticed_;
}

/// Of events that never lose the PMU only the time running says that they are alive: where an event
/// of another PMU activates the context, theirs alone goes on standing still.
std::optional<nanoseconds> TargetGroup::find_standstill(const perf::GroupReading& reading,
                                                        nanoseconds begun, nanoseconds ended) {
  constexpr nanoseconds kLongest = std::chrono::milliseconds{20};  // a coarse clock has such ticks
  const nanoseconds time = plan_->shares_pmu ? reading.time_enabled : reading.time_running;
  if (time != went_on_to_) {
    went_on_until_ = ended;
    went_on_to_ = time;
  }
  const nanoseconds standstill = begun - went_on_until_;
  return standstill > kLongest ? std::optional(standstill) : std::nullopt;
}

void TargetGroup::note_wanted(nanoseconds wanted, bool had_the_pmu) {
  wanted_in_poll_ = saturating_sum(wanted_in_poll_, wanted);
  was_on_pmu_ = had_the_pmu;
  without_pmu_ = had_the_pmu ? nanoseconds{0} : saturating_sum(without_pmu_, wanted);
}

void TargetGroup::end_poll(nanoseconds now) {
  if (std::exchange(wanted_in_poll_, {}).count() > 0) last_wanted_ = now;
  if (now - last_wanted_ > estimate::kMaxImputed) without_pmu_ = {};
  polls_wanted_ += wanted_ || polls_wanted_ > 0 ? 1 : 0;
  polls_counted_ += totals_.counted() ? 1 : 0;
}

void TargetGroup::notice_starving(const estimate::GroupIncrement& increment) {
  if (increment.enabled.count() == 0) return;
  const double share = static_cast<double>(increment.running.count()) /
                       static_cast<double>(increment.enabled.count());
  constexpr double kNextToNothing = 0.01;
  constexpr double kNearlyAll = 0.9;
  starved_polls_ = share < kNextToNothing ? starved_polls_ + 1 : 0;
  had_the_pmu_ = share > kNearlyAll;
}

void TargetGroup::stop(perf::PerfKernel& kernel) {
  if (stopped_) return;
  stopped_ = static_cast<bool>(counters_->disable(kernel));
}

void TargetGroup::start(perf::PerfKernel& kernel) {
  if (!stopped_) return;
  stopped_ = !counters_->enable(kernel);
}

void TargetGroup::set_in_turns(bool in_turns) {
  in_turns_ = in_turns;
  starved_polls_ = 0;
}

}  // namespace pex::collect
