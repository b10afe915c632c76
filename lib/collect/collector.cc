#include "collect/collector.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/alarm.h"
#include "base/duration.h"
#include "base/semaphore.h"
#include "collect/cpu_totals.h"
#include "collect/joining.h"
#include "collect/poll_cycle.h"
#include "collect/round_latch.h"
#include "host/cpu_list.h"
#include "host/self_process.h"

namespace pex::collect {
namespace {

/// A worker that was late stays off its CPU for so long, before it tries again.
constexpr std::chrono::minutes kStaysOff{1};

/// Signals are the business of the loop's thread.
void leave_signals_to_the_loop() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

Error late(const std::vector<int>& cpus, std::chrono::nanoseconds after) {
  const std::string which = (cpus.size() > 1 ? "CPUs " : "CPU ") + host::format_cpu_list(cpus);
  return Error{
      0,
      "count on " + which + ": no progress for " + format_duration(after) +
          ", so polls are published with the totals that were last read there",
      "find what keeps other tasks off the CPU (a real-time task, a hang), or leave it out "
      "with cpus.exclude"};
}

}  // namespace

/// Held by every worker as well, as one that was left behind may come back when the collector is
/// gone.
struct Collector::Shared {
  std::unique_ptr<Alarm> alarm;  ///< wakes the watching thread
  RoundLatch latch;
  std::atomic<bool> stopping = false;
  Semaphore ended;  ///< posted by each worker that has ended
};

/// A snapshot in the making, for any number of threads.
struct Collector::Join {
  Join(const std::shared_ptr<const CountingPlan>& plan,
       const std::shared_ptr<const TargetSet>& targets, const EventModels& models,
       std::span<const CpuTotals* const> parts)
      : joining(plan, targets, models, parts) {}

  /// Joins piece after piece, until there is none that nobody has begun. True for who has ended the
  /// last of all.
  bool work() {
    const std::size_t pieces = joining.pieces();
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      joining.join(piece);
      if (++done == pieces) return true;
    }
    return false;
  }

  Joining joining;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
};

struct Collector::Worker {
  /// What it is to do; belongs to the owner of the round while the worker is not at work.
  struct Order {
    std::shared_ptr<const TargetSet> targets;
    std::shared_ptr<const EventModels> models;
    bool is_reconciliation = false;
    bool stays_off = false;  ///< its CPU, where it was late
  };

  Worker(Collector& owner, int number, const Worker* next)
      : cpu(number),
        older(next),
        collector(owner),
        shared(owner.shared_),
        cycle(std::in_place, owner.sources_.create(number), owner.plan_, number),
        left(*owner.plan_, number),
        taken(*owner.plan_, number) {}

  void serve();
  void do_part();
  void help_to_join();
  void move_off_cpu() const;

  const int cpu;
  const Worker* const older;  ///< in the list that begins with newest_
  Collector& collector;       ///< only of the owner of the round: else it may be gone
  const std::shared_ptr<Shared> shared;
  Semaphore wake;
  std::thread thread;
  bool has_thread = false;          ///< set before its first part, and then the same for good
  std::atomic<bool> leads = false;  ///< has been given the round, to lead()
  std::atomic<bool> is_joining = false;
  std::atomic<bool> is_at_work = false;
  std::atomic<bool> must_end = false;
  std::atomic<bool> has_ended = false;
  std::atomic<std::uint32_t> round = 0;                  ///< of its last part
  std::atomic<bool> is_online = false;                   ///< its CPU, when that was handed out
  mutable std::atomic<std::uint64_t> seen_progress = 0;  ///< when it was last checked
  mutable std::atomic<bool> was_moved_off = false;

  // Its own while it is at work, else of the owner of the round.
  Order order;
  std::optional<PollCycle> cycle;  ///< gone once it has ended
  PollCycle::Outcome outcome;      ///< of its last part
  CpuTotals left;                  ///< after its last poll
  bool has_news = false;
  bool is_pinned = false;

  std::shared_ptr<Join> join;  ///< its own while it is joining

  // Of the owner of the round.
  CpuTotals taken;          ///< of the last part that has arrived
  PollReport::State state;  ///< likewise
  bool is_late = false;     ///< was at work when it was last asked for what it has done
  std::optional<Clock::time_point> stays_off_until;
};

