#include "count/target_groups.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "targets/budget.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

constexpr unsigned kMaxPollsOfRest = 16;

perf::Place place_on(int cpu, const cgroup::Cgroup* cgroup) {
  if (cgroup == nullptr) return {cpu, -1, {}};
  return {cpu, cgroup->directory.get(), cgroup->path};
}

Error off_pmu(const std::string& group, int cpu) {
  return Error{
      0, "pinned group '" + group + "' is not scheduled on the PMU of CPU " + std::to_string(cpu),
      "pin fewer events, or stop other programs that use the counters"};
}

/// Resizes it, and gives the memory of a burst of cgroups back.
template <typename T, typename... Blank>
void fit(std::vector<T>& values, std::size_t size, const Blank&... blank) {
  values.resize(size, blank...);
  if (values.capacity() / 4 > size) values.shrink_to_fit();
}

/// A group that never shares the PMU needs no history.
estimate::GroupEstimator blank_estimator(const GroupPlan& plan) {
  return estimate::GroupEstimator{plan.estimated(), plan.mux_interval, plan.shares_pmu};
}

}  // namespace

estimate::Interval interval_of(const perf::GroupInterval& since, const GroupPlan& plan,
                               const AlwaysOn& always_on) {
  const auto is_counted = [&](std::optional<std::size_t> member) {
    return member && *member < since.counts.size() && !since.unreadable.test(*member);
  };
  estimate::Interval interval;
  interval.enabled = since.enabled;
  interval.running = since.running;
  interval.counts = std::span(since.counts).first(plan.estimated());
  interval.fell = since.time_fell;
  for (std::size_t event = 0; event < plan.estimated() && since.fell.any(); ++event) {
    interval.fell = interval.fell || since.fell.test(event);
  }
  const std::optional<std::size_t> clock = plan.auxiliary.clock;
  if (is_counted(clock) && !since.fell.test(*clock)) {
    interval.clock = nanoseconds{since.counts[*clock]};
  }
  if (always_on.clock) interval.clock_always = {always_on.clock_counted, *always_on.clock};
  const std::optional<std::size_t> reference = plan.auxiliary.reference;
  if (is_counted(reference) && always_on.reference) {
    interval.reference = {since.counts[*reference], always_on.reference->total,
                          always_on.reference->enabled, since.fell.test(*reference)};
  }
  return interval;
}

TargetGroups::TargetGroups(const GroupPlan& plan, CounterSource& source, int cpu,
                           std::size_t targets)
    : plan_(&plan),
      source_(&source),
      counters_(source.counters_of(plan)),
      cpu_(cpu),
      increments_(plan.estimated()) {
  resize(targets);
}

void TargetGroups::resize(std::size_t targets) {
  fit(slots_, targets);
  for (RowSet* set : {&wanted_, &lacking_, &changed_}) set->resize(targets);
  if (keeps_totals_) keep_totals();
  if (!advanced_at_.empty()) advanced_at_.resize(targets);
  if (can_lose_pmu()) {
    fit(shared_, targets);
    fit(estimators_, targets, blank_estimator(*plan_));
  }
  if (!inexact_.empty()) fit(inexact_, targets);
}

void TargetGroups::forget(std::size_t target) {
  if (is_open(target)) counters_->close(target);
  slots_[target] = {};
  for (RowSet* set : {&wanted_, &lacking_, &changed_}) set->remove(target);
  if (keeps_totals_) {
    std::fill_n(kept_counts_.data() + target * plan_->estimated(), plan_->estimated(), 0);
    kept_times_[target] = {};
  }
  if (!advanced_at_.empty()) advanced_at_[target] = {};
  if (can_lose_pmu()) {
    shared_[target] = {};
    estimators_[target] = blank_estimator(*plan_);
  }
  if (!inexact_.empty()) inexact_[target].reset();
}

void TargetGroups::keep_totals() {
  keeps_totals_ = true;
  kept_counts_.resize(slots_.size() * plan_->estimated());
  kept_times_.resize(slots_.size());
}

std::size_t TargetGroups::count_open() const {
  return static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.open_events > 0; }));
}

