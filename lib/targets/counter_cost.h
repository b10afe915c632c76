#pragma once

#include <cstddef>
#include <functional>

#include "targets/counting_plan.h"
#include "targets/machine_cpus.h"

namespace pex::collect {

/// Counters that a plan takes on a machine, each a file descriptor.
struct CounterCost {
  std::size_t cpus = 0;             ///< scope cpu on all CPUs, and the sources' own
  std::size_t cgroup = 0;           ///< one more cgroup, on all CPUs
  std::size_t cgroup_on_a_cpu = 0;  ///< the part on the CPU that has most of them

  bool operator==(const CounterCost&) const = default;
};
/// The result can change from call to call, as a source may find out what it needs.
using CostFunction = std::function<CounterCost(const CountingPlan& plan, const MachineCpus& cpus)>;

/// Descriptors that CpuOfflineDetector needs on each CPU.
inline constexpr std::size_t kOfflineEvents = 1;

/// One for each event and CPU, and one for each CPU's CpuOfflineDetector.
CounterCost descriptor_cost(const CountingPlan& plan, const MachineCpus& cpus);

}  // namespace pex::collect