void Collector::Worker::serve() {
  leave_signals_to_the_loop();
  for (;;) {
    wake.wait();
    if (leads.exchange(false)) collector.lead();
    if (is_joining.load(std::memory_order_acquire)) help_to_join();
    if (is_at_work.load(std::memory_order_acquire)) {
      do_part();
    } else if (must_end) {
      break;
    }
  }
  order = {};
  cycle.reset();  // its counters are closed on their own CPU
  has_ended = true;
  shared->ended.post();
}

void Collector::Worker::do_part() {
  const bool was_moved = was_moved_off.exchange(false) || order.stays_off;
  if (!is_online || was_moved || cycle->cpu_was_offline()) is_pinned = false;
  if (is_online && !order.stays_off && !is_pinned && has_thread) {
    is_pinned = host::bind_thread_to(cpu);
  }
  outcome = order.is_reconciliation ? cycle->reconcile(order.targets, *order.models)
                                    : cycle->run(order.targets, *order.models);
  if (!order.is_reconciliation) left.copy(*cycle, *order.targets);
  has_news = true;
  const std::uint32_t of_round = round;
  is_at_work.store(false, std::memory_order_release);
  if (!shared->latch.arrive(of_round)) return;
  collector.owner_ = this;
  collector.finish();
}

void Collector::Worker::help_to_join() {
  const std::shared_ptr<Join> mine = std::move(join);
  const bool is_last = mine->work();
  is_joining.store(false, std::memory_order_release);
  if (is_last) collector.publish(mine->joining.take());
}

/// Kept off by a real-time task, it goes on elsewhere.
void Collector::Worker::move_off_cpu() const {
  was_moved_off = true;
  host::move_thread_off(const_cast<std::thread&>(thread).native_handle(), cpu);
}

Result<std::unique_ptr<Collector>> Collector::create(CounterSources sources, TargetTracker tracker,
                                                     Patience patience) {
  Result<std::unique_ptr<Alarm>> alarm = Alarm::create();
  if (!alarm) return alarm.error();
  auto shared = std::make_shared<Shared>();
  shared->alarm = std::move(*alarm);
  std::unique_ptr<Collector> collector{
      new Collector(std::move(sources), std::move(tracker), patience, std::move(shared))};
  try {
    collector->watching_ = std::thread([of = collector.get()] { of->watch(); });
  } catch (const std::system_error& refused) {
    return Error{
        refused.code().value(), "start the thread that leads the polls",
        "raise " + ProgramTerm::kTaskLimit + ", or the container's limit on processes (pids.max)"};
  }
  ::pthread_setname_np(collector->watching_.native_handle(), "polls");
  return collector;
}

Collector::Collector(CounterSources sources, TargetTracker tracker, Patience patience,
                     std::shared_ptr<Shared> shared)
    : sources_(std::move(sources)),
      patience_(patience),
      late_after_(patience.late),
      plan_(tracker.plan()),
      tracker_(std::move(tracker)),
      models_(std::make_shared<const EventModels>(*plan_)),
      shared_(std::move(shared)),
      descriptor_(tracker_.descriptor()) {}

Collector::~Collector() {
  if (watching_.joinable()) (void)end();
}

std::vector<int> Collector::end() {
  shared_->stopping = true;
  shared_->alarm->ring();
  watching_.join();
  for (const auto& worker : workers_) {
    worker->must_end = true;
    worker->wake.post();
  }
  const auto now = Clock::now();
  if (!await_workers(now + patience_.late)) {
    for (const auto& worker : workers_) {
      if (worker->thread.joinable() && !worker->has_ended) worker->move_off_cpu();
    }
    (void)await_workers(now + patience_.end);
  }
  std::vector<int> left_behind;
  newest_ = nullptr;
  for (const auto& worker : std::exchange(workers_, {})) {
    if (!worker->thread.joinable()) continue;
    if (worker->has_ended) {
      worker->thread.join();
    } else {
      left_behind.push_back(worker->cpu);
      worker->thread.detach();
    }
  }
  return left_behind;
}

