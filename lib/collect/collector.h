#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collect/counter_source.h"
#include "collect/poll_cycle.h"
#include "collect/poll_feedback.h"
#include "collect/snapshot.h"
#include "collect/targets.h"

namespace pex::collect {

/// Runs polls on one pinned worker thread for each CPU, and one thread that
/// leads them and is bound to no CPU:
///
///   poll()            wakes the leading thread
///   leading thread    brings the targets up to date, then wakes the workers
///   every worker      runs its PollCycle, and leaves a copy of its totals
///   last one in       wakes the leading thread
///   leading thread    learns from all parts, joins them into a snapshot and
///   calls `done`
///
/// A CPU is late when its worker has had no answer of the kernel for
/// Patience::late: a real-time task keeps the worker off the CPU, or the CPU
/// hangs. Then the poll is published without it. Its totals are those of its
/// last part; what it is doing counts in the poll after it has come in, and it
/// gets no new part before. While it is late its worker may run on any other
/// CPU.
///
/// A reconciliation goes the same way, but only opens and closes, and ends with
/// the leading thread when nothing has changed. What it has to report is in the
/// report of the next poll.
///
/// A CPU whose thread cannot be started is counted by the leading thread:
/// dearer, and as right.
///
/// The threads take no locks: a worker belongs to itself while it is at work,
/// else to the leading thread. Each sleeps at a gate of its own.
class Collector {
 public:
  using Done = std::function<void(collect::PollReport, std::shared_ptr<const collect::Snapshot>)>;

  struct Patience {
    std::chrono::nanoseconds late = std::chrono::milliseconds{500};
    /// At the end a worker that hangs is waited for that long, and then left
    /// behind.
    std::chrono::nanoseconds end = std::chrono::seconds{30};
  };

  /// What `sources` need outlives it, and workers that are left behind. Fails
  /// when not even one thread can be started.
  static Result<std::unique_ptr<Collector>> create(CounterSources sources, TargetTracker tracker,
                                                   Patience patience);

  /// As end().
  ~Collector();

  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Waits for a poll that is running, whose `done` is still called, and until
  /// every counter is closed. The CPUs whose workers hang and are left behind
  /// with their counters; they close them when they come back. Called once,
  /// from any thread, and nothing else after it.
  std::vector<int> end();

  /// Starts a poll and returns at once; while a reconciliation is running, the
  /// poll follows it. False when the previous poll is still running. Called
  /// from one thread only, as are all below.
  bool poll(Done done);

  /// Opens what has come and closes what has gone since the last poll, without
  /// reading the rest. `reconciled` is called on a thread of ours when that is
  /// done. False, and no call, when a poll or a reconciliation is running.
  bool reconcile(std::function<void()> reconciled);

  /// A poll or a reconciliation is running.
  bool is_busy() const { return state_ != State::kIdle; }

  /// Grows with each answer of the kernel's and with each poll and
  /// reconciliation that ends: while busy, a number that stands still means
  /// that no CPU makes progress.
  std::uint64_t steps() const;

  /// Patience::late from now on.
  void set_late_after(std::chrono::nanoseconds time) { late_after_ = time; }

  /// Readable when cgroups may have come or gone since the last poll or
  /// reconciliation; -1 when nothing tells but looking. Only for waiting. Where
  /// there was none, there can be one after any of them; it stays open as long
  /// as the collector lives.
  int descriptor() const { return descriptor_; }

 private:
  struct Worker;
  struct Desk;
  using Clock = std::chrono::steady_clock;
  enum class State { kIdle, kPolling, kReconciling, kReconcilingThenPolling };

  Collector(CounterSources sources, TargetTracker tracker, Patience patience);
  Worker& worker_for(int cpu);
  Result<> start_thread(Worker& worker);
  void serve();
  void lead();
  bool all_are_reconciled() const;
  void hand_out();
  void await_parts();
  bool anyone_progresses();
  bool anyone_is_in() const;
  void take_results();
  void report_late_cpus();
  void finish_poll();
  void finish_reconciliation();
  bool await_workers(Clock::time_point deadline) const;
  bool is_reconciliation() const { return state_ != State::kPolling; }

  const CounterSources sources_;
  const Patience patience_;
  std::atomic<std::chrono::nanoseconds> late_after_;
  std::shared_ptr<const collect::CountingPlan> plan_;
  collect::TargetTracker tracker_;

  // Of the leading thread.
  std::shared_ptr<const collect::EventModels> models_;
  std::shared_ptr<const collect::TargetSet> targets_;
  std::vector<std::shared_ptr<Worker>> workers_;  ///< by rising CPU
  collect::PollReport report_;                    ///< since the last poll
  PollFeedback feedback_;                         ///< likewise
  Clock::time_point started_;
  std::uint32_t round_ = 0;  ///< of the poll or reconciliation that is running

  std::shared_ptr<Desk> desk_;                   ///< where the leading thread is woken
  std::atomic<const Worker*> newest_ = nullptr;  ///< the first of a list of all, for steps()
  Done done_;
  std::function<void()> reconciled_;
  std::atomic<int> descriptor_;           ///< of tracker_, which is the leading thread's
  std::atomic<std::uint64_t> ended_ = 0;  ///< polls and reconciliations
  std::atomic<State> state_ = State::kIdle;
  std::atomic<bool> stopping_ = false;
  std::thread leading_;
};

}  // namespace pex::collect
