#include "collect/collector.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/alarm.h"
#include "base/boot_clock.h"
#include "base/duration.h"
#include "collect/joining.h"
#include "collect/worker.h"
#include "host/cpu_list.h"
#include "host/self_process.h"

namespace pex::collect {
namespace {

/// A late worker stays off its CPU for this long, before it tries again.
constexpr std::chrono::minutes kStaysOff{1};

Error late(const std::vector<int>& cpus, std::chrono::nanoseconds after) {
  return Error{
      0,
      "count on " + host::name_cpus(cpus) + ": no progress for " + format_duration(after) +
          "; polls are published with its last totals",
      "find out with ps -L -o tid,comm,stat,wchan -p PID what the exporter's thread of that CPU "
      "waits for: for the CPU (R), which a real-time task or a hang occupies, or inside the kernel "
      "(D), as calls for tracepoints do while others trace; or exclude the CPU with cpus.exclude"};
}

Error evidence_left_out() {
  return Error{
      0,
      "publish the evidence of groups that cannot lose the PMU, of which counts are lacking: "
      "limits.max_series leaves no room for it",
      "raise limits.max_series; until then, what is lacking is perf_group_enabled_seconds_total "
      "less perf_group_running_seconds_total"};
}

}  // namespace

/// What a call still uses after it has made a new poll, or end(), possible.
struct Collector::Shared : Worker::Shared {
  std::unique_ptr<Alarm> alarm;  ///< wakes the watching thread
  std::atomic<bool> stopping = false;
};

/// The duties of a worker that owns the round.
class Collector::Duties final : public Worker::Duties {
 public:
  explicit Duties(Collector& collector) : collector_(collector) {}
  void lead() override { collector_.lead(); }
  void finish(Worker& last) override {
    collector_.owner_ = &last;
    collector_.finish();
  }
  void publish(Snapshot snapshot) override { collector_.publish(std::move(snapshot)); }

 private:
  Collector& collector_;
};

Result<std::unique_ptr<Collector>> Collector::create(CounterSources sources, TargetTracker tracker,
                                                     Timeouts timeouts) {
  Result<std::unique_ptr<Alarm>> alarm = Alarm::create();
  if (!alarm) return alarm.error();
  auto shared = std::make_shared<Shared>();
  shared->alarm = std::move(*alarm);
  std::unique_ptr<Collector> collector{
      new Collector(std::move(sources), std::move(tracker), timeouts, std::move(shared))};
  try {
    collector->watching_ = std::thread([of = collector.get()] { of->watch(); });
  } catch (const std::system_error& refused) {
    return thread_refused(refused, "start the thread that leads the polls");
  }
  ::pthread_setname_np(collector->watching_.native_handle(), "polls");
  return collector;
}

Collector::Collector(CounterSources sources, TargetTracker tracker, Timeouts timeouts,
                     std::shared_ptr<Shared> shared)
    : duties_(std::make_unique<Duties>(*this)),
      sources_(std::move(sources)),
      timeouts_(timeouts),
      late_after_(timeouts.late),
      plan_(tracker.plan()),
      tracker_(std::move(tracker)),
      models_(std::make_shared<const EventModels>(*plan_)),
      sums_(plan_),
      starts_(*plan_),
      shared_(std::move(shared)),
      descriptor_(tracker_.descriptor()) {}

Collector::~Collector() {
  if (watching_.joinable()) (void)end();
  delete changes_.exchange(nullptr);
}

std::vector<int> Collector::end() {
  shared_->stopping = true;
  shared_->alarm->ring();
  watching_.join();
  for (const auto& worker : workers_) worker->ask_to_end();
  const auto now = Clock::now();
  if (!await_workers(now + timeouts_.late)) {
    for (const auto& worker : workers_) {
      if (worker->has_thread() && !worker->has_ended()) worker->move_off_cpu();
    }
    (void)await_workers(now + timeouts_.end);
  }
  std::vector<int> left_behind;
  newest_ = nullptr;
  for (const auto& worker : std::exchange(workers_, {})) {
    if (worker->has_thread() && !worker->release_thread()) left_behind.push_back(worker->cpu());
  }
  return left_behind;
}

bool Collector::await_workers(Clock::time_point deadline) const {
  const auto have_ended = [this] {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
      return worker->has_ended() || !worker->has_thread();
    });
  };
  while (!have_ended()) {
    if (!shared_->ended.wait_until(deadline)) return false;
  }
  return true;
}

/// Only the loop's thread leaves the idle state, and only the owner of the round returns to it.
bool Collector::poll(Done done) {
  State now = state_;
  if (now != State::kIdle && now != State::kReconciling) return false;
  done_ = std::move(done);
  if (now == State::kReconciling &&
      state_.compare_exchange_strong(now, State::kReconcilingThenPolling)) {
    return true;
  }
  state_ = State::kPolling;
  start();
  return true;
}

