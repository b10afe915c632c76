#include "collect/target_groups.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "collect/budget.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

constexpr unsigned kMaxPollsOfRest = 16;

perf::Place place_on(int cpu, const cgroup::Cgroup* cgroup) {
  if (cgroup == nullptr) return {cpu, -1, {}};
  return {cpu, cgroup->directory.get(), cgroup->path};
}

/// Counters are 64 bits wide and start at 0: an increment above half their range is a fall.
bool fell(std::uint64_t increment) { return increment >> 63 != 0; }

Error off_pmu(const std::string& group, int cpu) {
  return Error{
      0, "pinned group '" + group + "' is not scheduled on the PMU of CPU " + std::to_string(cpu),
      "pin fewer events, or stop other programs that use the counters"};
}

/// The kernel's totals in the form of the estimator.
estimate::Sample sample_of(const perf::GroupReading& reading, const GroupPlan& plan,
                           nanoseconds enabled, const AlwaysOn& always_on) {
  const auto is_open = [&](std::optional<std::size_t> member) {
    return member && *member < reading.counts.size();  // optional events may have been refused
  };
  estimate::Sample sample;
  sample.enabled = enabled;
  sample.running = reading.time_running;
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

TargetGroups::TargetGroups(const GroupPlan& plan, CounterSource& source, int cpu,
                           std::size_t targets)
    : plan_(&plan), source_(&source), cpu_(cpu), increments_(plan.estimated()) {
  resize(targets);
}

TargetGroups::~TargetGroups() {
  for (const Slot& slot : slots_) {
    if (slot.handle != kClosed) source_->close(slot.handle);
  }
}

void TargetGroups::resize(std::size_t targets) {
  fit(slots_, targets);
  for (RowSet* set : {&wanted_, &lacking_, &changed_}) set->resize(targets);
  if (keeps_totals_) keep_totals();
  if (!standstills_.empty()) standstills_.resize(targets);
  if (can_lose_pmu()) {
    fit(shared_, targets);
    fit(estimators_, targets, blank_estimator(*plan_));
    return;
  }
  fit(exact_enabled_, targets);
  fit(exact_counts_, targets * plan_->estimated());
  if (!inexact_.empty()) fit(inexact_, targets);
}

void TargetGroups::forget(std::size_t target) {
  if (is_open(target)) source_->close(slots_[target].handle);
  slots_[target] = {};
  for (RowSet* set : {&wanted_, &lacking_, &changed_}) set->remove(target);
  if (keeps_totals_) {
    std::fill_n(kept_counts_.data() + target * plan_->estimated(), plan_->estimated(), 0);
    kept_times_[target] = {};
  }
  if (!standstills_.empty()) standstills_[target] = {};
  if (can_lose_pmu()) {
    shared_[target] = {};
    estimators_[target] = blank_estimator(*plan_);
    return;
  }
  exact_enabled_[target] = {};
  std::fill_n(exact_counts_.data() + target * plan_->estimated(), plan_->estimated(), 0);
  if (!inexact_.empty()) inexact_[target].reset();
}

void TargetGroups::keep_totals() {
  keeps_totals_ = true;
  kept_counts_.resize(slots_.size() * plan_->estimated());
  kept_times_.resize(slots_.size());
}

std::size_t TargetGroups::count_open() const {
  return static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.handle != kClosed; }));
}