bool Collector::await_workers(Clock::time_point deadline) const {
  const auto have_ended = [this] {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
      return worker->has_ended || !worker->thread.joinable();
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

/// From the list, as there may just be a new worker.
std::uint64_t Collector::steps() const {
  std::uint64_t steps = ended_;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older) {
    steps += worker->cycle->progress();
  }
  return steps;
}

void Collector::watch() {
  leave_signals_to_the_loop();
  while (!shared_->stopping || state_ != State::kIdle) {
    const Alarm::Cause cause = shared_->alarm->wait();
    if (leads_.exchange(false)) {
      lead();
    } else if (cause == Alarm::Cause::kExpired && state_ != State::kIdle) {
      check_progress();
    }
  }
}

/// Workers that make progress are waited for however long they take, as they may have thousands of
/// counters to open. Without a single CPU there is nothing new to publish. A worker that is kept
/// off its CPU while it owns the round or joins goes on elsewhere.
void Collector::check_progress() {
  shared_->alarm->expire_after(late_after_);
  if (shared_->latch.is_waiting()) {
    const bool is_enough = anyone_has_arrived() || shared_->stopping;
    if (!anyone_progresses() && is_enough && shared_->latch.close()) finish();
    return;
  }
  if (const Worker* owner = owner_) owner->move_off_cpu();
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older) {
    if (worker->is_joining) worker->move_off_cpu();
  }
}

bool Collector::anyone_progresses() {
  bool anyone = false;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older) {
    if (!worker->is_at_work || worker->round != round_) continue;
    const std::uint64_t progress = worker->cycle->progress();
    anyone = worker->seen_progress.exchange(progress) != progress || anyone;
  }
  return anyone;
}

/// Of the CPUs that are online: the others have little to do.
bool Collector::anyone_has_arrived() const {
  if (nobody_is_online_) return true;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older) {
    if (worker->is_online && !worker->is_at_work) return true;
  }
  return false;
}

/// Gives the round to the worker that leads it, or to the watching thread.
void Collector::start() {
  shared_->alarm->expire_after(late_after_);
  if (Worker* const first = find_first_worker()) {
    owner_ = first;
    first->leads = true;
    first->wake.post();
  } else {
    owner_ = nullptr;
    leads_ = true;
    shared_->alarm->ring();
  }
}

Collector::Worker* Collector::find_first_worker() const {
  for (const auto& worker : workers_) {
    if (worker->has_thread && !worker->is_at_work) return worker.get();
  }
  return nullptr;
}

void Collector::lead() {
  started_ = Clock::now();
  report_.now = {};
  take_results();  // what was late
  tracker_.set_aside(std::exchange(feedback_.exhausted, {}), started_);
  const auto before = std::exchange(targets_, tracker_.update(started_, report_));
  descriptor_ = tracker_.descriptor();
  if (is_reconciliation() && targets_ == before && all_are_reconciled()) {
    return finish_reconciliation();
  }
  start_missing_threads();
  dispatch();
}

/// As far as it is known: nothing is asked of a worker that is late.
bool Collector::all_are_reconciled() const {
  return std::all_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker->is_at_work ||
           (worker->order.targets == targets_ && worker->cycle->is_reconciled());
  });
}

Collector::Worker& Collector::worker_for(int cpu) {
  const auto place =
      std::lower_bound(workers_.begin(), workers_.end(), cpu,
                       [](const auto& worker, int number) { return worker->cpu < number; });
  if (place != workers_.end() && (*place)->cpu == cpu) return **place;
  Worker& worker = **workers_.insert(place, std::make_shared<Worker>(*this, cpu, newest_.load()));
  newest_ = &worker;
  return worker;
}

Result<> Collector::start_thread(Worker& worker) {
  const auto owner = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& each) { return each.get() == &worker; });
  try {
    worker.thread = std::thread([of = *owner] { of->serve(); });
  } catch (const std::system_error& refused) {
    return Error{
        refused.code().value(), "start the worker thread of CPU " + std::to_string(worker.cpu),
        "raise " + ProgramTerm::kTaskLimit + ", or the container's limit on processes (pids.max)"};
  }
  worker.has_thread = true;
  ::pthread_setname_np(worker.thread.native_handle(), ("cpu" + std::to_string(worker.cpu)).c_str());
  return {};
}

void Collector::start_missing_threads() {
  for (const int cpu : targets_->cpus->online) {
    Worker& worker = worker_for(cpu);
    if (worker.thread.joinable()) continue;
    if (const Result<> started = start_thread(worker); !started) {
      report_.add_failure("start a worker thread", started.error());
    }
  }
}

