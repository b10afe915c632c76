#pragma once

#include <vector>

#include "events/event_resolver.h"
#include "perf/perf_kernel.h"
#include "plan/cpu_selector.h"
#include "plan/probe_cpus.h"

namespace pex::plan {

/// The machine of a plan, with its kernel. Refers to objects that outlive it.
struct Machine {
  const events::EventResolver& resolver;
  perf::PerfKernel& kernel;
  std::vector<int> online_cpus;    ///< rising, at least one that is not left out
  LeftOutCpus left_out_cpus = {};  ///< nothing is counted or tried on them
  ProbeCpus probe_cpus = {resolver.pmus(), without(online_cpus, left_out_cpus.everywhere),
                          left_out_cpus.everywhere};

  const events::PmuCatalogue& pmus() const { return resolver.pmus(); }
};

}  // namespace pex::plan
