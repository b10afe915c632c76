#include "count/worker.h"

#include <pthread.h>

#include <utility>

#include "host/self_process.h"

namespace pex::collect {

Error thread_refused(const std::system_error& refused, const std::string& attempted) {
  return Error{refused.code().value(), attempted, host::thread_remedy()};
}

Worker::Worker(std::shared_ptr<SharedByWorkers> shared, std::unique_ptr<CounterSource> source,
               const std::shared_ptr<const CountingPlan>& plan, int cpu)
    : cpu_(cpu), shared_(std::move(shared)), cycle_(std::in_place, std::move(source), plan, cpu) {}

bool Worker::has_made_progress() {
  const std::uint64_t now = progress();
  return std::exchange(seen_progress_, now) != now;
}

void Worker::move_off_cpu() {
  host::move_thread_off(thread_.native_handle(), cpu_);
  was_moved_off_ = true;  // after the move, or it could be pinned again before the move
}

Result<> Worker::start_thread() {
  try {
    thread_ = std::thread([self = shared_from_this()] { self->serve(); });
  } catch (const std::system_error& refused) {
    return thread_refused(refused, "start the worker thread of CPU " + std::to_string(cpu_));
  }
  has_thread_ = true;
  ::pthread_setname_np(thread_.native_handle(), ("cpu" + std::to_string(cpu_)).c_str());
  return {};
}

void Worker::begin(std::uint32_t round, Order order, Clock::time_point now) {
  if (stays_off_until_ && now >= *stays_off_until_) stays_off_until_ = {};
  stays_off_ = stays_off_until_.has_value();
  order_ = std::move(order);
  has_missed_rounds_ = std::exchange(misses_rounds_, false);
  round_ = round;
  seen_progress_ = progress();
  is_at_work_.store(true, std::memory_order_release);
  if (has_thread_) wake_.post();
}

void Worker::help_to_join(std::shared_ptr<Joining> joining) {
  joining_ = std::move(joining);
  is_joining_.store(true, std::memory_order_release);
  wake_.post();
}

bool Worker::is_reconciled_with(const std::shared_ptr<const TargetSet>& targets) const {
  return is_at_work_ || (order_.targets == targets && cycle_->is_reconciled());
}

PollCycle* Worker::take_results(PollReport& report, PollFeedback& feedback) {
  is_late_ = is_at_work_.load(std::memory_order_acquire);
  if (is_late_ || !std::exchange(has_news_, false)) return nullptr;
  PollReport::State state = std::exchange(outcome_.report.now, {});
  report.merge(outcome_.report);
  feedback.merge(outcome_.feedback);
  if (!order_.is_reconciliation) state_ = std::move(state);
  return &*cycle_;
}

void Worker::stay_off_cpu_until(Clock::time_point time) {
  stays_off_until_ = time;
  move_off_cpu();
}

void Worker::ask_to_end() {
  must_end_ = true;
  wake_.post();
}

bool Worker::release_thread() {
  if (!has_ended_) {
    thread_.detach();
    return false;
  }
  thread_.join();
  return true;
}

void Worker::serve() {
  host::block_signals();
  for (;;) {
    CounterSource& source = cycle_->source();
    if (wake_.wait(source.descriptor(), source.due_in()) != WakeUp::Cause::kPosted) {
      source.between_polls();
      continue;
    }
    if (is_joining_.load(std::memory_order_acquire)) join_pieces();
    if (is_at_work_.load(std::memory_order_acquire)) {
      do_part();
    } else if (must_end_) {
      break;
    }
  }
  order_ = {};
  cycle_.reset();  // its counters are closed on their CPU
  has_ended_ = true;
  shared_->ended.post();
}

void Worker::do_part() {
  const bool was_moved = was_moved_off_.exchange(false) || stays_off_;
  if (!is_online_ || was_moved || cycle_->cpu_was_offline()) is_pinned_ = false;
  if (is_online_ && !stays_off_ && !is_pinned_ && has_thread_) {
    is_pinned_ = host::bind_thread_to(cpu_);
  }
  const std::size_t closed = cycle_->change(order_.plan);
  cycle_->set_paused(order_.is_paused);
  cycle_->set_missed_targets(has_missed_rounds_);
  outcome_ = order_.is_reconciliation ? cycle_->reconcile(order_.targets, *order_.models)
                                      : cycle_->run(order_.targets, *order_.models);
  outcome_.report.groups_closed += closed;
  const std::chrono::nanoseconds waited = wait_.read();
  outcome_.report.waited_for_cpu = waited - std::exchange(waited_, waited);
  has_news_ = true;
  const std::uint32_t of_round = round_;
  is_at_work_.store(false, std::memory_order_release);
  if (shared_->latch.arrive(of_round)) shared_->wake.post();
}

void Worker::join_pieces() {
  const std::shared_ptr<Joining> mine = std::move(joining_);
  const bool is_last = mine->work();
  is_joining_.store(false, std::memory_order_release);
  if (is_last) shared_->wake.post();
}

}  // namespace pex::collect
