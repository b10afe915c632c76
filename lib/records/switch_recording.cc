#include "records/switch_recording.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "records/record_cost.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// The clock of the kernel that events are measured with may have ticks as coarse as this.
constexpr nanoseconds kMaxTick = std::chrono::milliseconds{20};
/// By the instants of their records, the times of a cgroup in a group and in the base differ by
/// less than one of so many.
constexpr int kOffsetsAreOneOf = 10'000;

}  // namespace

/// Of one drain.
class SwitchRecording::Visitor {
 public:
  explicit Visitor(SwitchRecording& recording) : to_(recording) {}

  void operator()(const perf::SwitchRecord& record) const { to_.attribution_.record(record); }
  void operator()(const perf::NewCgroup&) const {}  // NamesRing has them
  void operator()(const perf::Loss& loss) const { to_.attribution_.loss(loss.records); }

 private:
  SwitchRecording& to_;
};

Result<std::unique_ptr<SwitchRecording>> SwitchRecording::open(perf::PerfKernel& kernel, int cpu,
                                                               perf::RingSize size,
                                                               const CountingPlan& plan,
                                                               OwnCgroup own_cgroup, Moves moves) {
  Result<perf::SwitchRing> ring = perf::SwitchRing::open(kernel, cpu, size, false);
  if (!ring) return ring.error();
  std::unique_ptr<SwitchRecording> recording{
      new SwitchRecording(kernel, std::move(*ring), std::move(own_cgroup), std::move(moves))};
  if (const Result<> base = recording->open_base(plan); !base) return base.error();
  return recording;
}

SwitchRecording::SwitchRecording(perf::PerfKernel& kernel, perf::SwitchRing ring,
                                 OwnCgroup own_cgroup, Moves moves)
    : kernel_(&kernel),
      ring_(std::move(ring)),
      find_own_cgroup_(std::move(own_cgroup)),
      own_cgroup_(find_own_cgroup_()),
      moves_(std::move(moves)),
      sums_(kernel.now()),
      attribution_(sums_),
      turns_(static_cast<unsigned>(ring_.cpu())),
      read_at_(kernel.now()) {}

/// A published group first: the base alone loses nothing at a move but what came before. Not a
/// group that another plan opens again, as the base stays. If an event of the plan's group is
/// refused here, that is reported when the group is opened.
Result<> SwitchRecording::open_base(const CountingPlan& plan) {
  for (const bool is_published : {true, false}) {
    for (const GroupPlan& group : plan.cgroup.groups) {
      if (group.is_published != is_published || group.shares_pmu) continue;
      if (!can_be_recorded(group) || has_probe_in_file(group)) continue;
      if (add(&group, group.events)) return {};
    }
  }
  const Result<std::size_t, perf::OpenFailure> base = add(nullptr, {});
  if (!base) return base.error().error;
  return {};
}

/// Without the moves where they cannot be noted.
Result<std::size_t, perf::OpenFailure> SwitchRecording::add_to_ring(
    std::span<const perf::CounterSpec> events) {
  if (moves_ && groups_.empty()) {
    Result<std::size_t, perf::OpenFailure> base = ring_.add_group(*kernel_, events, &*moves_);
    moves_refused_ = base ? std::nullopt : std::optional(base.error().error);
    if (base) return base;
  }
  return ring_.add_group(*kernel_, events);
}

Result<std::size_t, perf::OpenFailure> SwitchRecording::add(
    const GroupPlan* plan, std::span<const perf::CounterSpec> events) {
  const Result<std::size_t, perf::OpenFailure> added = add_to_ring(events);
  if (!added) return added.error();
  const bool is_base = groups_.empty();
  if (*added >= groups_.size()) groups_.resize(*added + 1);
  groups_[*added] = {.events = events.size(), .is_open = true};
  if (plan != nullptr) groups_[*added].plan = std::make_unique<const GroupPlan>(*plan);
  attribution_.add_group(*added, events.size(), is_base);
  if (groups_[*added].takes_turns()) turns_.add_member(kernel_->now());
  read_group(*added);
  return *added;
}

