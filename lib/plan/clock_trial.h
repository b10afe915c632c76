#pragma once

#include "perf/perf_kernel.h"

namespace pex::plan {

/// Whether the kernel counts the cpu-clock of a task, and so of a cgroup. Linux 6.16.0 to 6.17.7
/// drop what it has counted when the task leaves the CPU (cpu_clock_event_del() in
/// kernel/events/core.c). Counts it in the calling thread next to the task-clock, across a switch,
/// for some milliseconds. True if that is refused.
bool counts_cpu_clock(perf::PerfKernel& kernel);

}  // namespace pex::plan
