#include "collect/records/record_source.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "collect/budget.h"
#include "collect/records/record_cost.h"
#include "collect/records/record_errors.h"
#include "collect/targets.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// For so long records are used while there are few cgroups. Each change costs a poll.
constexpr nanoseconds kKeepsRecords = std::chrono::minutes{1};
constexpr nanoseconds kTriesAgain = std::chrono::minutes{1};
constexpr nanoseconds kTriesAgainAtLast = std::chrono::minutes{64};
/// By the instants of their records, the times of a cgroup in a group and in the base differ by
/// less than one of so many.
constexpr int kOffsetsAreOneOf = 10'000;

/// What a group had counted when it is opened for one more target, but for 1 ns of its times: no
/// reading of an open group has none, or it stands still (TargetGroups::find_standstill()).
perf::GroupReading reading_before(const perf::GroupReading& now) {
  perf::GroupReading before = now;
  for (nanoseconds* const time : {&before.time_enabled, &before.time_running}) {
    *time = std::max(*time - nanoseconds{1}, nanoseconds{0});
  }
  return before;
}

bool is_losing(std::chrono::nanoseconds lost, const SwitchAttribution::Statistics& poll) {
  return lost > poll.time / 10;
}

void subtract(const perf::GroupReading& before, perf::GroupReading& reading) {
  reading.time_enabled -= std::min(before.time_enabled, reading.time_enabled);
  reading.time_running -= std::min(before.time_running, reading.time_running);
  const std::size_t events = std::min(before.counts.size(), reading.counts.size());
  for (std::size_t event = 0; event < events; ++event) {
    reading.counts[event] -= std::min(before.counts[event], reading.counts[event]);
  }
}

}  // namespace

RecordSource::RecordSource(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan,
                           int cpu, RecordOptions options, std::shared_ptr<RecordedCpus> by_records)
    : kernel_(kernel),
      plan_(std::move(plan)),
      cpu_(cpu),
      options_(std::move(options)),
      by_records_(std::move(by_records)),
      descriptors_(kernel_, cpu),
      check_(descriptors_, cpu),
      names_ring_(kernel_, cpu) {}

RecordSource::~RecordSource() { expect_records(false); }

void RecordSource::expect_records(bool expected) {
  if (expected == std::exchange(expects_records_, expected) || plan_->cgroup.empty()) return;
  by_records_->set(cpu_, expected);
}

/// A recorded group of scope cpu may go on where that of scope cgroup ends.
void RecordSource::use(const std::shared_ptr<const CountingPlan>& plan) {
  const std::shared_ptr<const CountingPlan> before =
      std::exchange(plan_, plan);  // groups are of it
  if (!recording_) return;
  check_.abandon();  // it counts a group of the plan before
  recording_->use(*plan_, [this](std::size_t group) {
    return std::any_of(opened_.begin(), opened_.end(), [group](const Opened& opened) {
      const bool is_recorded =
          opened.kind == Kind::kRecordedCgroup || opened.kind == Kind::kRecordedCpu;
      return is_recorded && opened.group == group;
    });
  });
}

/// A recording that stands still is opened again, as if the CPU had been offline.
bool RecordSource::begin_poll(const TargetSet& targets) {
  if (recording_ && !is_dead_) {
    check(recording_->poll(targets.names));
    if (recording_->stands_still()) note_dead();
    if (std::optional<Error> wrong = check_.poll(*recording_)) give_up(std::move(*wrong));
  }
  const Way before = std::exchange(way_, next_way(targets));
  if (recording_ && way_ != before && way_ == Way::kDescriptors) recording_->end();
  if (recorded_ == 0 && way_ == Way::kDescriptors) end_recording();
  names_have_use_ = targets.cpus->is_online(cpu_) && by_records_->among(targets.cpus->online) > 0;
  return way_ != before || (recording_ && is_dead_);
}

