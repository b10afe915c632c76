#include "daemon/collector.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "daemon/counted_kernel.h"
#include "host/own_process.h"

namespace pex::daemon {
namespace {

/// Signals are the business of the loop's thread.
void leave_signals_to_the_loop() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Wakes one sleeping thread. std::binary_semaphore of g++ 12 yields several times before each
/// sleep: eight more system calls in a poll of two CPUs.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock{mutex_};
      open_ = true;
    }
    opened_.notify_one();
  }
  /// Waits until it is open, and closes it behind the caller.
  void pass() {
    std::unique_lock lock{mutex_};
    opened_.wait(lock, [this] { return open_; });
    open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace

struct Collector::Worker {
  Worker(perf::PerfKernel& real, std::shared_ptr<const collect::CountingPlan> plan, int number,
         const Worker* next)
      : cpu(number),
        older(next),
        kernel(real),
        cycle(std::in_place, kernel, std::move(plan), number) {}

  int cpu;
  const Worker* older;  ///< in the list that begins with newest_
  CountedKernel kernel;
  std::optional<collect::PollCycle> cycle;  ///< gone once the worker has been told to stop
  collect::PollReport report;
  bool pinned = false;
  Gate wake;
  std::thread thread;
};

Result<std::unique_ptr<Collector>> Collector::create(perf::PerfKernel& kernel,
                                                     collect::TargetTracker tracker,
                                                     int first_cpu) {
  std::unique_ptr<Collector> collector{new Collector(kernel, std::move(tracker))};
  collector->leader_ = &collector->worker_for(first_cpu);
  if (const Result<> started = collector->start_thread(*collector->leader_); !started) {
    return started.error();
  }
  return collector;
}

Collector::Collector(perf::PerfKernel& kernel, collect::TargetTracker tracker)
    : kernel_(kernel),
      plan_(tracker.plan()),
      tracker_(std::move(tracker)),
      models_(*plan_),
      descriptor_(tracker_.descriptor()) {}

Collector::~Collector() {
  for (State now = state_; now != State::kIdle; now = state_) state_.wait(now);
  stopping_ = true;
  for (const auto& worker : workers_) worker->wake.open();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

/// Only the loop's thread leaves the idle state, and only a worker comes back to it.
bool Collector::poll(Done done) {
  State now = state_;
  if (now != State::kIdle && now != State::kLooking) return false;
  done_ = std::move(done);
  if (now == State::kLooking && state_.compare_exchange_strong(now, State::kLookingThenPolling)) {
    return true;
  }
  state_ = State::kPolling;
  leader_->wake.open();
  return true;
}

bool Collector::look(std::function<void()> looked) {
  if (state_ != State::kIdle) return false;
  looked_ = std::move(looked);
  state_ = State::kLooking;
  leader_->wake.open();
  return true;
}

/// From the list, as the workers may just be gaining one.
std::uint64_t Collector::steps() const {
  std::uint64_t steps = ended_;
  for (const Worker* worker = newest_; worker != nullptr; worker = worker->older) {
    steps += worker->kernel.answers();
  }
  return steps;
}

Collector::Worker& Collector::worker_for(int cpu) {
  const auto place =
      std::lower_bound(workers_.begin(), workers_.end(), cpu,
                       [](const auto& worker, int number) { return worker->cpu < number; });
  if (place != workers_.end() && (*place)->cpu == cpu) return **place;
  Worker& worker =
      **workers_.insert(place, std::make_unique<Worker>(kernel_, plan_, cpu, newest_.load()));
  newest_ = &worker;
  return worker;
}

Result<> Collector::start_thread(Worker& worker) {
  try {
    worker.thread = std::thread([this, &worker] { serve(worker); });
  } catch (const std::system_error& refused) {
    return Error{refused.code().value(),
                 "start the worker thread of CPU " + std::to_string(worker.cpu),
                 "raise TasksMax= in the unit, or the container's limit on processes"};
  }
  ::pthread_setname_np(worker.thread.native_handle(), ("cpu" + std::to_string(worker.cpu)).c_str());
  return {};
}

void Collector::serve(Worker& worker) {
  leave_signals_to_the_loop();
  for (;;) {
    worker.wake.pass();
    if (stopping_) return worker.cycle.reset();  // its counters are closed on their own CPU
    &worker == leader_ ? lead() : run_part(worker);
  }
}

void Collector::lead() {
  started_ = std::chrono::steady_clock::now();
  report_.now = {};
  tracker_.set_aside(std::exchange(report_.short_of, {}), started_);
  const auto before = std::exchange(targets_, tracker_.update(started_, report_));
  descriptor_ = tracker_.descriptor();
  const bool is_settled = std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker->cycle->is_settled();
  });
  if (is_look() && targets_ == before && is_settled) return finish_look();
  wake_all();
}

void Collector::wake_all() {
  for (const int cpu : targets_->cpus->online) {
    Worker& worker = worker_for(cpu);
    if (worker.thread.joinable()) continue;
    if (const Result<> started = start_thread(worker); !started) {
      report_.add_failure("start a worker thread", started.error());
    }
  }
  still_running_ = workers_.size();
  for (const auto& worker : workers_) {
    if (worker.get() == leader_) continue;
    worker->thread.joinable() ? worker->wake.open() : run_part(*worker);
  }
  run_part(*leader_);
}

void Collector::run_part(Worker& worker) {
  const bool online = targets_->cpus->is_online(worker.cpu);
  if (!online || worker.cycle->cpu_was_away()) worker.pinned = false;
  if (online && !worker.pinned && worker.thread.joinable())
    worker.pinned = host::bind_thread_to(worker.cpu);
  worker.report =
      is_look() ? worker.cycle->settle(targets_, models_) : worker.cycle->run(targets_, models_);
  if (still_running_.fetch_sub(1) == 1) finish_part();
}

void Collector::finish_part() {
  for (const auto& worker : workers_) report_.merge(worker->report);
  report_.cgroups_missed += std::exchange(report_.unopened, {}).size();
  is_look() ? finish_look() : finish_poll();
}

/// A poll that was asked for meanwhile begins at once.
void Collector::finish_look() {
  const std::function<void()> looked = std::move(looked_);
  ++ended_;
  State now = State::kLooking;
  if (state_.compare_exchange_strong(now, State::kIdle)) {
    state_.notify_all();
  } else {
    state_ = State::kPolling;
    leader_->wake.open();
  }
  looked();
}

void Collector::finish_poll() {
  std::vector<const collect::PollCycle*> cycles;
  std::vector<const collect::PollLessons*> lessons;
  for (const auto& worker : workers_) {
    cycles.push_back(&*worker->cycle);
    lessons.push_back(&worker->cycle->lessons());
  }
  models_.learn(lessons);
  auto snapshot =
      std::make_shared<const collect::Snapshot>(collect::join(plan_, targets_, models_, cycles));
  report_.now.duration = std::chrono::steady_clock::now() - started_;

  // From here on a new poll may start: only what is ours alone is touched.
  const Done done = std::move(done_);
  ++ended_;
  collect::PollReport report = std::exchange(report_, {});
  report_.short_of = report.short_of;  // for the targets of the next one
  state_ = State::kIdle;
  state_.notify_all();
  done(std::move(report), std::move(snapshot));
}

}  // namespace pex::daemon
