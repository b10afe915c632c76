#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "host/roots.h"
#include "perf/counter_group.h"
#include "perf/group_reading.h"
#include "perf/perf_kernel.h"
#include "perf/task/command.h"

namespace pex::perf {

/// A group of events to be counted in tasks.
struct TaskGroup {
  std::vector<CounterSpec> events;  ///< 1 to kMaxGroupMembers
  GroupMode mode = {};
  /// Only while a task is on one of these CPUs, by a counter for each of them; empty: wherever it
  /// runs, by one counter. The kernel accounts the time on other CPUs as enabled and not running,
  /// for each of the counters: use their counts, and not their times.
  std::vector<int> cpus = {};
};

/// False for a group with a probe: at each fork(2), the kernel reads the name of the probe again,
/// at the address of the request, in the memory of the task that forks, and lets the fork fail
/// (perf_uprobe_init(), kernel/events/core.c).
bool is_inherited(const TaskGroup& group);

/// Groups of events in tasks (threads), instead of on CPUs: their times are those for which the
/// tasks were on a CPU, so a task that only waits has times of 0.
///
/// Threads and processes that a counted thread creates after it was opened are counted as well
/// (perf_event_attr.inherit), but by groups that is_inherited() excepts. A thread that existed
/// before is counted only if it was listed. The reading of a group is the sum of all of them, of
/// those that have ended too, and never falls.
///
/// Example:
///   LinuxPerfKernel kernel;
///   const std::vector<TaskGroup> groups = {
///       {{{"task-clock", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}}}}};
///   const TaskCounters counters = TaskCounters::of_own_thread(kernel, groups);
///   ASSERT_FALSE(counters.refusal(0)) << describe(counters.refusal(0)->error);
///   ASSERT_TRUE(counters.enable(kernel));
///   GroupReading reading;
///   ASSERT_TRUE(counters.read(kernel, 0, reading));
///   EXPECT_GT(reading.counts.front(), 0);
class TaskCounters {
 public:
  enum class Inherit { kNo, kYes };

  /// Of the calling thread, before enable().
  static TaskCounters of_own_thread(PerfKernel& kernel, std::span<const TaskGroup> groups,
                                    Inherit inherit = Inherit::kNo);

  /// Of all threads of a process, before enable(); `pid` may be one of its threads. They are listed
  /// again after they were opened; if others have appeared meanwhile, all is closed and opened
  /// again, up to 10 times. Fails with the errno of listing them: ESRCH for no such process.
  static Result<TaskCounters> of_process(PerfKernel& kernel, const host::HostRoots& roots, int pid,
                                         std::span<const TaskGroup> groups);

  /// Of a command that waits, before it executes its program; counting starts with that. The kernel
  /// ends it, with times of 0, if the program gets the rights of another user (set-user-ID), or the
  /// user may not read its file.
  static TaskCounters of_command(PerfKernel& kernel, const Command& command,
                                 std::span<const TaskGroup> groups);

  std::size_t size() const { return groups_.size(); }  ///< groups

  /// Why a group is not counted: the kernel refused it in one of the threads. Null if it did not.
  const OpenFailure* refusal(std::size_t group) const;

  /// Threads with counters. 0 if all of them ended before.
  std::size_t threads() const { return threads_; }

  /// Threads that appeared while the last try opened the others: they are counted only if they were
  /// created by a thread that was opened before, which the kernel does not report.
  std::size_t uncertain_threads() const { return uncertain_threads_; }

  /// Starts, and stops, counting of all groups.
  Result<> enable(PerfKernel& kernel) const { return each_part(kernel, &CounterGroup::enable); }
  Result<> disable(PerfKernel& kernel) const { return each_part(kernel, &CounterGroup::disable); }

  /// The sum of a group over all its threads. kOffPmu: it is pinned, and at least one of them lost
  /// its place on the PMU; it is requested again, and the sum is without these. Fails with ECHILD
  /// if threads are created and end faster than the kernel can add them up; a later reading has
  /// everything.
  Result<> read(PerfKernel& kernel, std::size_t group, GroupReading& sum) const;

 private:
  struct Opened {
    std::vector<CounterGroup> parts;  ///< one for each thread and CPU
    std::optional<OpenFailure> refusal;
  };

  using Switch = Result<> (CounterGroup::*)(PerfKernel& kernel) const;
  Result<> each_part(PerfKernel& kernel, Switch turn) const;
  void open_in(PerfKernel& kernel, std::span<const TaskGroup> groups, const Place& thread);
  void refuse_ended();

  std::vector<Opened> groups_;
  std::size_t threads_ = 0;
  std::size_t uncertain_threads_ = 0;
};

}  // namespace pex::perf