bool RecordSource::wants_records(const TargetSet& targets) {
  if (now() >= gave_up_until_ || !options_.use->is_allowed()) gave_up_.reset();
  if (gave_up_ || !options_.use->is_allowed()) return false;
  const std::size_t enough = options_.use->min_cgroups();
  const bool are_few = targets.present * 2 < enough;
  if (way_ == Way::kDescriptors || !are_few) {
    few_since_.reset();
    return targets.present >= enough || way_ == Way::kRecords;
  }
  if (!few_since_) few_since_ = now();
  return now() - *few_since_ < kKeepsRecords;
}

/// Records also without a target: a cgroup that ends before it is found is counted from its first
/// switch on.
RecordSource::Way RecordSource::next_way(const TargetSet& targets) {
  if (!wants_records(targets)) {
    const bool is_announced = !expects_records_;
    expect_records(false);
    return is_announced ? Way::kDescriptors : way_;
  }
  if (!targets.cpus->is_online(cpu_)) return way_;
  const bool has_records = recorded_ > 0 || start_recording();
  expect_records(has_records);
  return has_records ? Way::kRecords : Way::kDescriptors;
}

void RecordSource::end_recording() {
  losing_polls_ = 0;
  moving_since_.reset();
  check_.abandon();
  recording_.reset();
}

void RecordSource::check(const SwitchAttribution::Statistics& poll) {
  unreported_.records += poll.records;
  unreported_.lost += poll.lost;
  unreported_.skipped += poll.skipped;
  const std::chrono::nanoseconds lost = poll.lost_time - poll.moved_time;
  losing_polls_ = is_losing(lost, poll) ? losing_polls_ + 1 : 0;
  const bool loses_much = losing_polls_ == kLosingPolls || lost >= kMaxLost;
  if (!is_losing(poll.moved_time, poll)) {
    moving_since_.reset();
  } else if (!moving_since_) {
    moving_since_ = now();
  }
  if (moving_since_ && now() - *moving_since_ >= kMaxMoving) {
    give_up(tasks_move_often(poll, cpu_));
  } else if (loses_much && poll.lost > 0) {
    give_up(records_lost_often(poll, cpu_));
  } else if (loses_much || !poll.are_complete) {
    give_up(records_incomplete(poll, cpu_));
  }
}

/// Longer each time, unless records have been used for longer than that since.
void RecordSource::give_up(Error reason) {
  if (gave_up_) return;
  if (now() - gave_up_until_ >= gives_up_for_) gives_up_for_ = kTriesAgain;
  gave_up_until_ = now() + gives_up_for_;
  gives_up_for_ = std::min(2 * gives_up_for_, kTriesAgainAtLast);
  gave_up_ = std::move(reason);
  is_reported_ = false;
}

void RecordSource::report(PollReport& report, PollFeedback& feedback) {
  const SwitchAttribution::Statistics statistics = std::exchange(unreported_, {});
  report.switch_records.written += statistics.records;
  report.switch_records.lost += statistics.lost;
  report.switch_records.skipped += statistics.skipped;
  report.record_checks += check_.take_results();
  (way_ == Way::kRecords ? report.now.cpus_by_records : report.now.cpus_by_descriptors) += 1;
  report_losses(statistics.lost, report);
  if (gave_up_) {
    report.now.cpus_without_records.push_back(cpu_);
    report.now.why_no_records = gave_up_->attempted;
  }
  if (gave_up_ && !std::exchange(is_reported_, true)) {
    Error failure = *gave_up_;
    failure.attempted += "; cgroups are counted by descriptors there";
    report.add_failure("records of switches", failure, {{}, {}, {}, cpu_});
  }
  names_ring_.follow(names_have_use_);
  std::ranges::move(names_ring_.take(), std::back_inserter(feedback.named));
  if (!recording_) return;
  const std::size_t awaiting = recording_->sums().awaiting_names();
  report.now.unnamed_cgroups += awaiting;
  feedback.lacks_names = feedback.lacks_names || awaiting > 0;
}

