#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collect/poll_cycle.h"
#include "collect/snapshot.h"
#include "collect/targets.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// Runs polls on one pinned worker thread for each CPU. A poll goes from hand to hand:
///
///   poll()            wakes the worker of the first CPU
///   first worker      brings the targets up to date, then wakes the others
///   every worker      runs its PollCycle
///   last one in       learns from all parts, joins them into a snapshot and calls `done`, on its
///                     own thread
///
/// A look goes the same way, but only opens and closes, and ends with the leader when nothing has
/// changed. What it has to report is in the report of the next poll.
///
/// A CPU whose thread cannot be started is counted by the first worker: dearer, and as right.
///
/// The workers share nothing but the immutable targets and the count of those still running, which
/// orders their memory; each sleeps at a gate of its own.
class Collector {
 public:
  using Done = std::function<void(collect::PollReport, std::shared_ptr<const collect::Snapshot>)>;

  /// `first_cpu` is one that is online; the others get their worker at the first poll, or when they
  /// appear. `kernel` outlives it. Fails when not even one thread can be started.
  static Result<std::unique_ptr<Collector>> create(perf::PerfKernel& kernel,
                                                   collect::TargetTracker tracker, int first_cpu);

  /// Waits for a poll that is running, whose `done` is still called, and until every counter is
  /// closed.
  ~Collector();

  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Starts a poll and returns at once; while a look is running, the poll follows it. False when
  /// the previous poll is still running. Called from one thread only, as are all below.
  bool poll(Done done);

  /// Opens what has come and closes what has gone since the last poll, without reading the rest.
  /// `looked` is called on a thread of ours when that is done. False, and no call, when a poll or a
  /// look is running.
  bool look(std::function<void()> looked);

  /// A poll or a look is running.
  bool is_busy() const { return state_ != State::kIdle; }

  /// Grows with each answer of the kernel's and with each poll and look that ends: while busy, a
  /// number that stands still means that somebody hangs.
  std::uint64_t steps() const;

  /// Readable when cgroups may have come or gone since the last poll or look; -1 when nothing tells
  /// but looking. Only for waiting. Where there was none, there can be one after any poll or look;
  /// it stays open as long as the collector lives.
  int descriptor() const { return descriptor_; }

 private:
  struct Worker;
  enum class State { kIdle, kPolling, kLooking, kLookingThenPolling };

  Collector(perf::PerfKernel& kernel, collect::TargetTracker tracker);
  Worker& worker_for(int cpu);
  Result<> start_thread(Worker& worker);
  void serve(Worker& worker);
  void lead();
  void wake_all();
  void run_part(Worker& worker);
  void finish_part();
  void finish_poll();
  void finish_look();
  bool is_look() const { return state_ != State::kPolling; }

  perf::PerfKernel& kernel_;
  std::shared_ptr<const collect::CountingPlan> plan_;
  collect::TargetTracker tracker_;
  collect::EventModels models_;  ///< learns when the last one is in

  // Of the poll that is running. Written by the leading worker before it wakes the others, and by
  // the last one after all have counted themselves out.
  std::shared_ptr<const collect::TargetSet> targets_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< by rising CPU
  Worker* leader_ = nullptr;                      ///< set once, before any thread starts
  std::atomic<const Worker*> newest_ = nullptr;   ///< the first of a list of all, for steps()
  collect::PollReport report_;                    ///< since the last poll
  std::chrono::steady_clock::time_point started_;
  Done done_;
  std::function<void()> looked_;

  std::atomic<std::size_t> still_running_ = 0;
  std::atomic<int> descriptor_;           ///< of tracker_, which is the leader's
  std::atomic<std::uint64_t> ended_ = 0;  ///< polls and looks
  std::atomic<State> state_ = State::kIdle;
  std::atomic<bool> stopping_ = false;
};

}  // namespace pex::daemon
