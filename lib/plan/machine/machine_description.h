#pragma once

#include <string>
#include <vector>

#include "host/machine_info.h"
#include "host/roots.h"
#include "perf/perf_kernel.h"

namespace pex::plan {

/// The kind of machine, with its hardware counters. Unknown values are empty. Of a machine with
/// several core PMUs, `pmu` and the numbers list those of each, by rising name: "6,8".
struct MachineDescription {
  host::MachineInfo host;
  /// Of the core PMU: the name of its microarchitecture ("skylake"), else its own ("cpu",
  /// "armv8_pmuv3_0"). Empty: the machine has no hardware counters.
  std::string pmu;
  std::string general_counters;  ///< that are free (free_counters.h), and
  std::string fixed_counters;    ///< the same
};

/// Tries the kernel, so call it while no counters of this process are open. Nothing is opened on
/// the CPUs of `left_out_cpus`, which are rising.
MachineDescription describe_machine(const host::HostRoots& roots, perf::PerfKernel& kernel,
                                    const std::vector<int>& left_out_cpus);

}  // namespace pex::plan
