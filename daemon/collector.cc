#include "daemon/collector.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>

namespace pex::daemon {
namespace {

/// Pins the calling thread. A CPU that went offline loses its threads to the others, so this is
/// done anew when it is back.
bool pin_to(int cpu) {
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const bool pinned = ::sched_setaffinity(0, size, set) == 0;
  CPU_FREE(set);
  return pinned;
}

/// Signals are the business of the loop's thread.
void leave_signals_to_the_loop() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct Collector::Worker {
  Worker(perf::PerfKernel& kernel, std::shared_ptr<const collect::CountingPlan> plan, int number)
      : cpu(number), cycle(std::in_place, kernel, std::move(plan), number) {}

  int cpu;
  std::optional<collect::PollCycle> cycle;  ///< gone once the worker has been told to stop
  collect::PollReport report;
  bool pinned = false;
  std::binary_semaphore wake{0};
  std::thread thread;
};

Collector::Collector(perf::PerfKernel& kernel, std::shared_ptr<const collect::CountingPlan> plan,
                     collect::TargetTracker tracker, const std::vector<int>& online_cpus)
    : kernel_(kernel), plan_(std::move(plan)), tracker_(std::move(tracker)) {
  targets_ = std::make_shared<const collect::TargetSet>();
  add_workers(online_cpus);
}

Collector::~Collector() {
  busy_.wait(true);
  stopping_ = true;
  for (const auto& worker : workers_) worker->wake.release();
  for (const auto& worker : workers_) worker->thread.join();
}

bool Collector::poll(Done done) {
  if (busy_.exchange(true)) return false;
  done_ = std::move(done);
  leader_->wake.release();
  return true;
}

void Collector::add_workers(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    const auto place =
        std::lower_bound(workers_.begin(), workers_.end(), cpu,
                         [](const auto& worker, int number) { return worker->cpu < number; });
    if (place != workers_.end() && (*place)->cpu == cpu) continue;
    Worker& worker = **workers_.insert(place, std::make_unique<Worker>(kernel_, plan_, cpu));
    if (leader_ == nullptr) leader_ = &worker;
    worker.thread = std::thread([this, &worker] { serve(worker); });
    ::pthread_setname_np(worker.thread.native_handle(), ("cpu" + std::to_string(cpu)).c_str());
  }
}

void Collector::serve(Worker& worker) {
  leave_signals_to_the_loop();
  for (;;) {
    worker.wake.acquire();
    if (stopping_) return worker.cycle.reset();  // its counters are closed on their own CPU
    if (&worker == leader_) lead();
    run_part(worker);
  }
}

void Collector::lead() {
  started_ = std::chrono::steady_clock::now();
  report_ = {};
  update_targets();
  add_workers(targets_->online_cpus);
  still_running_ = workers_.size();
  for (const auto& worker : workers_) {
    if (worker.get() != leader_) worker->wake.release();
  }
}

/// When the machine cannot tell, the targets of before still hold.
void Collector::update_targets() {
  Result<std::shared_ptr<const collect::TargetSet>> targets =
      tracker_.update(std::chrono::steady_clock::now());
  if (targets) {
    targets_ = std::move(*targets);
  } else {
    report_.add_failure(targets.error());
  }
}

void Collector::run_part(Worker& worker) {
  const bool online = targets_->is_online(worker.cpu);
  if (!online || worker.cycle->cpu_was_away()) worker.pinned = false;
  if (online && !worker.pinned) worker.pinned = pin_to(worker.cpu);
  worker.report = worker.cycle->run(targets_);
  if (still_running_.fetch_sub(1) == 1) finish();
}

void Collector::finish() {
  std::vector<const collect::PollCycle*> cycles;
  for (const auto& worker : workers_) {
    report_.merge(worker->report);
    cycles.push_back(&*worker->cycle);
  }
  auto snapshot = std::make_shared<const collect::Snapshot>(collect::join(plan_, targets_, cycles));
  report_.duration = std::chrono::steady_clock::now() - started_;

  // From here on a new poll may start: only what is ours alone is touched.
  const Done done = std::move(done_);
  collect::PollReport report = std::move(report_);
  busy_ = false;
  busy_.notify_all();
  done(std::move(report), std::move(snapshot));
}

}  // namespace pex::daemon
