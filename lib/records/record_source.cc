#include "records/record_source.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "records/record_cost.h"
#include "records/record_errors.h"
#include "targets/targets.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// For so long records are used while there are few cgroups. Each change costs a poll.
constexpr nanoseconds kKeepsRecords = std::chrono::minutes{1};
constexpr nanoseconds kTriesAgain = std::chrono::minutes{1};
constexpr nanoseconds kTriesAgainAtLast = std::chrono::minutes{64};

bool is_losing(nanoseconds lost, const SwitchAttribution::Statistics& poll) {
  return lost > poll.time / 10;
}

}  // namespace

/// One group, at each target by records or by descriptors, as it was opened.
class RecordSource::Group final : public GroupCounters {
 public:
  Group(RecordSource& source, const GroupPlan& plan)
      : source_(source),
        descriptors_(source.kernel_, source.cpu_, plan.events.size(), source.clocks_),
        last_(perf::words_of_last_reading(plan.events.size())) {}
  ~Group() override {
    const RowSet open = recorded_;
    open.for_each([this](std::size_t target) { close(target); });
  }

  Result<Opened, perf::OpenFailure> open(
      std::size_t target, const GroupPlan& group, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) override;
  void close(std::size_t target) override;
  Result<State> read(std::size_t target, perf::GroupInterval& since) override;
  Result<State> read_off_pmu(std::size_t target, perf::GroupInterval& since) override {
    return descriptors_.read_off_pmu(target, since);  // pinned: records do not have it
  }
  Result<> set_enabled(std::size_t target, bool enabled) override {
    if (!recorded_.contains(target)) return descriptors_.set_enabled(target, enabled);
    return Error{EOPNOTSUPP, "stop a group that all cgroups share", {}};
  }
  /// A group of scope cpu may be recorded for scope cgroup, or may have been so before a reload.
  Result<> set_paused(const GroupPlan& group, bool paused) override {
    return source_.recording_ ? source_.recording_->set_paused(group, paused) : Result<>{};
  }

 private:
  void begin_cpu();
  Result<State> read_cpu(perf::GroupInterval& since);
  State read_cgroup(std::size_t slot, perf::GroupInterval& since);

  RecordSource& source_;
  DescriptorGroup descriptors_;
  RowSet recorded_;  ///< targets
  bool is_of_cpu_ = false;
  std::size_t number_ = 0;           ///< of the recording
  std::vector<std::uint64_t> last_;  ///< of the whole CPU: its last reading
  std::size_t events_ = 0;           ///< the same: that are open
};

RecordSource::RecordSource(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan,
                           int cpu, RecordOptions options, std::shared_ptr<RecordedCpus> by_records)
    : kernel_(kernel),
      plan_(std::move(plan)),
      cpu_(cpu),
      options_(std::move(options)),
      by_records_(std::move(by_records)),
      descriptors_(kernel_, cpu),
      check_(kernel_, cpu),
      names_ring_(kernel_, cpu) {}

RecordSource::~RecordSource() { expect_records(false); }

void RecordSource::expect_records(bool expected) {
  if (expected == std::exchange(expects_records_, expected) || plan_->cgroup.empty()) return;
  by_records_->set(cpu_, expected);
}

/// A recorded group of scope cpu may go on where that of scope cgroup ends.
void RecordSource::use(const std::shared_ptr<const CountingPlan>& plan) {
  const auto before = std::exchange(plan_, plan);  // groups are of it
  if (!recording_) return;
  check_.abandon();  // it counts a group of the plan before
  recording_->use(*plan_, [this](std::size_t number) {
    return number < targets_of_.size() && targets_of_[number] > 0;
  });
}

std::unique_ptr<GroupCounters> RecordSource::counters_of(const GroupPlan& group) {
  return std::make_unique<Group>(*this, group);
}

/// A recording that stands still is opened again, as if the CPU had been offline.
bool RecordSource::begin_poll(const TargetSet& targets) {
  if (recording_ && !is_dead_) {
    check(recording_->poll(targets.names));
    if (recording_->stands_still()) note_dead();
    if (std::optional<Error> wrong = check_.poll(*recording_)) give_up(std::move(*wrong));
    recording_->sums().give();  // what the check has drained
  }
  const Way before = std::exchange(way_, next_way(targets));
  if (recording_ && way_ != before && way_ == Way::kDescriptors) recording_->end();
  if (recorded_ == 0 && way_ == Way::kDescriptors) end_recording();
  names_have_use_ = targets.cpus->is_online(cpu_) && by_records_->among(targets.cpus->online) > 0;
  return way_ != before || (recording_ && is_dead_);
}

bool RecordSource::wants_records(const TargetSet& targets) {
  const std::size_t enough = targets.min_recorded;
  if (now() >= gave_up_until_ || enough == kNeverRecorded) gave_up_.reset();
  if (gave_up_ || enough == kNeverRecorded) return false;
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
  lost_lately_ = {};
  moving_since_.reset();
  check_.abandon();
  recording_.reset();
}