/// To all but those that were late: their results are taken first. Nobody owns the round then,
/// unless all have arrived again. While only CPUs that were late are online, only the watching
/// thread can close it.
void Collector::dispatch() {
  std::vector<Worker*> free;
  nobody_is_online_ = targets_->cpus->online.empty();
  bool any_online = nobody_is_online_;
  for (const auto& worker : workers_) {
    worker->is_online = targets_->cpus->is_online(worker->cpu);
    if (worker->is_late) continue;
    free.push_back(worker.get());
    any_online = any_online || worker->is_online;
  }
  shared_->latch.start(++round_, free.size() + (any_online ? 0 : 1));
  for (Worker* worker : free) {
    const bool may_return = worker->stays_off_until && started_ >= *worker->stays_off_until;
    if (may_return) worker->stays_off_until = {};
    worker->order = {targets_, models_, is_reconciliation(), worker->stays_off_until.has_value()};
    worker->round.store(round_);
    worker->seen_progress = worker->cycle->progress();
    worker->is_at_work.store(true, std::memory_order_release);
    if (worker->has_thread) worker->wake.post();
  }
  for (Worker* worker : free) {
    if (!worker->has_thread) worker->do_part();
  }
  shared_->alarm->expire_after(late_after_);
  if (shared_->latch.release()) finish();
}

void Collector::finish() {
  take_results();
  report_late_cpus();
  report_.cgroups_missed += std::exchange(feedback_.unopened, {}).size();
  is_reconciliation() ? finish_reconciliation() : join_parts();
}

/// The results of the workers that have arrived since the last call.
void Collector::take_results() {
  std::vector<const ModelUpdates*> updates;
  for (const auto& worker : workers_) {
    worker->is_late = worker->is_at_work.load(std::memory_order_acquire);
    if (worker->is_late || !std::exchange(worker->has_news, false)) continue;
    auto& [report, feedback] = worker->outcome;
    PollReport::State state = std::exchange(report.now, {});
    report_.merge(report);
    feedback_.merge(feedback);
    if (worker->order.is_reconciliation) continue;
    worker->state = std::move(state);
    std::swap(worker->taken, worker->left);
    updates.push_back(&worker->cycle->model_updates());
  }
  if (updates.empty()) return;
  auto models = std::make_shared<EventModels>(*models_);
  models->learn(updates);
  models_ = std::move(models);
}

void Collector::report_late_cpus() {
  for (const auto& worker : workers_) {
    if (!worker->is_late) continue;
    worker->stays_off_until = started_ + kStaysOff;
    worker->move_off_cpu();
    if (!is_reconciliation() && targets_->cpus->is_online(worker->cpu)) {
      report_.now.late_cpus.push_back(worker->cpu);
    }
  }
  if (!report_.now.late_cpus.empty()) {
    report_.add_failure("late CPUs", late(report_.now.late_cpus, late_after_));
  }
}

/// A poll that was asked for meanwhile begins at once.
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

/// Alone where there is little to join.
void Collector::join_parts() {
  std::vector<const CpuTotals*> parts;
  for (const auto& worker : workers_) {
    parts.push_back(&worker->taken);
    report_.now.add(worker->state);
  }
  const auto join = std::make_shared<Join>(plan_, targets_, *models_, parts);
  if (join->joining.pieces() == 0) return publish(join->joining.take());
  wake_helpers(join);
  if (join->work()) publish(join->joining.take());
}

void Collector::wake_helpers(const std::shared_ptr<Join>& join) {
  std::size_t wanted = join->joining.pieces() - 1;
  for (const auto& worker : workers_) {
    if (wanted == 0) return;
    const bool is_busy = worker->is_late || worker->is_joining || worker.get() == owner_;
    if (is_busy || !worker->has_thread) continue;
    worker->join = join;
    worker->is_joining.store(true, std::memory_order_release);
    worker->wake.post();
    --wanted;
  }
}

void Collector::publish(Snapshot snapshot) {
  auto published = std::make_shared<const Snapshot>(std::move(snapshot));
  report_.now.duration = Clock::now() - started_;

  // From here on a new poll may be asked for, or our end: only what is this call's own is touched.
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