/// What is lost is estimated, or not counted at all.
void RecordSource::report_losses(std::uint64_t lost, PollReport& report) {
  const PollReport::Subject here{{}, {}, {}, cpu_};
  if (lost > 0) report.add_failure("lost records", records_lost(lost, cpu_), here);
  if (!recording_) return;
  const CgroupSums::Unnamed unnamed = recording_->sums().unnamed();
  const std::uint64_t cgroups = unnamed.cgroups - unnamed_.cgroups;
  const nanoseconds time = unnamed.time - unnamed_.time;
  unnamed_ = unnamed;
  report.unnamed_time = saturating_sum(report.unnamed_time, time);
  if (cgroups == 0 || std::exchange(has_reported_unnamed_, true)) return;  // they may be outside
  report.add_failure("unnamed cgroups", cgroups_never_named(cgroups, time, cpu_), here);
}

std::optional<std::chrono::nanoseconds> RecordSource::detect_cpu_offline() {
  const auto away = descriptors_.detect_cpu_offline();
  if (away) note_dead();
  return away;
}

void RecordSource::forget_cpu() {
  descriptors_.forget_cpu();
  note_dead();
}

void RecordSource::note_dead() {
  if (recording_ && !is_dead_) recording_->end();
  is_dead_ = true;
  names_ring_.close();
}

/// The group of scope cgroup in plan_ whose records have what is asked for; null if none has.
const GroupPlan* RecordSource::recorded(const GroupPlan& group) const {
  if (way_ == Way::kDescriptors) return nullptr;
  const std::vector<GroupPlan>& groups = plan_->cgroup.groups;
  const auto same = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& one) { return has_counts_of(one, group); });
  return same == groups.end() ? nullptr : &*same;
}

Result<> RecordSource::start_recording() {
  if (is_dead_ && recorded_ == 0) end_recording();
  if (recording_) return {};
  is_dead_ = false;
  Result<std::unique_ptr<SwitchRecording>> opened =
      SwitchRecording::open(kernel_, cpu_, {options_.buffer_bytes, kMinRecordsBuffer}, *plan_,
                            options_.own_cgroup, options_.moves);
  if (!opened) {
    if (opened.error().code != ENODEV)
      give_up(records_refused(opened.error(), cpu_));  // else offline
    return opened.error();
  }
  recording_ = std::move(*opened);
  unnamed_ = {};
  return {};
}

Result<CounterSource::Handle, perf::OpenFailure> RecordSource::open(
    const GroupPlan& group, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  const GroupPlan* const by_records = recorded(group);
  if (by_records != nullptr) {
    const Result<> started = start_recording();
    if (!started && started.error().code == ENODEV) {
      return perf::OpenFailure{0, started.error()};  // the CPU is offline
    }
    if (started) {
      const Result<Opened, perf::OpenFailure> opened = open_recorded(*by_records, events, cgroup);
      if (!opened) return opened.error();
      return keep(*opened);
    }
    expect_records(false);
    way_ = Way::kDescriptors;
  }
  const Result<Opened, perf::OpenFailure> opened = open_descriptors(group, events, cgroup);
  if (!opened) return opened.error();
  return keep(*opened);
}

Result<RecordSource::Opened, perf::OpenFailure> RecordSource::open_recorded(
    const GroupPlan& recorded, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  const Result<std::size_t, perf::OpenFailure> group =
      recording_->open_group(recorded, events.size());
  if (!group) return group.error();
  ++recorded_;
  Opened opened{.kind = cgroup ? Kind::kRecordedCgroup : Kind::kRecordedCpu,
                .group = *group,
                .events = events.size()};
  opened.since = now();
  if (!recording_->is_paused(*group)) {
    opened.imperfect = recording_->attribution().imperfect(*group);
  }
  opened.waited = recording_->waited(*group);
  if (cgroup) {
    opened.target = recording_->sums().open(cgroup, *group);
  } else {
    opened.before = std::make_shared<const perf::GroupReading>(
        reading_before(recording_->last_reading_of_cpu(*group)));
  }
  return opened;
}