void RecordSource::check(const SwitchAttribution::Statistics& poll) {
  unreported_ += {poll.records, poll.lost, poll.skipped};
  const std::chrono::nanoseconds lost = poll.lost_time - poll.moved_time;
  losing_polls_ = is_losing(lost, poll) ? losing_polls_ + 1 : 0;
  const std::chrono::nanoseconds tolerated = (poll.time - poll.lost_time) / 100 * kMaxLostPercent;
  lost_lately_ = std::max(lost_lately_ + lost - tolerated, nanoseconds{0});
  const bool loses_much = losing_polls_ == kLosingPolls || lost_lately_ >= kMaxLost;
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
  const PollReport::SwitchRecords records = std::exchange(unreported_, {});
  report.switch_records += records;
  report.record_checks += check_.take_results();
  (way_ == Way::kRecords ? report.now.cpus_by_records : report.now.cpus_by_descriptors) += 1;
  report_losses(records.lost, report);
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

std::optional<nanoseconds> RecordSource::detect_cpu_offline(bool is_online) {
  const auto away = descriptors_.detect_cpu_offline(is_online);
  if (away || !is_online) note_dead();
  return away;
}

void RecordSource::note_dead() {
  if (recording_ && !is_dead_) recording_->end();
  is_dead_ = true;
  names_ring_.close();
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

/// The group of scope cgroup in plan_ by whose records the group is to be counted; null: by
/// descriptors. Fails if the CPU is offline.
Result<const GroupPlan*> RecordSource::find_recorded(const GroupPlan& group) {
  const std::vector<GroupPlan>& groups = plan_->cgroup.groups;
  const auto same = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& one) { return has_counts_of(one, group); });
  if (way_ == Way::kDescriptors || same == groups.end()) return nullptr;
  const Result<> started = start_recording();
  if (started) return &*same;
  if (started.error().code == ENODEV) return started.error();
  expect_records(false);
  way_ = Way::kDescriptors;
  return nullptr;
}

Result<GroupCounters::Opened, perf::OpenFailure> RecordSource::Group::open(
    std::size_t target, const GroupPlan& group, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  const Result<const GroupPlan*> by = source_.find_recorded(group);
  if (!by) return perf::OpenFailure{0, by.error()};
  if (*by == nullptr) return descriptors_.open(target, group, events, cgroup);
  const Result<std::size_t, perf::OpenFailure> number =
      source_.recording_->open_group(**by, events.size());
  if (!number) return number.error();
  number_ = *number;
  recorded_.set(target, true);
  std::vector<std::size_t>& targets = source_.targets_of_;
  if (number_ >= targets.size()) targets.resize(number_ + 1);
  ++targets[number_];
  ++source_.recorded_;
  is_of_cpu_ = cgroup == nullptr;
  events_ = events.size();
  is_of_cpu_ ? begin_cpu() : source_.recording_->sums().open(target, cgroup, number_);
  return Opened{.events = events.size(), .are_shared = true};
}

/// The recording ends with its last target, unless new cgroups are to be counted by it.
void RecordSource::Group::close(std::size_t target) {
  if (!recorded_.contains(target)) return descriptors_.close(target);
  recorded_.remove(target);
  if (!is_of_cpu_) {
    source_.check_.forget(target);
    source_.recording_->sums().close(target);
  }
  --source_.targets_of_[number_];
  const bool is_last = --source_.recorded_ == 0;
  if (is_last && (source_.is_dead_ || source_.way_ == Way::kDescriptors)) source_.end_recording();
}

Result<GroupCounters::State> RecordSource::Group::read(std::size_t target,
                                                       perf::GroupInterval& since) {
  if (!recorded_.contains(target)) return descriptors_.read(target, since);
  if (is_of_cpu_) return read_cpu(since);
  return read_cgroup(target, since);
}

/// From what the group had counted then, but for 1 ns of its times: no interval of an open group is
/// without time, or it stands still (TargetGroups::find_standstill()).
void RecordSource::Group::begin_cpu() {
  perf::GroupReading before = source_.recording_->last_reading_of_cpu(number_);
  for (nanoseconds* const time : {&before.time_enabled, &before.time_running}) {
    *time = std::max(*time - nanoseconds{1}, nanoseconds{0});
  }
  before.keep_first(events_);
  std::fill(last_.begin(), last_.end(), 0);
  perf::GroupInterval unused;
  perf::advance(last_, before, unused);
}

Result<GroupCounters::State> RecordSource::Group::read_cpu(perf::GroupInterval& since) {
  const Result<const perf::GroupReading*> read = source_.recording_->reading_of_cpu(number_);
  if (!read) return read.error();
  perf::GroupReading now = **read;
  now.keep_first(events_);
  perf::advance(last_, now, since);
  return State::kCounting;
}

GroupCounters::State RecordSource::Group::read_cgroup(std::size_t slot,
                                                      perf::GroupInterval& since) {
  SwitchRecording& recording = *source_.recording_;
  if (!recording.sums().take(slot, number_, since)) return State::kUnchanged;
  since.running = recording.time_running(number_, since.enabled, since.running);
  source_.note_busy(slot, since.enabled);
  return State::kCounting;
}

/// Unless some are counted by descriptors.
bool RecordSource::take_changed(RowSet& slots) {
  if (!recording_) return false;
  recording_->take_changed(slots);
  const std::vector<GroupPlan>& all = plan_->cgroup.groups;
  return way_ == Way::kRecords && std::all_of(all.begin(), all.end(), can_be_recorded);
}

/// Not a new cgroup: tasks are moved into it, and where that is not noted, what a task did since
/// the last switch is counted for the cgroup that it leaves the CPU in.
void RecordSource::note_busy(std::size_t slot, nanoseconds time) {
  if (!options_.is_checked || !check_.is_busiest(time)) return;
  if (now() - recording_->sums().opened_after(slot) < RecordCheck::kMinAge) return;
  if (recording_->runs_in(*recording_->sums().cgroup_of(slot))) return;
  check_.set_busiest(slot, time);
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
