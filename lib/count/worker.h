#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "base/result.h"
#include "base/semaphore.h"
#include "base/wake_up.h"
#include "count/counter_source.h"
#include "count/joining.h"
#include "count/learning.h"
#include "count/poll_cycle.h"
#include "count/round_latch.h"
#include "host/self_process.h"
#include "targets/poll_report.h"
#include "targets/targets.h"

namespace pex::collect {

/// Owned by each worker, as an abandoned one may continue after the end.
struct SharedByWorkers {
  RoundLatch latch;
  Semaphore wake;   ///< of the thread that runs the rounds: the last worker posts it
  Semaphore ended;  ///< posted by each worker that has ended
};

/// The worker thread of one CPU, pinned to it. In each round, which is one poll or reconciliation,
/// it does its part: it runs the PollCycle of its CPU, whose increments it leaves. It sleeps until
/// it is woken up and takes no lock: its data belong to it while it is busy, else to the thread
/// that runs the rounds. The source of the PollCycle always belongs to it, and may have work
/// between two rounds as well.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  using Clock = std::chrono::steady_clock;

  struct Order {
    std::shared_ptr<const CountingPlan> plan;
    std::shared_ptr<const TargetSet> targets;
    std::shared_ptr<const EventModels> models;
    bool is_reconciliation = false;
    bool is_paused = false;  ///< PollCycle::set_paused()
  };

  Worker(std::shared_ptr<SharedByWorkers> shared, std::unique_ptr<CounterSource> source,
         const std::shared_ptr<const CountingPlan>& plan, int cpu);

  int cpu() const { return cpu_; }
  bool is_online() const { return is_online_; }
  bool is_joining() const { return is_joining_; }
  bool is_at_work() const { return is_at_work_; }
  bool is_at_work_in(std::uint32_t round) const { return is_at_work_ && round_ == round; }
  bool has_ended() const { return has_ended_; }
  std::uint64_t progress() const { return cycle_->source().progress(); }
  /// Since the last call, or since its part began.
  bool has_made_progress();
  /// If a real-time task keeps it off its CPU, it continues elsewhere.
  void move_off_cpu();

  Result<> start_thread();
  /// Otherwise the caller does its part. Once true, it stays so.
  bool has_thread() const { return has_thread_; }

  /// It has no part of this round, as it is late.
  void miss_round() { misses_rounds_ = true; }
  /// Its part of this round. At `now` it may return to a CPU where it was late.
  void begin(std::uint32_t round, Order order, Clock::time_point now);
  /// Does its part for it, if it has no thread.
  void do_part();
  /// Its CPU; also while it is busy.
  void set_online(bool online) { is_online_ = online; }
  void help_to_join(std::shared_ptr<Joining> joining);

  /// As far as it is known: a busy worker is not asked.
  bool is_reconciled_with(const std::shared_ptr<const TargetSet>& targets) const;

  /// Adds the results of its part, unless they were taken before or are not complete, and then it
  /// is late. Returns its cycle, if there are any: its increments and its updates for the models
  /// change with its next part.
  PollCycle* take_results(PollReport& report, PollFeedback& feedback);
  bool is_late() const { return is_late_; }  ///< at the last call of take_results()
  /// Runs elsewhere until then.
  void stay_off_cpu_until(Clock::time_point time);
  /// As of the last poll whose results were taken.
  const PollReport::State& state() const { return state_; }

  // At the end.

  void ask_to_end();
  /// False if it has not ended: it continues alone.
  bool release_thread();

 private:
  void serve();
  void join_pieces();

  const int cpu_;
  const std::shared_ptr<SharedByWorkers> shared_;
  WakeUp wake_;
  std::thread thread_;
  bool has_thread_ = false;
  std::atomic<bool> is_joining_ = false;
  std::atomic<bool> is_at_work_ = false;
  std::atomic<bool> must_end_ = false;
  std::atomic<bool> has_ended_ = false;
  std::atomic<bool> is_online_ = false;
  std::atomic<bool> was_moved_off_ = false;

  // Its own while it is busy.
  Order order_;
  bool stays_off_ = false;          ///< off its CPU, where it was late
  bool has_missed_rounds_ = false;  ///< since its part before
  std::optional<PollCycle> cycle_;  ///< destroyed once it has ended
  PollCycle::Outcome outcome_;      ///< of its last part
  bool has_news_ = false;
  bool is_pinned_ = false;
  host::ThreadWait wait_;
  std::chrono::nanoseconds waited_{};  ///< at the end of its last part

  std::shared_ptr<Joining> joining_;  ///< its own while it is joining

  // Belongs to the thread that runs the rounds.
  std::uint32_t round_ = 0;  ///< of its last part
  std::uint64_t seen_progress_ = 0;
  PollReport::State state_;
  bool is_late_ = false;
  bool misses_rounds_ = false;  ///< since its last part
  std::optional<Clock::time_point> stays_off_until_;
};

/// For a std::thread that could not be started.
Error thread_refused(const std::system_error& refused, const std::string& attempted);

}  // namespace pex::collect
