#include "count/collector.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/boot_clock.h"
#include "base/duration.h"
#include "count/joining.h"
#include "count/ledger.h"
#include "count/worker.h"
#include "host/cpu_list.h"
#include "host/self_process.h"

namespace pex::collect {
namespace {

/// A late worker stays off its CPU for this long, before it tries again.
constexpr std::chrono::minutes kStaysOff{1};

Error late(const std::vector<int>& cpus, std::chrono::nanoseconds after) {
  return Error{
      0,
      host::name_cpus(cpus) + (cpus.size() == 1 ? " has" : " have") + " not responded for " +
          format_duration(after) + "; polls are published with the last known totals",
      "find out with ps -L -o tid,comm,stat,wchan -p PID what the exporter's thread of that CPU "
      "waits for: for the CPU (R), which a real-time task or a hang occupies, or inside the kernel "
      "(D), as calls for tracepoints do while others trace; or exclude the CPU with cpus.exclude"};
}

Error evidence_left_out() {
  return Error{
      0,
      "not publishing the evidence of groups that cannot lose the PMU and lack counts: "
      "limits.max_series leaves no room for it",
      "raise limits.max_series; until then, what is lacking is perf_group_enabled_seconds_total "
      "less perf_group_running_seconds_total"};
}

}  // namespace

Result<std::unique_ptr<Collector>> Collector::create(CounterSources sources, TargetTracker tracker,
                                                     Timeouts timeouts) {
  std::unique_ptr<Collector> collector{
      new Collector(std::move(sources), std::move(tracker), timeouts)};
  try {
    collector->polls_ = std::thread([of = collector.get()] { of->serve(); });
  } catch (const std::system_error& refused) {
    return thread_refused(refused, "start the thread that runs the polls");
  }
  ::pthread_setname_np(collector->polls_.native_handle(), "polls");
  return collector;
}

Collector::Collector(CounterSources sources, TargetTracker tracker, Timeouts timeouts)
    : sources_(std::move(sources)),
      timeouts_(timeouts),
      shared_(std::make_shared<SharedByWorkers>()),
      late_after_(timeouts.late),
      descriptor_(tracker.descriptor()),
      tracker_(std::move(tracker)),
      models_(std::make_shared<const EventModels>(*tracker_.plan())),
      ledger_(std::make_unique<Ledger>(tracker_.plan())) {}

Collector::~Collector() {
  if (polls_.joinable()) (void)end();
  delete changes_.exchange(nullptr);
}

std::vector<int> Collector::end() {
  is_stopping_ = true;
  shared_->wake.post();
  polls_.join();
  for (const auto& worker : workers_) worker->ask_to_end();
  const auto now = Clock::now();
  if (!await_end_of_workers(now + timeouts_.late)) {
    for (const auto& worker : workers_) {
      if (worker->has_thread() && !worker->has_ended()) worker->move_off_cpu();
    }
    (void)await_end_of_workers(now + timeouts_.end);
  }
  std::vector<int> left_behind;
  for (const auto& worker : std::exchange(workers_, {})) {
    if (worker->has_thread() && !worker->release_thread()) left_behind.push_back(worker->cpu());
  }
  return left_behind;
}

bool Collector::await_end_of_workers(Clock::time_point deadline) const {
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

bool Collector::poll(Done done) {
  if (is_polling_) return false;
  done_ = std::move(done);
  is_polling_ = true;
  shared_->wake.post();
  return true;
}

bool Collector::reconcile(std::function<void()> reconciled) {
  if (is_busy()) return false;
  reconciled_ = std::move(reconciled);
  is_reconciling_ = true;
  shared_->wake.post();
  return true;
}

void Collector::change(TargetTracker::Changes changes) {
  delete changes_.exchange(new TargetTracker::Changes(std::move(changes)));
}

void Collector::serve() {
  host::block_signals();
  for (;;) {
    if (is_reconciling_) {
      reconcile_now();
    } else if (is_polling_) {
      poll_now();
    } else if (is_stopping_) {
      return;
    } else {
      shared_->wake.wait();
    }
  }
}

void Collector::reconcile_now() {
  const std::shared_ptr<const TargetSet> before = targets_;
  find_targets(Round::kReconciliation);
  if (targets_ != before || !all_are_reconciled()) {
    for (PollCycle* const part : do_parts(Round::kReconciliation)) ledger_->add(*part);
  }
  const std::function<void()> reconciled = std::move(reconciled_);
  ++steps_;
  is_reconciling_ = false;  // from here on another one may be requested
  reconciled();
}

void Collector::poll_now() {
  report_.now = {};
  find_targets(Round::kPoll);
  std::shared_ptr<const Snapshot> snapshot = complete(join_parts(do_parts(Round::kPoll)));
  report_.now.duration = Clock::now() - started_;
  const Done done = std::move(done_);
  ++steps_;
  is_polling_ = false;  // from here on another one may be requested
  done(std::exchange(report_, {}), std::move(snapshot));
}

void Collector::apply_changes() {
  const std::unique_ptr<TargetTracker::Changes> changes{changes_.exchange(nullptr)};
  if (!changes) return;
  auto models = std::make_shared<EventModels>(*models_);
  models->follow(*tracker_.plan(), *changes->plan);
  models_ = std::move(models);
  ledger_->follow(changes->plan);
  tracker_.change(std::move(*changes));
}

void Collector::find_targets(Round round) {
  started_ = Clock::now();
  for (PollCycle* const late : take_results()) ledger_->add(*late);
  apply_changes();
  tracker_.set_aside(std::exchange(feedback_.exhausted, {}), started_);
  tracker_.learn_names(std::exchange(feedback_.named, {}),
                       std::exchange(feedback_.lacks_names, false));
  tracker_.leave_out_all_cpus(counted_ == Counted::kNothing);
  targets_ = tracker_.update(started_, report_, round, all_took_part_);
  ledger_->follow(targets_);
  for (const auto& [slot, time] : tracker_.take_passed_over()) {
    ledger_->add_passed_over(slot, time);
  }
  descriptor_ = tracker_.descriptor();
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
  ledger_->add_cpu(cpu);
  return **workers_.insert(
      place, std::make_shared<Worker>(shared_, sources_.create(cpu), tracker_.plan(), cpu));
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

/// Not by those that were late: their results are taken first. Returns those that were done.
std::vector<PollCycle*> Collector::do_parts(Round round) {
  start_missing_threads();
  std::vector<Worker*> free;
  for (const auto& worker : workers_) {
    worker->set_online(targets_->cpus->is_online(worker->cpu()));
    worker->is_late() ? worker->miss_round() : free.push_back(worker.get());
  }
  shared_->latch.start(++round_, free.size());
  for (Worker* worker : free) {
    worker->begin(round_,
                  {tracker_.plan(), targets_, models_, round == Round::kReconciliation,
                   counted_ == Counted::kSoftware},
                  started_);
  }
  for (Worker* worker : free) {
    if (worker->has_thread()) continue;
    worker->do_part();
    ++steps_;
  }
  await_parts();
  std::vector<PollCycle*> done = take_results();
  all_took_part_ = free.size() == workers_.size() &&
                   std::none_of(workers_.begin(), workers_.end(),
                                [](const auto& worker) { return worker->is_late(); });
  report_late_cpus(round);
  report_.cgroups_missed += std::exchange(feedback_.unopened, {}).size();
  return done;
}

/// Waits for workers that make progress, however slow, as they may have thousands of counters to
/// open. If no CPU is available there is nothing new to publish.
void Collector::await_parts() {
  auto deadline = Clock::now() + late_after_.load();
  while (shared_->latch.is_waiting() || !anyone_has_arrived()) {
    if (shared_->wake.wait_until(deadline)) continue;
    deadline = Clock::now() + late_after_.load();
    const bool is_enough = anyone_has_arrived() || is_stopping_;
    if (!anyone_progresses() && is_enough) return shared_->latch.close();
  }
}

bool Collector::anyone_progresses() {
  bool anyone = false;
  bool in_round = false;
  for (const auto& worker : workers_) {
    if (!worker->is_at_work() || !worker->has_made_progress()) continue;
    anyone = true;
    in_round = in_round || worker->is_at_work_in(round_);
  }
  steps_ += anyone ? 1 : 0;
  return in_round;
}

/// Of the CPUs that are online: the others have little to do.
bool Collector::anyone_has_arrived() const {
  return targets_->cpus->online.empty() ||
         std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) {
           return worker->is_online() && !worker->is_at_work();
         });
}

/// Takes the results of the workers that have arrived since the last call. Returns their parts.
std::vector<PollCycle*> Collector::take_results() {
  std::vector<PollCycle*> parts;
  std::vector<const ModelUpdates*> updates;
  for (const auto& worker : workers_) {
    PollCycle* const part = worker->take_results(report_, feedback_);
    if (part == nullptr) continue;
    parts.push_back(part);
    const ModelUpdates& update = part->model_updates();
    if (update.has_learned && part->plan() == tracker_.plan()) updates.push_back(&update);
  }
  if (updates.empty()) return parts;
  auto models = std::make_shared<EventModels>(*models_);
  models->learn(updates);
  models_ = std::move(models);
  return parts;
}

void Collector::report_late_cpus(Round round) {
  for (const auto& worker : workers_) {
    if (!worker->is_late()) continue;
    worker->stay_off_cpu_until(started_ + kStaysOff);
    if (round == Round::kPoll && worker->is_online()) {
      report_.now.late_cpus.push_back(worker->cpu());
    }
  }
  if (!report_.now.late_cpus.empty()) {
    report_.add_failure("late CPUs", late(report_.now.late_cpus, late_after_));
  }
}

/// Without workers if there is little to join. One that is kept off its CPU meanwhile continues
/// elsewhere.
Snapshot Collector::join_parts(std::vector<PollCycle*> parts) {
  for (const auto& worker : workers_) report_.now.add(worker->state());
  const bool is_whole = parts.size() == ledger_->cpus();
  const auto joining = std::make_shared<Joining>(*ledger_, std::move(parts));
  wake_joiners(joining);
  (void)joining->work();
  while (!joining->is_done()) {
    if (shared_->wake.wait_until(Clock::now() + late_after_.load())) continue;
    for (const auto& worker : workers_) {
      if (worker->is_joining()) worker->move_off_cpu();
    }
  }
  ledger_->settle_losses(is_whole, tracker_.cpu_time());
  return joining->take(*models_);
}

void Collector::wake_joiners(const std::shared_ptr<Joining>& joining) {
  std::size_t wanted = joining->pieces();
  for (const auto& worker : workers_) {
    if (wanted <= 1) return;
    const bool is_busy = worker->is_late() || worker->is_joining();
    if (is_busy || !worker->has_thread()) continue;
    worker->help_to_join(joining);
    --wanted;
  }
}

std::shared_ptr<const Snapshot> Collector::complete(Snapshot snapshot) {
  ledger_->publish_sums(snapshot, Clock::now(), report_);
  if (limit_evidence(snapshot, tracker_.max_series())) {
    report_.add_failure("evidence", evidence_left_out());
  }
  auto joined = std::make_shared<const Snapshot>(std::move(snapshot));
  report_.now.uncounted = tracker_.uncounted(Clock::now(), [&] { return counted_times(*joined); });
  return joined;
}

}  // namespace pex::collect
