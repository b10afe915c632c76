#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/result.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "plan/machine/free_counters.h"

namespace pex::daemon {

/// Times of one multiplexed group, all since it was opened.
struct RotationTimes {
  std::chrono::nanoseconds enabled{};  ///< the group wanted the PMU
  std::chrono::nanoseconds running{};  ///< it had the PMU, by the kernel's account
  std::chrono::nanoseconds clock{};    ///< the same by a software clock in the group, which counts
                                       ///< only while the group is on the PMU
};

/// Whether the kernel accounts time_running to the right group (host::kWrongRunningTime).
enum class RunningTimes {
  kRight,
  kWrong,
  kFewRotations,  ///< unknown: no group had to wait, none got the PMU, or the mux interval is long
  kCpuShared,     ///< unknown: other work had the CPU for more than a quarter of the trial. Each
                  ///< switch between cgroups corrects the times for a moment
};

/// For groups that were multiplexed every `mux_interval` for `length`. Wrong if time and clock of a
/// group differ by more than 2 % of the time it was enabled, and by more than two mux intervals, by
/// which they may always differ.
RunningTimes judge(std::span<const RotationTimes> groups, std::chrono::nanoseconds mux_interval,
                   std::chrono::nanoseconds length);

/// Long enough for some dozen rotations of the usual mux intervals of 1 to 10 ms.
inline constexpr std::chrono::milliseconds kRotationTrial{250};

/// Multiplexes three groups (any two exceed the PMU) while the calling thread works for
/// `length`. That thread must be bound to the CPU of `place`, one of those that `free` was found
/// on, and be in the cgroup of `place`, whose clock runs only while a task of it does. Fails if a
/// group cannot be opened or read.
Result<std::vector<RotationTimes>> try_rotation(perf::PerfKernel& kernel,
                                                const plan::FreeCounters& free,
                                                const perf::Place& place,
                                                std::chrono::nanoseconds length);

}  // namespace pex::daemon
