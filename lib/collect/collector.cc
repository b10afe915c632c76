#include "collect/collector.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/gate.h"
#include "base/text.h"
#include "collect/cpu_totals.h"
#include "collect/joining.h"
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

/// How many workers a round still waits for. One that comes in when its round
/// is over counts for nothing.
class Awaited {
 public:
  void begin(std::uint32_t round, std::size_t workers) { state_ = of(round) | workers; }
  bool are_in() const { return (state_ & kWorkers) == 0; }

  /// True for the last one.
  bool come_in(std::uint32_t round) {
    std::uint64_t now = state_;
    do {
      if ((now & ~kWorkers) != of(round)) return false;
    } while (!state_.compare_exchange_weak(now, now - 1));
    return (now & kWorkers) == 1;
  }

 private:
  static constexpr std::uint64_t kWorkers = 0xffff'ffff;
  static std::uint64_t of(std::uint32_t round) { return std::uint64_t{round} << 32; }

  std::atomic<std::uint64_t> state_ = 0;
};

Error late(const std::vector<int>& cpus, std::chrono::nanoseconds after) {
  const std::string which = (cpus.size() > 1 ? "CPUs " : "CPU ") + host::format_cpu_list(cpus);
  return Error{0,
               "count on " + which + ": no progress for " + format_duration(after) +
                   ", so polls are published with the totals that were last read there",
               "find what keeps other tasks off the CPU (a real-time task, a hang), or "
               "leave it out "
               "with cpus.exclude"};
}

}  // namespace

/// Held by every worker as well, as one that was left behind may come back when
/// the collector is gone.
struct Collector::Desk {
  Gate news;
  Awaited awaited;
};

struct Collector::Worker {
  /// What it is to do; of the leading thread while the worker is not at work.
  struct Order {
    std::shared_ptr<const collect::TargetSet> targets;
    std::shared_ptr<const collect::EventModels> models;
    std::uint32_t round = 0;
    bool is_reconciliation = false;
    bool stays_off = false;  ///< its CPU, where it was late
  };

  Worker(const CounterSources& sources, const std::shared_ptr<const collect::CountingPlan>& plan,
         int number, std::shared_ptr<Desk> where, const Worker* next)
      : cpu(number),
        older(next),
        desk(std::move(where)),
        cycle(std::in_place, sources.create(number), plan, number),
        left(*plan, number),
        taken(*plan, number) {}

  void serve();
  void do_part();

  const int cpu;
  const Worker* const older;  ///< in the list that begins with newest_
  const std::shared_ptr<Desk> desk;
  Gate wake;
  std::thread thread;
  bool has_thread = false;  ///< set before its first part, and then the same for good
  std::atomic<bool> is_at_work = false;
  std::atomic<bool> must_end = false;
  std::atomic<bool> has_ended = false;

  // Its own while it is at work, else the leading thread's.
  Order order;
  std::optional<collect::PollCycle> cycle;  ///< gone once it has ended
  PollCycle::Outcome outcome;               ///< of its last part
  collect::CpuTotals left;                  ///< after its last poll
  bool has_news = false;
  bool is_pinned = false;

  // The leading thread's.
  collect::CpuTotals taken;          ///< of the last part that has come in
  collect::PollReport::State state;  ///< likewise
  bool is_late = false;              ///< was at work when it was last asked for what it has done
  std::uint64_t seen_progress = 0;   ///< when it was last looked at
  std::optional<Clock::time_point> stays_off_until;
};

void Collector::Worker::serve() {
  leave_signals_to_the_loop();
  for (;;) {
    wake.pass();
    if (is_at_work.load(std::memory_order_acquire)) {
      do_part();
    } else if (must_end) {
      break;
    }
  }
  order = {};
  cycle.reset();  // its counters are closed on their own CPU
  has_ended = true;
  desk->news.open();
}

void Collector::Worker::do_part() {
  const bool is_online = order.targets->cpus->is_online(cpu);
  if (!is_online || order.stays_off || cycle->cpu_was_offline()) is_pinned = false;
  if (is_online && !order.stays_off && !is_pinned && has_thread) {
    is_pinned = host::bind_thread_to(cpu);
  }
  outcome = order.is_reconciliation ? cycle->reconcile(order.targets, *order.models)
                                    : cycle->run(order.targets, *order.models);
  if (!order.is_reconciliation) left.copy(*cycle, *order.targets);
  has_news = true;
  const std::uint32_t round = order.round;
  is_at_work.store(false, std::memory_order_release);
  if (desk->awaited.come_in(round)) desk->news.open();
}

