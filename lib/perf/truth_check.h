#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "perf/truth_verdict.h"

namespace pex::perf {

/// Events of one kind of CPU, and whether they count what happens.
struct CheckedEvents {
  std::string pmu;                  ///< of the CPUs; empty: of all
  std::vector<int> cpus;            ///< at least one
  std::vector<CounterSpec> events;  ///< that have a quantity_of()
  std::vector<Verdict> verdicts;    ///< by event
};

/// CPU time of a check, on all CPUs that it looks at.
inline constexpr std::chrono::nanoseconds kMaxCheckTime = std::chrono::milliseconds{15};

/// Counts known work of a thread of its own by the events: in the thread and on its CPU, on the
/// first of `cpus`; events of hardware shortly on each other CPU as well, as far as the time
/// allows. The verdict of an event that does not get the PMU stays.
void check_truth(PerfKernel& kernel, CheckedEvents& checked);

}  // namespace pex::perf