int TargetGroups::open(std::size_t target, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
                       PollReport& report) {
  Slot& slot = slots_[target];
  if (slot.polls_to_wait > 0) return 0;
  Result<GroupCounters::Opened, perf::OpenFailure> opened =
      counters_->open(target, *plan_, plan_->events, cgroup);
  const auto needed = std::span(plan_->events).first(plan_->events.size() - plan_->optional_events);
  // A shortage may have ended, so all are retried then.
  if (!opened && opened.error().event >= needed.size() &&
      bound_met_by(opened.error().error.code).empty()) {
    const perf::OpenFailure refused = opened.error();
    opened = counters_->open(target, *plan_, needed, cgroup);
    if (opened)
      report_refusal(refused, cgroup.get(), report);  // else the CPU or the cgroup may be
                                                      // gone
  }
  if (!opened) {
    const perf::OpenFailure& failure = opened.error();
    if (failure.error.code == ENODEV) return 0;  // offline since the list of CPUs was read
    if (cgroup && !cgroup::still_exists(*cgroup)) return 0;
    report_refusal(failure, cgroup.get(), report);
    const unsigned polls_of_rest =
        std::min(1U << std::min<unsigned>(slot.failures, 31), kMaxPollsOfRest);
    slot.polls_to_wait = static_cast<std::uint8_t>(polls_of_rest + 1);  // the next one tries after
    if (slot.failures < std::numeric_limits<std::uint16_t>::max()) ++slot.failures;
    changed_.add(target);
    return failure.error.code;
  }
  slot.open_events = static_cast<std::uint8_t>(opened->events);
  slot.is_shared = opened->are_shared;
  slot.cgroup = cgroup;
  restart(target);
  if (is_paused_) pause(target, report);
  ++report.groups_opened;
  return 0;
}

/// The history is kept.
void TargetGroups::restart(std::size_t target) {
  Slot& slot = slots_[target];
  changed_.add(target);
  slot.was_read = slot.read_failed = slot.has_missed = false;
  slot.failures = 0;
  if (can_lose_pmu()) {
    Shared& shared = shared_[target];
    const Shared before = std::exchange(shared, {});
    shared.is_rotated = before.is_rotated;
    shared.had_the_pmu = before.had_the_pmu;
  }
  if (slot.cgroup == nullptr) {
    advanced_at_.resize(slots_.size());
    advanced_at_[target] = source_->now();
  }
}

void TargetGroups::report_refusal(const perf::OpenFailure& failure, const cgroup::Cgroup* cgroup,
                                  PollReport& report) const {
  const std::string& event = plan_->events[failure.event].name;
  ++report.refusals[{event, failure.error.code}];
  report.add_failure(event, failure.error,
                     {plan_->name, event, cgroup == nullptr ? "" : cgroup->path, cpu_});
}

void TargetGroups::close(std::size_t target, PollReport& report) {
  Slot& slot = slots_[target];
  if (estimate::GroupEstimator* const estimator = find_estimator(target)) {
    const nanoseconds open = estimator->discard_open();
    if (open.count() > 0) add_times(target, {.unmeasured = open});
  }
  changed_.add(target);
  slot.was_on_pmu = false;
  counters_->close(target);
  slot.open_events = 0;
  slot.cgroup.reset();
  ++report.groups_closed;
}

void TargetGroups::begin_poll() {
  for (Slot& slot : slots_) slot.polls_to_wait -= slot.polls_to_wait > 0 ? 1 : 0;
}

PollReport::Subject TargetGroups::subject(std::size_t target, int cpu) const {
  const cgroup::Cgroup* const place = cgroup(target);
  return {plan_->name, {}, place == nullptr ? std::string{} : place->path, cpu};
}

/// While the kernel answers for one target, the memory of those after it is loaded: between two
/// polls all of it has left the caches.
void TargetGroups::prefetch_after(std::size_t target) const {
  constexpr std::size_t kAhead = 2;
  const std::size_t next = target + kAhead;
  if (next >= slots_.size()) return;
  __builtin_prefetch(&slots_[next], 1);
  if (!can_lose_pmu()) return;
  __builtin_prefetch(&shared_[next], 1);
  __builtin_prefetch(&estimators_[next], 1);
}

Result<GroupCounters::State> TargetGroups::read(std::size_t target, perf::GroupInterval& since) {
  prefetch_after(target);
  Slot& slot = slots_[target];
  Result<GroupCounters::State> state = counters_->read(target, since);
  if (slot.read_failed == static_cast<bool>(state)) changed_.add(target);
  slot.read_failed = !state;
  slot.was_read = state && *state != GroupCounters::State::kOffPmu;
  if (!state) {
    state.error().attempted =
        "read group '" + plan_->name + "' " + perf::describe(place_on(cpu_, slot.cgroup.get()));
  }
  complete(since);
  return state;
}

Result<GroupCounters::State> TargetGroups::read_last(std::size_t target,
                                                     perf::GroupInterval& since) {
  Slot& slot = slots_[target];
  Result<GroupCounters::State> state = read(target, since);
  if (!state || slot.was_read) return state;
  if (can_lose_pmu()) shared_[target].wanted.detect_loss();
  state = counters_->read_off_pmu(target, since);
  slot.was_read = state && *state == GroupCounters::State::kCounting;
  if (!slot.was_read) return GroupCounters::State::kOffPmu;
  complete(since);
  return state;
}