Result<RecordSource::Opened, perf::OpenFailure> RecordSource::open_descriptors(
    const GroupPlan& group, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  const Result<Handle, perf::OpenFailure> handle = descriptors_.open(group, events, cgroup);
  if (!handle) return handle.error();
  return Opened{
      .kind = Kind::kDescriptors, .descriptors = *handle, .events = descriptors_.events(*handle)};
}

CounterSource::Handle RecordSource::keep(const Opened& opened) {
  if (free_.empty()) {
    free_.push_back(static_cast<Handle>(opened_.size()));
    opened_.emplace_back();
  }
  const Handle handle = free_.back();
  free_.pop_back();
  opened_[handle] = opened;
  if (opened.kind == Kind::kRecordedCgroup) handles_.add(opened.target, handle);
  return handle;
}

/// The recording ends with its last handle, unless new cgroups are to be counted by it.
void RecordSource::close(Handle group) {
  const Opened closed = std::exchange(opened_[group], {});
  free_.push_back(group);
  if (closed.kind == Kind::kDescriptors) return descriptors_.close(closed.descriptors);
  if (closed.kind == Kind::kRecordedCgroup) {
    check_.forget(closed.target);
    handles_.remove(closed.target, group);
    recording_->sums().close(closed.target);
  }
  --recorded_;
  if (recorded_ == 0 && (is_dead_ || way_ == Way::kDescriptors)) end_recording();
}

Result<CounterSource::State> RecordSource::read(Handle group, perf::GroupReading& reading) {
  Opened& opened = opened_[group];
  switch (opened.kind) {
    case Kind::kRecordedCgroup:
      if (!recording_->sums().has_changed(opened.target, opened.group)) return State::kUnchanged;
      read_recorded(opened, reading);
      return State::kCounting;
    case Kind::kRecordedCpu:
      return read_cpu(opened, reading);
    case Kind::kDescriptors:
    case Kind::kClosed:
      break;
  }
  return descriptors_.read(opened.descriptors, reading);
}

nanoseconds RecordSource::take_lost(Handle group) {
  const Opened& opened = opened_[group];
  if (opened.kind != Kind::kRecordedCgroup) return {};
  return recording_->sums().take_lost(opened.target, opened.group);
}

/// Unless some are counted by descriptors.
bool RecordSource::take_changed(std::vector<Handle>& groups) {
  const std::vector<GroupPlan>& all = plan_->cgroup.groups;
  const bool all_recorded =
      recording_ && way_ == Way::kRecords && std::all_of(all.begin(), all.end(), can_be_recorded);
  if (!all_recorded) return false;
  groups.clear();
  recording_->sums().take_changed(changed_);
  for (const SwitchRecording::Target target : changed_) {
    handles_.for_each(target, [&](Handle handle) { groups.push_back(handle); });
  }
  return true;
}

Result<CounterSource::State> RecordSource::read_cpu(const Opened& opened,
                                                    perf::GroupReading& reading) const {
  const Result<const perf::GroupReading*> read = recording_->reading_of_cpu(opened.group);
  if (!read) return read.error();
  reading = **read;
  subtract(*opened.before, reading);
  reading.keep_first(opened.events);
  return State::kCounting;
}

