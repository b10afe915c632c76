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
#include "collect/learning.h"
#include "collect/poll_report.h"
#include "collect/snapshot.h"
#include "collect/sums/label_sums.h"
#include "collect/targets.h"

namespace pex::collect {

class Joining;
class Worker;

/// Runs polls on one pinned worker thread for each CPU:
///
///   poll()            wakes the first worker
///   first worker      brings the targets up to date, then wakes the others
///   every worker      does its part (Worker)
///   last to arrive    learns from all parts, joins them into a snapshot and calls `done`; where
///                     there is much to join, it wakes others to join with it
///
/// A poll or a reconciliation is one round. A round has one owner at a time, to which everything
/// belongs except the data of the workers: poll() gives it to the first worker; while all workers
/// count it has no owner; the last one to arrive owns it until it is published (RoundLatch).
///
/// An unbound thread keeps watch. It sleeps unless the poll takes longer than Timeouts::late. A CPU
/// is late if its worker had no answer from its counters for that long: a real-time task keeps the
/// worker off the CPU, or the CPU hangs. Then the watching thread closes the round and owns it, and
/// the poll is published without that CPU. Its totals are those of its last part; the part in
/// progress counts in the poll after it has arrived, and it gets no new part before. While it is
/// late its worker may run on any other CPU, as may one that is kept off its CPU while it owns the
/// round.
///
/// A reconciliation works the same way, but only opens and closes, and ends with the first worker
/// if nothing has changed. Its results are in the report of the next poll.
///
/// A CPU whose thread cannot be started is counted by the owner of the round: the counts are the
/// same and cost more.
///
/// The threads take no locks.
class Collector {
 public:
  using Done = std::function<void(PollReport, std::shared_ptr<const Snapshot>)>;

  struct Timeouts {
    std::chrono::nanoseconds late = std::chrono::milliseconds{500};
    /// At the end the collector waits this long for a worker that hangs, and then abandons it.
    std::chrono::nanoseconds end = std::chrono::seconds{30};
  };

  /// What `sources` need must outlive the collector, and abandoned workers. Fails if not even one
  /// thread can be started.
  static Result<std::unique_ptr<Collector>> create(CounterSources sources, TargetTracker tracker,
                                                   Timeouts timeouts);

  /// Calls end().
  ~Collector();

  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Waits for a running poll, whose `done` is still called, and until every counter is closed.
  /// Returns the CPUs whose workers hang and are abandoned with their counters; they close them
  /// when they continue. Called once, from any thread, and nothing else after it.
  std::vector<int> end();

  /// Starts a poll and returns at once; if a reconciliation is running, the poll follows it. False
  /// if the previous poll is still running. Called from one thread only, like all functions below.
  bool poll(Done done);

  /// Opens the counters of new targets and closes those of ended ones, without reading the rest.
  /// `reconciled` is called on a thread of the collector when that is done. Returns false and makes
  /// no call if a poll or a reconciliation is running.
  bool reconcile(std::function<void()> reconciled);

  /// A poll or a reconciliation is running.
  bool is_busy() const { return state_ != State::kIdle; }

  /// Grows with everything that the sources complete, and with each completed poll and
  /// reconciliation: a number that stands still while the collector is busy means that no CPU makes
  /// progress.
  std::uint64_t steps() const;

  /// From the next poll or reconciliation on. The counters and totals of groups that the new plan
  /// has too stay (change_of()), and so do the cgroups that are still selected.
  void change(TargetTracker::Changes changes);

  /// From the next poll on, groups that share the PMU leave it to other programs, or take it again.
  /// Totals stay, and their time meanwhile is enabled, without the PMU.
  void set_paused(bool paused) { is_paused_ = paused; }

  /// Changes Timeouts::late.
  void set_late_after(std::chrono::nanoseconds time) { late_after_ = time; }

  /// Readable if cgroups may have appeared or disappeared since the last poll or reconciliation; -1
  /// if only those detect it. Only for waiting. Can change from -1 with any of them; then it stays
  /// open as long as the collector lives.
  int descriptor() const { return descriptor_; }

 private:
  struct Shared;
  class Duties;
  using Clock = std::chrono::steady_clock;
  enum class State { kIdle, kPolling, kReconciling, kReconcilingThenPolling };

  Collector(CounterSources sources, TargetTracker tracker, Timeouts timeouts,
            std::shared_ptr<Shared> shared);
  bool await_workers(Clock::time_point deadline) const;

  // Belongs to the watching thread.
  void watch();
  void check_progress();
  bool anyone_progresses(std::uint32_t round);
  bool anyone_has_arrived() const;

  // Belongs to the owner of the round.
  void start();
  Worker* find_first_worker() const;
  void lead();
  void apply_changes();
  Worker& worker_for(int cpu);
  void start_missing_threads();
  void dispatch();
  bool all_are_reconciled() const;
  void finish();
  void take_results();
  void report_late_cpus();
  void finish_reconciliation();
  void join_parts();
  void wake_joiners(const std::shared_ptr<Joining>& joining);
  void publish(Snapshot snapshot);
  bool is_reconciliation() const { return state_ != State::kPolling; }

  const std::unique_ptr<Duties> duties_;  ///< of workers
  const CounterSources sources_;
  const Timeouts timeouts_;
  std::atomic<std::chrono::nanoseconds> late_after_;
  std::shared_ptr<const CountingPlan> plan_;

  // Belongs to the owner of the round.
  TargetTracker tracker_;
  std::shared_ptr<const EventModels> models_;
  std::shared_ptr<const TargetSet> targets_;
  std::shared_ptr<const Snapshot> joined_;  ///< the last one
  LabelSums sums_;                          ///< over the cgroups of all snapshots
  GroupStarts starts_;
  std::vector<std::shared_ptr<Worker>> workers_;  ///< by rising CPU
  PollReport report_;                             ///< since the last poll
  PollFeedback feedback_;                         ///< since the last poll
  Clock::time_point started_;
  bool all_took_part_ = true;  ///< in the last round, in time
  Done done_;
  std::function<void()> reconciled_;

  std::shared_ptr<Shared> shared_;         ///< also owned by abandoned workers
  std::atomic<Worker*> newest_ = nullptr;  ///< the first of a list of all, for any thread
  std::atomic<TargetTracker::Changes*> changes_ = nullptr;  ///< owned; of the next round
  std::atomic<Worker*> owner_ = nullptr;                    ///< of the round, if a worker owns it
  std::atomic<bool> leads_ = false;                         ///< the watching thread was given it
  std::atomic<std::uint32_t> round_ = 0;  ///< of the running poll or reconciliation
  std::atomic<bool> none_online_ = false;
  std::atomic<bool> is_paused_ = false;
  std::atomic<int> descriptor_;           ///< of tracker_
  std::atomic<std::uint64_t> ended_ = 0;  ///< polls and reconciliations
  std::atomic<State> state_ = State::kIdle;
  std::thread watching_;
};

}  // namespace pex::collect