bool Collector::reconcile(std::function<void()> reconciled) {
  if (state_ != State::kIdle) return false;
  reconciled_ = std::move(reconciled);
  state_ = State::kReconciling;
  start();
  return true;
}

/// From the list, as a worker may just be added.
std::uint64_t Collector::steps() const {
  std::uint64_t steps = ended_;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older()) {
    steps += worker->progress();
  }
  return steps;
}

void Collector::watch() {
  host::block_signals();
  while (!shared_->stopping || state_ != State::kIdle) {
    const Alarm::Cause cause = shared_->alarm->wait();
    if (leads_.exchange(false)) {
      lead();
    } else if (cause == Alarm::Cause::kExpired && state_ != State::kIdle) {
      check_progress();
    }
  }
}

/// Waits for workers that make progress, however slow, as they may have thousands of counters to
/// open. If no CPU is available there is nothing new to publish. A worker that is kept off its CPU
/// while it owns the round or joins continues elsewhere.
void Collector::check_progress() {
  shared_->alarm->expire_after(late_after_);
  const std::uint32_t round = round_;
  if (shared_->latch.is_waiting()) {
    const bool is_enough = anyone_has_arrived() || shared_->stopping;
    if (!anyone_progresses(round) && is_enough && shared_->latch.close(round)) finish();
    return;
  }
  if (Worker* owner = owner_) owner->move_off_cpu();
  for (Worker* worker = newest_; worker != nullptr; worker = worker->older()) {
    if (worker->is_joining()) worker->move_off_cpu();
  }
}

bool Collector::anyone_progresses(std::uint32_t round) {
  bool anyone = false;
  for (Worker* worker = newest_; worker != nullptr; worker = worker->older()) {
    if (worker->is_at_work_in(round)) anyone = worker->has_made_progress() || anyone;
  }
  return anyone;
}

/// Of the CPUs that are online: the others have little to do.
bool Collector::anyone_has_arrived() const {
  if (none_online_) return true;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older()) {
    if (worker->is_online() && !worker->is_at_work()) return true;
  }
  return false;
}

/// Gives the round to the worker that leads it, or to the watching thread.
void Collector::start() {
  shared_->alarm->expire_after(late_after_);
  if (Worker* const first = find_first_worker()) {
    owner_ = first;
    first->lead();
  } else {
    owner_ = nullptr;
    leads_ = true;
    shared_->alarm->ring();
  }
}

Worker* Collector::find_first_worker() const {
  for (const auto& worker : workers_) {
    if (worker->has_thread() && !worker->is_at_work()) return worker.get();
  }
  return nullptr;
}

void Collector::change(TargetTracker::Changes changes) {
  delete changes_.exchange(new TargetTracker::Changes(std::move(changes)));
}

void Collector::apply_changes() {
  const std::unique_ptr<TargetTracker::Changes> changes{changes_.exchange(nullptr)};
  if (!changes) return;
  const std::shared_ptr<const CountingPlan> before = std::exchange(plan_, changes->plan);
  const PlanChange places = change_of(*before, *plan_);
  for (const auto& worker : workers_) worker->use(plan_);
  auto models = std::make_shared<EventModels>(*models_);
  models->change(*plan_, places);
  models_ = std::move(models);
  sums_.change(plan_, joined_.get());
  starts_.change(places, BootClock::now());
  tracker_.change(std::move(*changes));
}

void Collector::lead() {
  started_ = Clock::now();
  apply_changes();
  report_.now = {};
  take_results();  // of late workers
  tracker_.set_aside(std::exchange(feedback_.exhausted, {}), started_);
  tracker_.learn_names(std::exchange(feedback_.named, {}),
                       std::exchange(feedback_.lacks_names, false));
  const auto round =
      is_reconciliation() ? TargetTracker::Round::kReconciliation : TargetTracker::Round::kPoll;
  const auto before =
      std::exchange(targets_, tracker_.update(started_, report_, round, all_took_part_));
  descriptor_ = tracker_.descriptor();
  if (is_reconciliation() && targets_ == before && all_are_reconciled()) {
    return finish_reconciliation();
  }
  start_missing_threads();
  dispatch();
}

bool Collector::all_are_reconciled() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [&](const auto& worker) { return worker->is_reconciled_with(targets_); });
}

Worker& Collector::worker_for(int cpu) {
  const auto place =
      std::lower_bound(workers_.begin(), workers_.end(), cpu,
                       [](const auto& worker, int number) { return worker->cpu() < number; });
  if (place != workers_.end() && (*place)->cpu() == cpu) return **place;
  Worker& worker =
      **workers_.insert(place, std::make_shared<Worker>(*duties_, shared_, sources_.create(cpu),
                                                        plan_, cpu, newest_.load()));
  newest_ = &worker;
  return worker;
}