/// It may have been opened without the optional events.
void TargetGroups::complete(perf::GroupInterval& since) const {
  if (since.counts.size() < plan_->estimated()) since.counts.resize(plan_->estimated());
}

void TargetGroups::add(std::size_t target, const perf::GroupInterval& since,
                       const AlwaysOn& always_on, const Learning& learning, PollReport& report) {
  if (plan_->mode.pinned) {
    add_unmeasured(target, shared_[target].wanted.regained(since.enabled, always_on.clock));
  }
  const bool is_exact = find_estimator(target) == nullptr && since.running == since.enabled &&
                        !since.time_fell && since.fell.none();
  if (is_exact) return add_exactly(target, since);
  estimate(target, since, always_on, learning, report);
}

/// Of a group that never loses the PMU, without an estimator.
void TargetGroups::add_exactly(std::size_t target, const perf::GroupInterval& since) {
  Slot& slot = slots_[target];
  if (!slot.measured) changed_.add(target);
  slot.measured = true;
  const std::span counts = std::span(since.counts).first(plan_->estimated());
  const bool is_enabled = since.enabled.count() > 0;
  const bool has_counts =
      is_enabled || std::any_of(counts.begin(), counts.end(), [](auto count) { return count > 0; });
  if (has_counts) increments_.add_exact(target, since.enabled, counts);
  if (is_enabled) slot.wanted = slot.counted = true;  // note_wanted() notes the change
  for (std::size_t event = 0; keeps_totals_ && event < counts.size(); ++event) {
    kept_counts_[target * counts.size() + event] += counts[event];
  }
  if (keeps_totals_) kept_times_[target] += since.enabled;
  note_counted(target);
  note_wanted(target, since.enabled, is_enabled);
  slot.was_wanted = is_enabled;
}

estimate::GroupEstimator* TargetGroups::find_estimator(std::size_t target) {
  if (can_lose_pmu()) return &estimators_[target];
  return inexact_.empty() ? nullptr : inexact_[target].get();
}

/// That of a group that cannot lose the PMU is created when it is needed.
estimate::GroupEstimator& TargetGroups::estimator(std::size_t target) {
  if (estimate::GroupEstimator* const made = find_estimator(target)) return *made;
  inexact_.resize(slots_.size());
  inexact_[target] = std::make_unique<estimate::GroupEstimator>(blank_estimator(*plan_));
  return *inexact_[target];
}

void TargetGroups::estimate(std::size_t target, const perf::GroupInterval& since,
                            const AlwaysOn& always_on, const Learning& learning,
                            PollReport& report) {
  Slot& slot = slots_[target];
  Shared* const shared = can_lose_pmu() ? &shared_[target] : nullptr;
  estimate::Interval interval = interval_of(since, *plan_, always_on);
  if (shared != nullptr) {
    interval.enabled =
        shared->wanted.advance(since.enabled, always_on.clock, shared->is_rotated || is_paused_);
    interval.is_stopped = shared->is_stopped && !is_paused_;
  }
  interval.kernel_mistimes = learning.kernel_mistimes;
  learning.has_learned = true;
  const estimate::GroupIncrement increment =
      estimator(target).advance(interval, learning.models, learning.increments, learning.updates);
  increments_.add(target, increment, learning.increments);
  slot.measured = true;
  slot.wanted = slot.wanted || increment.enabled.count() > 0;
  slot.counted = slot.counted ||
                 (increment.running.count() > 0 && increment.coverage != estimate::Coverage::kNone);
  for (std::size_t event = 0; keeps_totals_ && event < plan_->estimated(); ++event) {
    kept_counts_[target * plan_->estimated() + event] +=
        learning.increments[event].observed + learning.increments[event].extrapolated;
  }
  if (keeps_totals_) kept_times_[target] += increment.enabled - increment.unmeasured;
  changed_.add(target);
  note_counted(target);
  if (shared != nullptr && plan_->is_multiplexed() && !is_paused_) {
    detect_starving(*shared, increment);
  }
  if (!interval.is_stopped) note_wanted(target, increment.enabled, increment.running.count() > 0);
  slot.was_wanted = increment.enabled.count() > 0;
  if (increment.anomaly) report_anomaly(target, report);
  if (!increment.mistimed) return;
  learning.kernel_mistimes = true;
  ++report.of_group(plan_->name).mistimed;
}