Result<std::unique_ptr<Collector>> Collector::create(CounterSources sources, TargetTracker tracker,
                                                     Patience patience) {
  std::unique_ptr<Collector> collector{
      new Collector(std::move(sources), std::move(tracker), patience)};
  try {
    collector->leading_ = std::thread([of = collector.get()] { of->serve(); });
  } catch (const std::system_error& refused) {
    return Error{
        refused.code().value(), "start the thread that leads the polls",
        "raise " + ProgramTerm::kTaskLimit + ", or the container's limit on processes (pids.max)"};
  }
  ::pthread_setname_np(collector->leading_.native_handle(), "polls");
  return collector;
}

Collector::Collector(CounterSources sources, TargetTracker tracker, Patience patience)
    : sources_(std::move(sources)),
      patience_(patience),
      late_after_(patience.late),
      plan_(tracker.plan()),
      tracker_(std::move(tracker)),
      models_(std::make_shared<const collect::EventModels>(*plan_)),
      desk_(std::make_shared<Desk>()),
      descriptor_(tracker_.descriptor()) {}

Collector::~Collector() {
  if (leading_.joinable()) (void)end();
}

std::vector<int> Collector::end() {
  stopping_ = true;
  desk_->news.open();
  leading_.join();
  for (const auto& worker : workers_) {
    worker->must_end = true;
    worker->wake.open();
  }
  const auto now = Clock::now();
  if (!await_workers(now + patience_.late)) {
    for (const auto& worker : workers_) {
      if (worker->thread.joinable() && !worker->has_ended) {
        host::move_thread_off(worker->thread.native_handle(), worker->cpu);
      }
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
    if (!desk_->news.pass_until(deadline)) return false;
  }
  return true;
}

/// Only the loop's thread leaves the idle state, and only the leading thread
/// comes back to it.
bool Collector::poll(Done done) {
  State now = state_;
  if (now != State::kIdle && now != State::kReconciling) return false;
  done_ = std::move(done);
  if (now == State::kReconciling &&
      state_.compare_exchange_strong(now, State::kReconcilingThenPolling)) {
    return true;
  }
  state_ = State::kPolling;
  desk_->news.open();
  return true;
}

bool Collector::reconcile(std::function<void()> reconciled) {
  if (state_ != State::kIdle) return false;
  reconciled_ = std::move(reconciled);
  state_ = State::kReconciling;
  desk_->news.open();
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

Collector::Worker& Collector::worker_for(int cpu) {
  const auto place =
      std::lower_bound(workers_.begin(), workers_.end(), cpu,
                       [](const auto& worker, int number) { return worker->cpu < number; });
  if (place != workers_.end() && (*place)->cpu == cpu) return **place;
  Worker& worker = **workers_.insert(
      place, std::make_shared<Worker>(sources_, plan_, cpu, desk_, newest_.load()));
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

void Collector::serve() {
  leave_signals_to_the_loop();
  while (!stopping_ || state_ != State::kIdle) {
    if (state_ == State::kIdle) {
      desk_->news.pass();
    } else {
      lead();
    }
  }
}

void Collector::lead() {
  started_ = Clock::now();
  report_.now = {};
  take_results();  // what was late
  tracker_.set_aside(std::exchange(feedback_.exhausted, {}), started_);
  const auto before = std::exchange(targets_, tracker_.update(started_, report_));
  descriptor_ = tracker_.descriptor();
  if (is_reconciliation() && targets_ == before && all_are_reconciled())
    return finish_reconciliation();
  hand_out();
  await_parts();
  take_results();
  report_late_cpus();
  report_.cgroups_missed += std::exchange(feedback_.unopened, {}).size();
  is_reconciliation() ? finish_reconciliation() : finish_poll();
}

/// As far as it is known: nothing is asked of a worker that is late.
bool Collector::all_are_reconciled() const {
  return std::all_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker->is_at_work ||
           (worker->order.targets == targets_ && worker->cycle->is_reconciled());
  });
}

/// To all but those that were late: what one has brought since is taken first.
void Collector::hand_out() {
  for (const int cpu : targets_->cpus->online) {
    Worker& worker = worker_for(cpu);
    if (worker.thread.joinable()) continue;
    if (const Result<> started = start_thread(worker); !started) {
      report_.add_failure("start a worker thread", started.error());
    }
  }
  std::vector<Worker*> free;
  for (const auto& worker : workers_) {
    if (!worker->is_late) free.push_back(worker.get());
  }
  desk_->awaited.begin(++round_, free.size());
  for (Worker* worker : free) {
    const bool may_return = worker->stays_off_until && started_ >= *worker->stays_off_until;
    if (may_return) worker->stays_off_until = {};
    worker->order = {targets_, models_, round_, is_reconciliation(),
                     worker->stays_off_until.has_value()};
    worker->seen_progress = worker->cycle->progress();
    worker->is_at_work.store(true, std::memory_order_release);
    if (worker->thread.joinable()) worker->wake.open();
  }
  for (Worker* worker : free) {
    if (!worker->thread.joinable()) worker->do_part();
  }
}

/// Until all are in. Workers that make progress are waited for however long
/// they take, as they may have thousands of counters to open. Without a single
/// CPU there is nothing new to publish.
void Collector::await_parts() {
  Clock::time_point patient_until = Clock::now() + late_after_.load();
  while (!desk_->awaited.are_in() || !anyone_is_in()) {
    if (desk_->news.pass_until(patient_until)) continue;
    if (!anyone_progresses() && (anyone_is_in() || stopping_)) return;
    patient_until = Clock::now() + late_after_.load();
  }
}

bool Collector::anyone_progresses() {
  bool anyone = false;
  for (const auto& worker : workers_) {
    if (!worker->is_at_work || worker->order.round != round_) continue;
    const std::uint64_t progress = worker->cycle->progress();
    anyone = anyone || progress != worker->seen_progress;
    worker->seen_progress = progress;
  }
  return anyone;
}

/// Of the CPUs that are online: the others have little to do.
bool Collector::anyone_is_in() const {
  const std::vector<int>& online = targets_->cpus->online;
  return online.empty() ||
         std::any_of(workers_.begin(), workers_.end(), [this](const auto& worker) {
           return !worker->is_at_work && targets_->cpus->is_online(worker->cpu);
         });
}

void Collector::report_late_cpus() {
  for (const auto& worker : workers_) {
    if (!worker->is_late) continue;
    worker->stays_off_until = started_ + kStaysOff;
    host::move_thread_off(worker->thread.native_handle(), worker->cpu);
    if (!is_reconciliation() && targets_->cpus->is_online(worker->cpu)) {
      report_.now.late_cpus.push_back(worker->cpu);
    }
  }
  if (!report_.now.late_cpus.empty()) {
    report_.add_failure("late CPUs", late(report_.now.late_cpus, late_after_));
  }
}

/// What workers have brought since they were last asked.
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
  auto models = std::make_shared<collect::EventModels>(*models_);
  models->learn(updates);
  models_ = std::move(models);
}

/// A poll that was asked for meanwhile begins at once.
void Collector::finish_reconciliation() {
  const std::function<void()> reconciled = std::move(reconciled_);
  ++ended_;
  State now = State::kReconciling;
  if (!state_.compare_exchange_strong(now, State::kIdle)) state_ = State::kPolling;
  reconciled();
}

void Collector::finish_poll() {
  std::vector<const collect::CpuTotals*> parts;
  for (const auto& worker : workers_) {
    parts.push_back(&worker->taken);
    report_.now.add(worker->state);
  }
  auto snapshot =
      std::make_shared<const collect::Snapshot>(collect::join(plan_, targets_, *models_, parts));
  report_.now.duration = Clock::now() - started_;

  // From here on a new poll may be asked for: only what is ours alone is
  // touched.
  const Done done = std::move(done_);
  ++ended_;
  collect::PollReport report = std::exchange(report_, {});
  state_ = State::kIdle;
  done(std::move(report), std::move(snapshot));
}

}  // namespace pex::collect
