#pragma once

#include <functional>
#include <memory>

#include "perf/perf_kernel.h"
#include "targets/counter_cost.h"

namespace pex::collect {

class CounterSource;

/// One kind of source: creates that of each CPU, and knows the cost of counting with it.
struct CounterSources {
  std::function<std::unique_ptr<CounterSource>(int cpu)> create;  ///< from any thread
  CostFunction cost;
};

/// One file descriptor for each event, target and CPU. `kernel` outlives them.
CounterSources descriptor_sources(perf::PerfKernel& kernel);

}  // namespace pex::collect