/// After a shortage all are tried again.
Result<std::size_t, perf::OpenFailure> SwitchRecording::add_all_or_needed(const GroupPlan& plan) {
  const std::span<const perf::CounterSpec> all = plan.events;
  const std::size_t needed = all.size() - plan.optional_events;
  Result<std::size_t, perf::OpenFailure> added = add(&plan, all);
  if (added || added.error().event < needed || is_shortage(added.error().error.code)) return added;
  const perf::OpenFailure refused = added.error();
  added = add(&plan, all.first(needed));
  if (added) groups_[*added].refused = refused;
  return added;
}

Result<std::size_t, perf::OpenFailure> SwitchRecording::open_group(const GroupPlan& group,
                                                                   std::size_t events) {
  const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& one) {
    return one.plan && one.plan->id == group.id;
  });
  std::size_t number = static_cast<std::size_t>(known - groups_.begin());
  if (known == groups_.end()) {
    const Result<std::size_t, perf::OpenFailure> added = add_all_or_needed(group);
    if (!added) return added.error();
    number = *added;
  }
  if (groups_[number].events < events) return *groups_[number].refused;
  return number;
}

void SwitchRecording::use(const CountingPlan& plan,
                          const std::function<bool(std::size_t group)>& is_used) {
  bool any_closed = false;
  for (std::size_t number = kBase + 1; number < groups_.size(); ++number) {
    const Group& group = groups_[number];
    const bool stays = !group.is_open || find_group(plan.cgroup, group.plan->id) || is_used(number);
    if (stays) continue;
    close(number);
    any_closed = true;
  }
  // With nothing of these groups left in the ring, new ones have the shortest records.
  if (any_closed) drain();
}

Result<> SwitchRecording::set_paused(const GroupPlan& plan, bool paused) {
  Result<> all;
  for (std::size_t number = 1; number < groups_.size(); ++number) {
    Group& group = groups_[number];
    if (group.plan == nullptr || group.is_paused == paused) continue;
    if (!has_counts_of(*group.plan, plan)) continue;
    const Result<> done = paused ? ring_.disable(*kernel_, number) : ring_.enable(*kernel_, number);
    if (!done) {
      all = done;
      continue;
    }
    group.is_paused = paused;
    end_waiting(group);
    if (group.takes_turns()) turns_.add_member(kernel_->now());
    attribution_.interrupt(number);
    if (paused) read_group(number);  // with what it has counted since the beginning of the poll
  }
  return all;
}

void SwitchRecording::close(std::size_t number) {
  ring_.remove_group(number);
  attribution_.remove_group(number);
  groups_[number] = {};
}

SwitchAttribution::Statistics SwitchRecording::poll(
    const std::shared_ptr<const cgroup::CgroupNames>& names) {
  set_names(names);
  find_own_cgroup();
  settle();
  const SwitchAttribution::Statistics statistics = attribution_.end_poll(kernel_->now());
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    Group& group = groups_[number];
    if (!group.is_open) continue;
    group.at_poll = {group.waited_when_read, attribution_.imperfect(number)};
    group.has_waited = group.at_poll.waited != group.before.waited;
    group.is_perfect = group.at_poll.imperfect == group.before.imperfect;
  }
  return statistics;
}

void SwitchRecording::take_changed(RowSet& slots) {
  sums_.take_changed(slots);
  for (Group& group : groups_) group.before = group.at_poll;
}