/// The times enabled are those of the base, whose records are some 100 ns before or after those of
/// the group; and before Linux 6.2 the clock of hardware events stands still while the kernel
/// switches them. So its own times running are not taken if it had the PMU in all intervals since
/// the last read, at least in those of this cgroup; unless they are more, as some are decided late.
/// While a group is off the PMU it writes no record: the times of the whole CPU show that, unless
/// it is paused, when they stand still too.
void RecordSource::read_recorded(Opened& opened, perf::GroupReading& reading) {
  recording_->sums().read(opened.target, opened.group, reading);
  const std::uint64_t imperfect = recording_->attribution().imperfect(opened.group);
  const nanoseconds waited = recording_->waited(opened.group);
  const nanoseconds enabled = reading.time_enabled - opened.enabled;
  nanoseconds running =
      reading.time_running - std::exchange(opened.counted_for, reading.time_running);
  const bool has_the_pmu =
      !recording_->is_paused(opened.group) && waited == opened.waited &&
      recording_->off_pmu_since_record(opened.group) <= SwitchAttribution::kMaxOffPmu;
  const bool had_the_pmu = imperfect == opened.imperfect ||
                           (opened.imperfect && enabled - running <= enabled / kOffsetsAreOneOf);
  if (has_the_pmu && had_the_pmu) running = std::max(running, enabled);
  reading.time_running = std::min(opened.running + running, reading.time_enabled);
  note_busy(opened, enabled);
  opened.imperfect = imperfect;
  opened.waited = waited;
  opened.enabled = reading.time_enabled;
  opened.running = reading.time_running;
}

/// Not a new cgroup: tasks are moved into it, and where that is not noted, what a task did since
/// the last switch is counted for the cgroup that it leaves the CPU in.
void RecordSource::note_busy(const Opened& opened, nanoseconds time) {
  if (!options_.is_checked || !check_.is_busiest(time)) return;
  if (now() - opened.since < RecordCheck::kMinAge) return;
  if (recording_->runs_in(*recording_->sums().cgroup_of(opened.target))) return;
  check_.set_busiest(opened.target, time);
}

/// Only of groups that are pinned, which records do not have.
Result<CounterSource::State> RecordSource::read_off_pmu(Handle group, perf::GroupReading& reading) {
  return descriptors_.read_off_pmu(opened_[group].descriptors, reading);
}

bool RecordSource::can_stop(Handle group) const {
  return opened_[group].kind == Kind::kDescriptors;
}

Result<> RecordSource::disable(Handle group) {
  if (can_stop(group)) return descriptors_.disable(opened_[group].descriptors);
  return Error{EOPNOTSUPP, "stop a group that all cgroups share", {}};
}

Result<> RecordSource::enable(Handle group) {
  if (can_stop(group)) return descriptors_.enable(opened_[group].descriptors);
  return {};
}

/// A group of scope cpu may be recorded for scope cgroup, or may have been so before a reload.
Result<> RecordSource::set_paused(const GroupPlan& group, bool paused) {
  return recording_ ? recording_->set_paused(group, paused) : Result<>{};
}

std::size_t RecordSource::descriptors(Handle group) const {
  return opened_[group].kind == Kind::kDescriptors ? opened_[group].events : 0;
}

std::size_t RecordSource::own_events() const {
  return descriptors_.own_events() + check_.open_events() +
         (recording_ ? recording_->counters() : 0) + names_ring_.events();
}

int RecordSource::descriptor() const {
  return recording_ ? recording_->descriptor() : names_ring_.descriptor();
}

void RecordSource::between_polls() {
  names_ring_.drain();
  if (recording_) recording_->between_polls();
}

std::optional<nanoseconds> RecordSource::due_in() {
  if (!recording_ || !recording_->end_of_turn()) return {};
  return std::max(*recording_->end_of_turn() - now(), nanoseconds{0});
}

CounterSources record_sources(perf::PerfKernel& kernel,
                              const std::shared_ptr<const CountingPlan>& plan,
                              const RecordOptions& options) {
  const auto by_records = std::make_shared<RecordedCpus>();
  return {[&kernel, plan, options, by_records](int cpu) {
            return std::make_unique<RecordSource>(kernel, plan, cpu, options, by_records);
          },
          [by_records](const CountingPlan& counted, const MachineCpus& cpus) {
            return record_cost(counted, cpus, by_records->among(cpus.online));
          }};
}

}  // namespace pex::collect
