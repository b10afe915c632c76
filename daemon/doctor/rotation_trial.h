#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/doctor/free_counters.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::daemon {

/// What was told of one group that took turns on the PMU; all since it was opened.
struct TurnTimes {
  std::chrono::nanoseconds enabled{};  ///< the group wanted the PMU
  std::chrono::nanoseconds running{};  ///< it had the PMU, as the kernel says
  std::chrono::nanoseconds clock{};    ///< the same by a software clock in the group, which counts
                                       ///< just while the group is on the PMU
};

/// Whether time_running is of the group that the kernel says it is of. Linux 6.12.113 books that of
/// cgroup groups to the wrong one, presumably as all do from the rewrite of contexts in 6.2 until
/// "perf: Update cgroup time when rotating multiplexed events" in 6.12.115 (perf_rotate_context,
/// kernel/events/core.c).
enum class RunningTimes {
  kRight,
  kWrong,
  kFewTurns,   ///< cannot be told: no group had to wait, none was let on the PMU, or turns are long
  kCpuShared,  ///< cannot be told: other work had the CPU for more than a quarter of the trial.
               ///< Each switch between cgroups puts the times right for a moment
};

/// Of groups that took turns of `mux_interval` each for `length`. Wrong when time and clock of one
/// are further apart than 2 % of the time it wanted the PMU, and than two turns, by which they may
/// differ in any case.
RunningTimes judge(std::span<const TurnTimes> groups, std::chrono::nanoseconds mux_interval,
                   std::chrono::nanoseconds length);

/// Long enough for some dozen turns of the usual 1 to 10 ms.
inline constexpr std::chrono::milliseconds kRotationTrial{250};

/// Lets three groups take turns, of which no two fit on the PMU at once, while the calling thread
/// works for `length`. It must be bound to the CPU of `place`, one of those that `free` was found
/// on, and be in its cgroup, whose clock runs only while a task of it does. Fails when a group
/// cannot be opened or read.
Result<std::vector<TurnTimes>> try_rotation(perf::PerfKernel& kernel, const FreeCounters& free,
                                            const perf::Place& place,
                                            std::chrono::nanoseconds length);

}  // namespace pex::daemon