/// The times enabled are those of the base, whose records are some 100 ns before or after those of
/// the group; and before Linux 6.2 the clock of hardware events stands still while the kernel
/// switches them. So its own times running are not taken if it had the PMU in all intervals, at
/// least in those of this cgroup. While a group is off the PMU it writes no record: the times of
/// the whole CPU show that, unless it is paused, when they stand still too.
nanoseconds SwitchRecording::time_running(std::size_t group, nanoseconds enabled,
                                          nanoseconds recorded) const {
  const Group& of = groups_[group];
  const nanoseconds off_since_record = off_pmu(group) - attribution_.off_pmu(group);
  const bool has_the_pmu =
      !of.is_paused && !of.has_waited && off_since_record <= SwitchAttribution::kMaxOffPmu;
  const bool had_the_pmu = of.is_perfect || enabled - recorded <= enabled / kOffsetsAreOneOf;
  return has_the_pmu && had_the_pmu ? enabled : std::min(recorded, enabled);
}

/// If this thread was moved to another cgroup, its current interval may be of both. Without a
/// descriptor to find out, it is taken to be where it was.
void SwitchRecording::find_own_cgroup() {
  const std::optional<std::uint64_t> now = find_own_cgroup_();
  if (!now || now == std::exchange(own_cgroup_, now)) return;
  drain();
  attribution_.loss(0);
}

void SwitchRecording::between_polls() {
  const bool is_due = turns_.end() && kernel_->now() >= *turns_.end();
  is_due ? settle() : drain();
}

/// Reads the groups, drains the ring, and begins another turn if it is due. A group is stopped and
/// started while the cgroup of this thread has the CPU, whose interval ends with the last reading
/// before that, and begins with the start: nothing is lost.
void SwitchRecording::settle() {
  drain();  // how busy the CPU was until now
  const bool was_here = is_on_its_cpu();
  read_groups();
  const Turn turn = was_here ? next_turn() : no_turn();
  for (const std::size_t number : turn.stopped) stop(number);
  drain();
  const bool is_here = own_cgroup_ && was_here && is_on_its_cpu();
  if (is_here) add_readings();
  for (const std::size_t number : turn.started) start(number);
  if (is_here) return;
  for (const std::size_t number : turn.stopped) attribution_.interrupt(number);
  for (const std::size_t number : turn.started) attribution_.interrupt(number);
}

void SwitchRecording::add_readings() {
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    const Group& group = groups_[number];
    if (!group.is_open || group.error || group.is_broken_up) continue;
    const perf::GroupReading& now = group.reading;
    attribution_.reading({.group = number,
                          .cgroup = *own_cgroup_,
                          .enabled = now.time_enabled - group.waited_when_read,
                          .running = now.time_running,
                          .happened = group.happened,
                          .counts = now.counts});
  }
}

/// Also while all groups count: they may not fit on the PMU any more.
SwitchRecording::Turn SwitchRecording::next_turn() {
  const nanoseconds now = kernel_->now();
  if (turns_.end() && now < *turns_.end()) return {};
  const std::vector<GroupTurns::Member> members = members_of_turns();
  const SwitchAttribution::Statistics& statistics = attribution_.statistics();
  const std::vector<std::size_t> enabled =
      turns_.next(members, now, statistics.time - statistics.root_time);
  Turn turn;
  for (const GroupTurns::Member& member : members) {
    const bool is_next = std::find(enabled.begin(), enabled.end(), member.group) != enabled.end();
    if (is_next && !member.is_enabled) turn.started.push_back(member.group);
    if (!is_next && member.is_enabled) turn.stopped.push_back(member.group);
  }
  return turn;
}

/// This thread is kept off its CPU. Each turn would then cut an interval of a cgroup into two that
/// are not whole, so all groups count, and the kernel rotates them.
SwitchRecording::Turn SwitchRecording::no_turn() {
  turns_.interrupt();
  Turn turn;
  for (const GroupTurns::Member& member : members_of_turns()) {
    if (!member.is_enabled) turn.started.push_back(member.group);
  }
  return turn;
}

