#pragma once

#include "perf/perf_kernel.h"

namespace pex::plan {

/// Whether the kernel counts the cpu-clock of a task, and so of a cgroup (host::kDeadCpuClock).
/// Counts it in the calling thread next to the task-clock, across a switch, for some milliseconds.
/// True if that is refused.
bool counts_cpu_clock(perf::PerfKernel& kernel);

}  // namespace pex::plan
