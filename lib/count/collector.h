#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/counted.h"
#include "base/result.h"
#include "count/counter_sources.h"
#include "count/snapshot.h"
#include "targets/poll_report.h"
#include "targets/targets.h"

namespace pex::collect {

struct EventModels;
class Joining;
class Ledger;
class PollCycle;
class Worker;
struct SharedByWorkers;

/// Runs polls. A poll or a reconciliation is one round:
///
///   polls thread   brings the targets up to date, and wakes the workers
///   each worker    does the part of its CPU (Worker), pinned to it; the last one wakes the polls
///                  thread
///   polls thread   learns from all parts, joins them into a snapshot and calls `done`; where there
///                  is much to join, it wakes workers to join with it
///
/// The polls thread is not pinned. Everything belongs to it, except the data of busy workers. A CPU
/// is late if its worker had no answer from its counters for Timeouts::late: a real-time task keeps
/// the worker off the CPU, or the CPU hangs. Then the poll is published without that CPU. Its
/// totals are those of its last part; the part in progress counts in the poll after it has arrived,
/// and it gets no new part before. While it is late its worker may run on any other CPU, as may one
/// that is kept off its CPU while it joins.
///
/// A reconciliation only opens and closes, and wakes no worker if nothing has changed. Its results
/// are in the report of the next poll.
///
/// A CPU whose thread cannot be started is counted by the polls thread: the counts are the same and
/// cost more.
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

  /// What `sources` need must outlive the collector, and abandoned workers. Fails if the polls
  /// thread cannot be started.
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

  /// Starts a poll and returns at once; if a reconciliation is running, the poll follows it. `done`
  /// is called by the polls thread. False if the previous poll is still running. Called from one
  /// thread only, like all functions below.
  bool poll(Done done);

  /// Opens the counters of new targets and closes those of ended ones, without reading the rest.
  /// `reconciled` is called by the polls thread when that is done. Returns false and makes no call
  /// if a poll or a reconciliation is running.
  bool reconcile(std::function<void()> reconciled);

  /// A poll or a reconciliation is running.
  bool is_busy() const { return is_polling_ || is_reconciling_; }

  /// While a source completes something, grows at least once in each Timeouts::late; and with each
  /// completed poll and reconciliation. A number that stands still for longer while the collector
  /// is busy means that no CPU makes progress.
  std::uint64_t steps() const { return steps_; }

  /// From the next poll or reconciliation on. The counters and totals of groups that the new plan
  /// has too stay (continue_plan()), and so do the cgroups that are still selected.
  void change(TargetTracker::Changes changes);

  /// From the next poll on. With kSoftware, groups that share the PMU leave it to other programs:
  /// their time meanwhile is enabled, without the PMU. With kNothing, every event is closed, and
  /// the time counts nowhere. Totals stay.
  void set_counted(Counted counted) { counted_ = counted; }

  /// Changes Timeouts::late.
  void set_late_after(std::chrono::nanoseconds time) { late_after_ = time; }

  /// Readable if cgroups may have appeared or disappeared since the last poll or reconciliation; -1
  /// if only those detect it. Only for waiting. Can change from -1 with any of them; then it stays
  /// open as long as the collector lives.
  int descriptor() const { return descriptor_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Round = TargetTracker::Round;

  Collector(CounterSources sources, TargetTracker tracker, Timeouts timeouts);
  void serve();
  void reconcile_now();
  void poll_now();
  void apply_changes();
  void find_targets(Round round);
  bool all_are_reconciled() const;
  Worker& worker_for(int cpu);
  void start_missing_threads();
  std::vector<PollCycle*> do_parts(Round round);
  void await_parts();
  bool anyone_progresses();  ///< of the workers of this round
  bool anyone_has_arrived() const;
  std::vector<PollCycle*> take_results();
  void report_late_cpus(Round round);
  Snapshot join_parts(std::vector<PollCycle*> parts);
  void wake_joiners(const std::shared_ptr<Joining>& joining);
  std::shared_ptr<const Snapshot> complete(Snapshot snapshot);
  bool await_end_of_workers(Clock::time_point deadline) const;

  const CounterSources sources_;
  const Timeouts timeouts_;
  const std::shared_ptr<SharedByWorkers> shared_;

  // For any thread.
  std::atomic<std::chrono::nanoseconds> late_after_;
  std::atomic<TargetTracker::Changes*> changes_ = nullptr;  ///< owned; of the next round
  std::atomic<bool> is_polling_ = false;
  std::atomic<bool> is_reconciling_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<Counted> counted_ = Counted::kAll;
  std::atomic<int> descriptor_;  ///< of tracker_
  std::atomic<std::uint64_t> steps_ = 0;
  Done done_;                         ///< set before is_polling_
  std::function<void()> reconciled_;  ///< set before is_reconciling_

  // Belongs to the polls thread.
  TargetTracker tracker_;
  std::shared_ptr<const EventModels> models_;
  std::shared_ptr<const TargetSet> targets_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<std::shared_ptr<Worker>> workers_;  ///< by rising CPU
  PollReport report_;                             ///< since the last poll
  PollFeedback feedback_;                         ///< since the last poll
  Clock::time_point started_;                     ///< the round
  std::uint32_t round_ = 0;                       ///< the number of the last one
  bool all_took_part_ = true;                     ///< in that, in time
  std::thread polls_;
};

}  // namespace pex::collect