void Collector::start_missing_threads() {
  for (const int cpu : targets_->cpus->online) {
    Worker& worker = worker_for(cpu);
    if (worker.has_thread()) continue;
    if (const Result<> started = worker.start_thread(); !started) {
      report_.add_failure("start a worker thread", started.error());
    }
  }
}

/// Not for those that were late: their results are taken first. The round has no owner then, unless
/// all have arrived again. While only CPUs that were late are online, only the watching thread can
/// close it.
void Collector::dispatch() {
  std::vector<Worker*> free;
  none_online_ = targets_->cpus->online.empty();
  bool any_online = none_online_;
  for (const auto& worker : workers_) {
    worker->set_online(targets_->cpus->is_online(worker->cpu()));
    if (worker->is_late()) {
      worker->miss_round();
      continue;
    }
    free.push_back(worker.get());
    any_online = any_online || worker->is_online();
  }
  all_took_part_ = free.size() == workers_.size();
  shared_->latch.start(++round_, free.size() + (any_online ? 0 : 1));
  for (Worker* worker : free) {
    worker->begin(round_, {targets_, models_, is_reconciliation(), is_paused_}, started_);
  }
  for (Worker* worker : free) {
    if (!worker->has_thread()) worker->do_part();
  }
  shared_->alarm->expire_after(late_after_);
  if (shared_->latch.release()) finish();
}

void Collector::finish() {
  take_results();
  all_took_part_ = all_took_part_ && std::none_of(workers_.begin(), workers_.end(),
                                                  [](const auto& each) { return each->is_late(); });
  report_late_cpus();
  report_.cgroups_missed += std::exchange(feedback_.unopened, {}).size();
  is_reconciliation() ? finish_reconciliation() : join_parts();
}

/// Takes the results of the workers that have arrived since the last call.
void Collector::take_results() {
  std::vector<const ModelUpdates*> updates;
  for (const auto& worker : workers_) worker->take_results(report_, feedback_, updates);
  if (updates.empty()) return;
  auto models = std::make_shared<EventModels>(*models_);
  models->learn(updates);
  models_ = std::move(models);
}

void Collector::report_late_cpus() {
  for (const auto& worker : workers_) {
    if (!worker->is_late()) continue;
    worker->stay_off_cpu_until(started_ + kStaysOff);
    if (!is_reconciliation() && targets_->cpus->is_online(worker->cpu())) {
      report_.now.late_cpus.push_back(worker->cpu());
    }
  }
  if (!report_.now.late_cpus.empty()) {
    report_.add_failure("late CPUs", late(report_.now.late_cpus, late_after_));
  }
}

/// A poll that was requested meanwhile begins at once.
void Collector::finish_reconciliation() {
  const std::function<void()> reconciled = std::move(reconciled_);
  const std::shared_ptr<Shared> shared = shared_;
  ++ended_;
  shared->alarm->cancel();
  State now = State::kReconciling;
  if (!state_.compare_exchange_strong(now, State::kIdle)) {
    state_ = State::kPolling;
    reconciled();
    return start();
  }
  if (shared->stopping) shared->alarm->ring();
  reconciled();
}

/// Without other workers if there is little to join.
void Collector::join_parts() {
  std::vector<const CpuTotals*> parts;
  for (const auto& worker : workers_) {
    parts.push_back(&worker->totals());
    report_.now.add(worker->state());
  }
  const auto joining = std::make_shared<Joining>(plan_, targets_, *models_, parts, joined_);
  if (joining->pieces() == 0) return publish(joining->take());
  wake_joiners(joining);
  if (joining->work()) publish(joining->take());
}

void Collector::wake_joiners(const std::shared_ptr<Joining>& joining) {
  std::size_t wanted = joining->pieces() - 1;
  for (const auto& worker : workers_) {
    if (wanted == 0) return;
    const bool is_busy = worker->is_late() || worker->is_joining() || worker.get() == owner_;
    if (is_busy || !worker->has_thread()) continue;
    worker->help_to_join(joining);
    --wanted;
  }
}

void Collector::publish(Snapshot snapshot) {
  snapshot.starts = starts_;
  sums_.add_to(snapshot, Clock::now(), report_);
  if (limit_evidence(snapshot, tracker_.max_series())) {
    report_.add_failure("evidence", evidence_left_out());
  }
  auto published = std::make_shared<const Snapshot>(std::move(snapshot));
  joined_ = published;
  report_.now.uncounted =
      tracker_.uncounted(Clock::now(), [&published] { return counted_times(*published); });
  report_.now.duration = Clock::now() - started_;

  // From here on a new poll, or end(), may be called: only data of this call may be accessed.
  const Done done = std::move(done_);
  const std::shared_ptr<Shared> shared = shared_;
  PollReport report = std::exchange(report_, {});
  ++ended_;
  shared->alarm->cancel();
  state_ = State::kIdle;
  if (shared->stopping) shared->alarm->ring();
  done(std::move(report), std::move(published));
}

}  // namespace pex::collect