std::vector<GroupTurns::Member> SwitchRecording::members_of_turns() const {
  std::vector<GroupTurns::Member> members;
  for (std::size_t number = 1; number < groups_.size(); ++number) {
    const Group& group = groups_[number];
    if (!group.takes_turns()) continue;
    members.push_back({number, !group.waits_since, off_pmu(number)});
  }
  return members;
}

/// If that is refused, it counts in this turn too. The base is read again, as this thread may not
/// have run since it was.
void SwitchRecording::stop(std::size_t number) {
  if (!ring_.disable(*kernel_, number)) return;
  read_group(kBase);
  groups_[number].waits_since = base_time();
  read_group(number);
}

/// If that is refused, it is tried again in the next turn.
void SwitchRecording::start(std::size_t number) {
  read_group(kBase);
  if (!ring_.enable(*kernel_, number)) return;
  end_waiting(groups_[number]);
  attribution_.resume(number);
}

void SwitchRecording::end_waiting(Group& group) const {
  group.waited = waiting_time(group);
  group.waits_since.reset();
}

nanoseconds SwitchRecording::waiting_time(const Group& group) const {
  const nanoseconds now = group.waits_since ? base_time() - *group.waits_since : nanoseconds{0};
  return group.waited + now;
}

void SwitchRecording::set_names(const std::shared_ptr<const cgroup::CgroupNames>& names) {
  if (names == names_) return;
  names_ = names;
  sums_.set_names([names](std::uint64_t id) { return names->path_of(id); });
}

void SwitchRecording::read_group(std::size_t number) {
  Group& group = groups_[number];
  Result<> read = ring_.read(*kernel_, number, group.reading, group.happened);
  group.is_broken_up = !read && read.error().code == ENODEV;
  if (group.is_broken_up) {
    read = ring_.read_last(*kernel_, number, group.reading, group.happened);
  }
  group.error = read ? std::nullopt : std::optional(read.error());
  if (!read) return;
  group.waited_when_read = waiting_time(group);
  group.reading.time_enabled += group.waited_when_read;
}

Result<const perf::GroupReading*> SwitchRecording::reading_of_cpu(std::size_t group) const {
  if (groups_[group].error) return *groups_[group].error;
  return &groups_[group].reading;
}

bool SwitchRecording::runs_in(const cgroup::Cgroup& cgroup) const {
  if (own_cgroup_ == cgroup.id) return true;
  const std::string* const own = own_cgroup_ && names_ ? names_->path_of(*own_cgroup_) : nullptr;
  if (own == nullptr) return false;
  const std::string above = cgroup.path == "/" ? cgroup.path : cgroup.path + "/";
  return own->compare(0, above.size(), above) == 0;
}

/// Before the ring is drained: what is counted up to a switch after it is in a record.
void SwitchRecording::read_groups() {
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    if (groups_[number].is_open) read_group(number);
  }
  const nanoseconds now = kernel_->now();
  const nanoseconds enabled = groups_.front().reading.time_enabled;
  stands_still_ = enabled == base_enabled_ && now - read_at_ > kMaxTick;
  if (enabled == base_enabled_) return;
  base_enabled_ = enabled;
  read_at_ = now;
}

void SwitchRecording::drain() {
  const perf::RingReport report = ring_.drain(Visitor{*this});
  if (report.unreadable > 0) attribution_.loss(0);
}

void SwitchRecording::end() {
  read_group(kBase);
  const Group& base = groups_.front();
  attribution_.end({.group = kBase,
                    .enabled = base.reading.time_enabled,
                    .running = base.reading.time_running,
                    .happened = base.happened,
                    .counts = base.reading.counts});
}

bool SwitchRecording::is_on_its_cpu() const { return ::sched_getcpu() == ring_.cpu(); }

std::size_t SwitchRecording::counters() const {
  std::size_t counters = perf::SwitchRing::own_events();
  for (std::size_t number = 0; number < groups_.size(); ++number) counters += ring_.events(number);
  return counters;
}

}  // namespace pex::collect