int TargetGroups::open(std::size_t target, const std::shared_ptr<const cgroup::Cgroup>& cgroup,
                       PollReport& report) {
  Slot& slot = slots_[target];
  if (slot.polls_to_wait > 0) return 0;
  Result<CounterSource::Handle, perf::OpenFailure> opened =
      source_->open(*plan_, plan_->events, cgroup);
  const auto needed = std::span(plan_->events).first(plan_->events.size() - plan_->optional_events);
  // A shortage may have ended, so all are retried then.
  if (!opened && opened.error().event >= needed.size() &&
      bound_met_by(opened.error().error.code).empty()) {
    const perf::OpenFailure refused = opened.error();
    opened = source_->open(*plan_, needed, cgroup);
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
  slot.handle = *opened;
  slot.open_events = static_cast<std::uint8_t>(source_->events(*opened));
  slot.cgroup = cgroup;
  restart(target);
  if (is_paused_) pause(target, report);
  ++report.groups_opened;
  return 0;
}

/// Its counters begin at 0; the history is kept.
void TargetGroups::restart(std::size_t target) {
  Slot& slot = slots_[target];
  changed_.add(target);
  slot.was_read = slot.read_failed = slot.has_missed = false;
  slot.failures = 0;
  if (estimate::GroupEstimator* const estimator = find_estimator(target)) {
    estimator->restart();
  } else {
    exact_enabled_[target] = {};
    std::fill_n(exact_counts_.data() + target * plan_->estimated(), plan_->estimated(), 0);
  }
  if (can_lose_pmu()) {
    Shared& shared = shared_[target];
    const Shared before = std::exchange(shared, {});
    shared.is_rotated = before.is_rotated;
    shared.had_the_pmu = before.had_the_pmu;
  }
  if (slot.cgroup == nullptr) {
    standstills_.resize(slots_.size());
    standstills_[target] = {source_->now(), {}};
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
  source_->close(std::exchange(slot.handle, kClosed));
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
/// polls all of it has left the caches. Where elements are smaller than a cache line, the beginning
/// of the second next one has come with the end of the next one.
void TargetGroups::prefetch_after(std::size_t target) const {
  constexpr std::size_t kAhead = 2;
  const std::size_t next = target + kAhead;
  if (next >= slots_.size()) return;
  __builtin_prefetch(&slots_[next], 1);
  if (can_lose_pmu()) {
    __builtin_prefetch(&shared_[next], 1);
    __builtin_prefetch(&estimators_[next], 1);
  } else {
    __builtin_prefetch(exact_counts_.data() + next * plan_->estimated(), 1);
  }
}

Result<CounterSource::State> TargetGroups::read(std::size_t target, perf::GroupReading& reading) {
  prefetch_after(target);
  Slot& slot = slots_[target];
  Result<CounterSource::State> state = source_->read(slot.handle, reading);
  if (slot.read_failed == static_cast<bool>(state)) changed_.add(target);
  slot.read_failed = !state;
  slot.was_read = state && *state != CounterSource::State::kOffPmu;
  if (state && *state == CounterSource::State::kCounting) complete(target, reading);
  if (!state) {
    state.error().attempted =
        "read group '" + plan_->name + "' " + perf::describe(place_on(cpu_, slot.cgroup.get()));
  }
  return state;
}

Result<CounterSource::State> TargetGroups::read_last(std::size_t target,
                                                     perf::GroupReading& reading) {
  Slot& slot = slots_[target];
  Result<CounterSource::State> state = read(target, reading);
  if (!state || slot.was_read) return state;
  if (can_lose_pmu()) shared_[target].wanted.detect_loss();
  state = source_->read_off_pmu(slot.handle, reading);
  slot.was_read = state && *state == CounterSource::State::kCounting;
  if (!slot.was_read) return CounterSource::State::kOffPmu;
  complete(target, reading);
  return state;
}

/// A count that is no longer available is unchanged. Of the auxiliary events, those before it are
/// kept.
void TargetGroups::complete(std::size_t target, perf::GroupReading& reading) const {
  for (std::size_t event = 0; reading.unreadable.any() && event < reading.counts.size(); ++event) {
    if (!reading.unreadable.test(event)) continue;
    if (event < plan_->estimated()) {
      reading.counts[event] = last_counts(target)[event];
    } else {
      reading.counts.resize(event);
    }
  }
  if (reading.counts.size() < plan_->estimated()) {
    reading.counts.resize(plan_->estimated());  // opened without the optional events
  }
}

std::span<const std::uint64_t> TargetGroups::last_counts(std::size_t target) const {
  if (const auto* const estimator = find_estimator(target)) return estimator->last_counts();
  return std::span(exact_counts_).subspan(target * plan_->estimated(), plan_->estimated());
}

void TargetGroups::advance_to(std::size_t target, const perf::GroupReading& reading,
                              const AlwaysOn& always_on, const Learning& learning,
                              PollReport& report) {
  if (plan_->mode.pinned) {
    add_unmeasured(target, shared_[target].wanted.regained(reading.time_enabled, always_on.clock));
  }
  if (find_estimator(target) == nullptr && add_exactly(target, reading)) return;
  estimate(target, reading, always_on, learning, report);
}

/// For a group that never loses the PMU, without an estimator. Returns false, and adds nothing, if
/// it is more complicated: a total fell, or it was not running all the time.
bool TargetGroups::add_exactly(std::size_t target, const perf::GroupReading& reading) {
  const nanoseconds now = reading.time_enabled;
  if (reading.time_running != now) return false;
  const auto enabled = static_cast<std::uint64_t>(now.count()) -
                       static_cast<std::uint64_t>(exact_enabled_[target].count());
  bool any_fell = fell(enabled);
  std::uint64_t any = enabled;
  const std::size_t events = plan_->estimated();
  std::uint64_t* const last = exact_counts_.data() + target * events;
  std::array<std::uint64_t, perf::kMaxGroupMembers> increments;
  for (std::size_t event = 0; event < events; ++event) {
    increments[event] = reading.counts[event] - last[event];
    any_fell = any_fell || fell(increments[event]);
    any |= increments[event];
  }
  if (any_fell) return false;
  Slot& slot = slots_[target];
  if (!slot.measured) changed_.add(target);
  slot.measured = true;
  if (any != 0) {
    std::copy_n(reading.counts.begin(), events, last);
    exact_enabled_[target] = now;
    increments_.add_exact(target, nanoseconds{enabled}, std::span(increments).first(events));
  }
  if (enabled > 0) slot.wanted = slot.counted = true;  // note_wanted() notes the change
  for (std::size_t event = 0; keeps_totals_ && event < events; ++event) {
    kept_counts_[target * events + event] += increments[event];
  }
  if (keeps_totals_) kept_times_[target] += nanoseconds{enabled};
  note_counted(target);
  note_wanted(target, nanoseconds{enabled}, enabled > 0);
  slot.was_wanted = enabled > 0;
  return true;
}

estimate::GroupEstimator* TargetGroups::find_estimator(std::size_t target) {
  if (can_lose_pmu()) return &estimators_[target];
  return inexact_.empty() ? nullptr : inexact_[target].get();
}

const estimate::GroupEstimator* TargetGroups::find_estimator(std::size_t target) const {
  return const_cast<TargetGroups*>(this)->find_estimator(target);
}

/// The estimator of a group that cannot lose the PMU is created when it is needed, and continues
/// from the last reading.
estimate::GroupEstimator& TargetGroups::estimator(std::size_t target) {
  if (estimate::GroupEstimator* const made = find_estimator(target)) return *made;
  inexact_.resize(slots_.size());
  inexact_[target] = std::make_unique<estimate::GroupEstimator>(blank_estimator(*plan_));
  const std::size_t events = plan_->estimated();
  estimate::Sample last;
  last.enabled = last.running = exact_enabled_[target];
  last.counts = std::span(exact_counts_).subspan(target * events, events);
  std::vector<estimate::EventIncrement> known(events);
  (void)inexact_[target]->advance(last, {}, known, {});  // exact: no model is used or updated
  return *inexact_[target];
}

void TargetGroups::estimate(std::size_t target, const perf::GroupReading& reading,
                            const AlwaysOn& always_on, const Learning& learning,
                            PollReport& report) {
  Slot& slot = slots_[target];
  Shared* const shared = can_lose_pmu() ? &shared_[target] : nullptr;
  const nanoseconds enabled = shared == nullptr
                                  ? reading.time_enabled
                                  : shared->wanted.advance(reading.time_enabled, always_on.clock,
                                                           shared->is_rotated || is_paused_);
  estimate::Sample sample = sample_of(reading, *plan_, enabled, always_on);
  sample.is_stopped = shared != nullptr && shared->is_stopped && !is_paused_;
  sample.kernel_mistimes = learning.kernel_mistimes;
  learning.has_learned = true;
  const estimate::GroupIncrement increment =
      estimator(target).advance(sample, learning.models, learning.increments, learning.updates);
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
  if (!sample.is_stopped) note_wanted(target, increment.enabled, increment.running.count() > 0);
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

void TargetGroups::stand_still(std::size_t target) {
  note_wanted(target, nanoseconds{0}, false);
  slots_[target].was_wanted = false;
}

/// The kernel still holds the counts from before the place was lost, and returns them once there is
/// a place again. So the poll in which it was lost is accounted only then.
void TargetGroups::missed_its_place(std::size_t target, const AlwaysOn& always_on,
                                    PollReport& report) {
  // Back as soon as there is room; refused: no change.
  if (!is_paused_) (void)source_->enable(slots_[target].handle);
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
                                                         const perf::GroupReading& reading,
                                                         nanoseconds begun, nanoseconds ended) {
  constexpr nanoseconds kMax = std::chrono::milliseconds{20};  // a coarse clock has such ticks
  Standstill& seen = standstills_[target];
  const nanoseconds time = plan_->shares_pmu ? reading.time_enabled : reading.time_running;
  if (time != seen.went_on_to || is_paused_) seen = {ended, time};
  const nanoseconds standstill = begun - seen.went_on_until;
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
  if (!is_stopped) is_stopped = static_cast<bool>(source_->disable(slots_[target].handle));
}

void TargetGroups::start(std::size_t target) {
  if (!can_lose_pmu()) return;  // never stopped
  bool& is_stopped = shared_[target].is_stopped;
  if (is_stopped) is_stopped = !is_paused_ && !source_->enable(slots_[target].handle);
}

/// The source gets the state each time: counters that targets share may be those of an earlier
/// plan, and stay while no target is open. What failed is tried again at each poll.
void TargetGroups::set_paused(bool paused, PollReport& report) {
  if (!plan_->shares_pmu) return;
  const bool has_failed = std::exchange(pause_failed_, false);
  const bool has_changed = paused != std::exchange(is_paused_, paused);
  note_pause(source_->set_paused(*plan_, paused), nullptr, report);
  if (!has_changed && !has_failed) return;
  for (std::size_t target = 0; target < slots_.size(); ++target) {
    if (can_stop(target)) pause(target, report);
  }
}

/// What is stopped by manual rotation stays so.
void TargetGroups::pause(std::size_t target, PollReport& report) {
  const CounterSource::Handle handle = slots_[target].handle;
  if (!source_->can_stop(handle)) {
    return note_pause(source_->set_paused(*plan_, is_paused_), cgroup(target), report);
  }
  if (shared_[target].is_stopped) return;
  note_pause(is_paused_ ? source_->disable(handle) : source_->enable(handle), cgroup(target),
             report);
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