void TargetGroups::report_anomaly(std::size_t target, PollReport& report) const {
  ++report.of_group(plan_->name).anomalies;
  report.add_failure(
      "anomaly " + plan_->name,
      Error{0, "a total of group '" + plan_->name + "' fell since the last reading",
            "none: counting continues from the new total; this interval is unmeasured, or scaled "
            "by time if the total is that of the reference"},
      subject(target));
}

void TargetGroups::mark_unchanged(std::size_t target) {
  Slot& slot = slots_[target];
  if (!slot.measured) changed_.add(target);
  slot.measured = true;
  note_wanted(target, nanoseconds{0}, false);
  slot.was_wanted = false;
}

/// The kernel still holds the counts from before the place was lost, and returns them once there is
/// a place again. So the poll in which it was lost is accounted only then.
void TargetGroups::missed_its_place(std::size_t target, const AlwaysOn& always_on,
                                    PollReport& report) {
  // Back as soon as there is room; refused: no change.
  if (!is_paused_) (void)counters_->set_enabled(target, true);
  if (can_lose_pmu()) add_unmeasured(target, shared_[target].wanted.lost(always_on.clock));
  slots_[target].wanted = true;
  changed_.add(target);
  if (is_paused_) return;  // nobody asks for its place
  ++report.of_group(plan_->name).pinned_errors;
  if (!plan_->is_published) return;  // a reference: the others continue without it
  ++report.now.groups_off_pmu;
  report.add_failure("pinned " + plan_->name, off_pmu(plan_->name, cpu_), subject(target, cpu_));
}

void TargetGroups::lost_its_counts(std::size_t target, const AlwaysOn& always_on) {
  if (can_lose_pmu()) add_unmeasured(target, shared_[target].wanted.closed(always_on.clock));
}

void TargetGroups::add_unmeasured(std::size_t target, std::optional<nanoseconds> wanted) {
  if (!wanted) return;
  note_wanted(target, *wanted, false);
  slots_[target].wanted = true;
  changed_.add(target);
  add_lost(target, *wanted);
}

void TargetGroups::add_lost(std::size_t target, nanoseconds time) {
  if (time.count() > 0) add_times(target, {.enabled = time, .unmeasured = time});
}

void TargetGroups::add_times(std::size_t target, const GroupTimes& times) {
  increments_.add_times(target, times);
  if (keeps_totals_) kept_times_[target] += times.enabled - times.unmeasured;
}

/// Of events that never lose the PMU only the time running shows that they are alive: if an event
/// of another PMU activates the context, only theirs still stands still.
std::optional<nanoseconds> TargetGroups::find_standstill(std::size_t target,
                                                         const perf::GroupInterval& since,
                                                         nanoseconds begun, nanoseconds ended) {
  constexpr nanoseconds kMax = std::chrono::milliseconds{20};  // a coarse clock has such ticks
  const nanoseconds time = plan_->shares_pmu ? since.enabled : since.running;
  if (time.count() > 0 || since.time_fell || is_paused_) advanced_at_[target] = ended;
  const nanoseconds standstill = begun - advanced_at_[target];
  return standstill > kMax ? std::optional(standstill) : std::nullopt;
}

void TargetGroups::set_wanted(std::size_t target, bool wanted) {
  Slot& slot = slots_[target];
  if (slot.is_wanted == wanted) return;
  slot.is_wanted = wanted;
  changed_.add(target);
  const unsigned next = polls_ + 1;
  if (wanted && slot.first_wanted == 0) slot.first_wanted = next;
  if (!wanted && slot.first_wanted == next) slot.first_wanted = 0;  // not up to the end of a poll
}

void TargetGroups::note_wanted(std::size_t target, nanoseconds wanted, bool had_the_pmu) {
  Slot& slot = slots_[target];
  if (slot.was_on_pmu != had_the_pmu) changed_.add(target);
  if (slot.wanted_in_poll.count() == 0 && has_long_rested(slot)) slot.without_pmu = {};
  slot.wanted_in_poll = saturating_sum(slot.wanted_in_poll, wanted);
  if (slot.wanted_in_poll.count() > 0) wanted_.add(target);
  slot.was_on_pmu = had_the_pmu;
  slot.without_pmu = had_the_pmu ? nanoseconds{0} : saturating_sum(slot.without_pmu, wanted);
}

void TargetGroups::note_counted(std::size_t target) {
  Slot& slot = slots_[target];
  if (slot.first_counted == 0 && slot.counted) slot.first_counted = polls_ + 1;
}

/// As of the end of the last poll: it was last enabled so long ago that what it lacked then does
/// not matter any more.
bool TargetGroups::has_long_rested(const Slot& slot) const {
  return ended_at_ - slot.last_wanted > estimate::kMaxImputed;
}

