#include "count/target_groups.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
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

}  // namespace

TargetGroups::TargetGroups(const GroupPlan& plan, CounterSource& source, int cpu,
                           std::size_t targets)
    : plan_(&plan),
      source_(&source),
      counters_(source.counters_of(plan)),
      cpu_(cpu),
      estimation_(plan) {
  resize(targets);
}

void TargetGroups::resize(std::size_t targets) {
  fit(slots_, targets);
  for (RowSet* set : {&open_, &was_open_}) set->resize(targets);
  estimation_.resize(targets);
}

void TargetGroups::forget(std::size_t target) {
  if (is_open(target)) counters_->close(target);
  slots_[target] = {};
  for (RowSet* set : {&open_, &was_open_}) set->remove(target);
  estimation_.forget(target);
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
  if (!opened) return note_refusal(target, opened.error(), cgroup.get(), report);
  open_.add(target);
  slot.open_events = static_cast<std::uint8_t>(opened->events);
  slot.is_shared = opened->are_shared;
  slot.cgroup = cgroup;
  restart(target);
  if (is_paused_) pause(target, report);
  ++report.groups_opened;
  return 0;
}

int TargetGroups::note_refusal(std::size_t target, const perf::OpenFailure& failure,
                               const cgroup::Cgroup* cgroup, PollReport& report) {
  if (failure.error.code == ENODEV) return 0;  // offline since the list of CPUs was read
  if (cgroup != nullptr && !cgroup::still_exists(*cgroup)) return 0;
  report_refusal(failure, cgroup, report);
  Slot& slot = slots_[target];
  const unsigned polls_of_rest =
      std::min(1U << std::min<unsigned>(slot.failures, 31), kMaxPollsOfRest);
  slot.polls_to_wait = static_cast<std::uint8_t>(polls_of_rest + 1);  // the next one tries after
  if (slot.failures < std::numeric_limits<std::uint16_t>::max()) ++slot.failures;
  estimation_.note_change(target);
  return failure.error.code;
}

void TargetGroups::restart(std::size_t target) {
  Slot& slot = slots_[target];
  estimation_.note_change(target);
  slot.was_read = slot.read_failed = slot.has_missed = slot.is_stopped = false;
  slot.failures = 0;
  estimation_.begin(target);
  if (slot.cgroup == nullptr) advanced_at_ = source_->now();
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
  estimation_.end(target);
  counters_->close(target);
  open_.remove(target);
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
Result<GroupCounters::State> TargetGroups::read(std::size_t target, perf::GroupInterval& since) {
  constexpr std::size_t kAhead = 2;
  if (target + kAhead < slots_.size()) {
    __builtin_prefetch(&slots_[target + kAhead], 1);
    estimation_.prefetch(target + kAhead);
  }
  Slot& slot = slots_[target];
  Result<GroupCounters::State> state = counters_->read(target, since);
  if (slot.read_failed == static_cast<bool>(state)) estimation_.note_change(target);
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
  estimation_.detect_loss(target);
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
                       const AlwaysOn& always_on, const Estimation::Learning& learning,
                       PollReport& report) {
  const Slot& slot = slots_[target];
  const Estimation::Faults faults = estimation_.add(
      target, since, always_on, {slot.is_rotated, slot.is_stopped, is_paused_}, learning);
  if (faults.anomaly) report_anomaly(target, report);
  if (faults.mistimed) ++report.of_group(plan_->name).mistimed;
}

void TargetGroups::report_anomaly(std::size_t target, PollReport& report) const {
  ++report.of_group(plan_->name).anomalies;
  report.add_failure(
      "anomaly " + plan_->name,
      Error{0,
            "a total of group '" + plan_->name +
                "' fell since the last reading, or rose by more than a CPU can count",
            "none: counting continues from the new total; this interval is unmeasured, or scaled "
            "by time if the total is that of the reference"},
      subject(target));
}

/// The kernel still holds the counts from before the place was lost, and returns them once there is
/// a place again. So the poll in which it was lost is accounted only then.
void TargetGroups::missed_its_place(std::size_t target, const AlwaysOn& always_on,
                                    PollReport& report) {
  // Back as soon as there is room; refused: no change.
  if (!is_paused_) (void)counters_->set_enabled(target, true);
  estimation_.add_loss(target, always_on.clock);
  if (is_paused_) return;  // nobody asks for its place
  ++report.of_group(plan_->name).pinned_errors;
  if (!plan_->is_published) return;  // a reference: the others continue without it
  ++report.now.groups_off_pmu;
  report.add_failure("pinned " + plan_->name, off_pmu(plan_->name, cpu_), subject(target, cpu_));
}

/// Of events that never lose the PMU only the time running shows that they are alive: if an event
/// of another PMU activates the context, only theirs still stands still.
std::optional<nanoseconds> TargetGroups::find_standstill(const perf::GroupInterval& since,
                                                         nanoseconds begun, nanoseconds ended) {
  constexpr nanoseconds kMax = std::chrono::milliseconds{20};  // a coarse clock has such ticks
  const nanoseconds time = plan_->shares_pmu ? since.enabled : since.running;
  if (time.count() > 0 || since.time_fell || is_paused_) advanced_at_ = ended;
  const nanoseconds standstill = begun - advanced_at_;
  return standstill > kMax ? std::optional(standstill) : std::nullopt;
}

void TargetGroups::set_wanted(std::size_t target, bool wanted) {
  Slot& slot = slots_[target];
  if (slot.is_wanted == wanted) return;
  slot.is_wanted = wanted;
  estimation_.note_change(target);
  const unsigned next = estimation_.polls() + 1;
  if (wanted && slot.first_wanted == 0) slot.first_wanted = next;
  if (!wanted && slot.first_wanted == next) slot.first_wanted = 0;  // not up to the end of a poll
}

void TargetGroups::end_poll(nanoseconds now) {
  estimation_.end_poll(now, [this](std::size_t target) { report_state(target); });
}

void TargetGroups::report_state(std::size_t target) {
  const GroupState now = state(target);
  const GroupState before = std::exchange(slots_[target].reported, now);
  if (now != before) estimation_.increments().change_state(target, before, now);
}

GroupState TargetGroups::state(std::size_t target) const {
  const Slot& slot = slots_[target];
  const Estimation::Known& known = estimation_.known(target);
  const bool open = is_open(target);
  return {.is_wanted = slot.is_wanted,
          .is_open = open,
          .has_failed = has_failed(target),
          .is_unreadable = open && slot.read_failed,
          .measured = known.measured,
          .counted = known.counted,
          .wanted = known.wanted,
          .was_on_pmu = known.was_on_pmu,
          .lacks_the_pmu = estimation_.lacks_the_pmu(target)};
}

void TargetGroups::stop(std::size_t target) {
  Slot& slot = slots_[target];
  if (!slot.is_stopped) slot.is_stopped = static_cast<bool>(counters_->set_enabled(target, false));
}

void TargetGroups::start(std::size_t target) {
  Slot& slot = slots_[target];
  if (slot.is_stopped) slot.is_stopped = !is_paused_ && !counters_->set_enabled(target, true);
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
  if (slots_[target].is_stopped) return;
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
  if (!plan_->can_lose_pmu()) return;  // always counts
  slots_[target].is_rotated = rotated;
  estimation_.forget_starving(target);
}

}  // namespace pex::collect