bool TargetGroups::lacks_the_pmu(const Slot& slot) const {
  return slot.without_pmu > estimate::kMaxImputed && !has_long_rested(slot);
}

void TargetGroups::end_poll(nanoseconds now) {
  ++polls_;
  ended_at_ = now;
  wanted_.for_each([&](std::size_t target) {
    slots_[target].wanted_in_poll = {};
    slots_[target].last_wanted = now;
    if (lacks_the_pmu(slots_[target])) lacking_.add(target);
  });
  wanted_.clear();
  changed_.add_all(lacking_);  // the last time it is one that no longer lacks it
  changed_.for_each([&](std::size_t target) { report_state(target); });
  changed_.clear();
  if (lacking_.size() == 0) return;
  const RowSet lacked = lacking_;
  lacking_.clear();
  lacked.for_each([&](std::size_t target) {
    if (lacks_the_pmu(slots_[target])) lacking_.add(target);
  });
}

void TargetGroups::report_state(std::size_t target) {
  const GroupState now = state(target);
  const GroupState before = std::exchange(slots_[target].reported, now);
  if (now != before) increments_.change_state(target, before, now);
}

GroupState TargetGroups::state(std::size_t target) const {
  const Slot& slot = slots_[target];
  const bool open = is_open(target);
  return {.is_wanted = slot.is_wanted,
          .is_open = open,
          .has_failed = has_failed(target),
          .is_unreadable = open && slot.read_failed,
          .measured = slot.measured,
          .counted = slot.counted,
          .wanted = slot.wanted,
          .was_on_pmu = slot.was_on_pmu,
          .lacks_the_pmu = lacks_the_pmu(slot)};
}

void TargetGroups::detect_starving(Shared& shared, const estimate::GroupIncrement& increment) {
  if (increment.enabled.count() == 0) return;
  const double share = static_cast<double>(increment.running.count()) /
                       static_cast<double>(increment.enabled.count());
  constexpr double kNextToNothing = 0.01;
  constexpr double kNearlyAll = 0.9;
  shared.starved_polls = share < kNextToNothing ? shared.starved_polls + 1 : 0;
  shared.had_the_pmu = share > kNearlyAll;
}

void TargetGroups::stop(std::size_t target) {
  bool& is_stopped = shared_[target].is_stopped;
  if (!is_stopped) is_stopped = static_cast<bool>(counters_->set_enabled(target, false));
}

void TargetGroups::start(std::size_t target) {
  if (!can_lose_pmu()) return;  // never stopped
  bool& is_stopped = shared_[target].is_stopped;
  if (is_stopped) is_stopped = !is_paused_ && !counters_->set_enabled(target, true);
}

/// The counters get the state each time: those that targets share may be of an earlier plan, and
/// stay while no target is open. What failed is tried again at each poll.
void TargetGroups::set_paused(bool paused, PollReport& report) {
  if (!plan_->shares_pmu) return;
  const bool has_failed = std::exchange(pause_failed_, false);
  const bool has_changed = paused != std::exchange(is_paused_, paused);
  note_pause(counters_->set_paused(*plan_, paused), nullptr, report);
  if (!has_changed && !has_failed) return;
  for (std::size_t target = 0; target < slots_.size(); ++target) {
    if (can_stop(target)) pause(target, report);
  }
}

/// What is stopped by manual rotation stays so.
void TargetGroups::pause(std::size_t target, PollReport& report) {
  if (!can_stop(target)) {
    return note_pause(counters_->set_paused(*plan_, is_paused_), cgroup(target), report);
  }
  if (shared_[target].is_stopped) return;
  note_pause(counters_->set_enabled(target, !is_paused_), cgroup(target), report);
}

/// `cgroup` is null for a whole CPU, and for counters that all cgroups share.
void TargetGroups::note_pause(const Result<>& done, const cgroup::Cgroup* cgroup,
                              PollReport& report) {
  if (done) return;
  pause_failed_ = true;
  Error failure = done.error();
  failure.attempted = (is_paused_ ? "disable group '" : "enable group '") + plan_->name + "' " +
                      perf::describe(place_on(cpu_, cgroup));
  report.add_failure("pause of " + plan_->name, failure,
                     {plan_->name, {}, cgroup == nullptr ? std::string{} : cgroup->path, cpu_});
}

void TargetGroups::set_rotated(std::size_t target, bool rotated) {
  if (!can_lose_pmu()) return;  // always counts
  shared_[target].is_rotated = rotated;
  shared_[target].starved_polls = 0;
}

}  // namespace pex::collect
