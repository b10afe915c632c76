#pragma once

#include <string>

#include "host/machine_info.h"
#include "host/roots.h"

namespace pex::plan {

/// The kind of machine. Unknown values are empty. Of a machine with several core PMUs, `pmu` lists
/// those of each, by rising name. Nothing is tried: to find the number of counters, all of them
/// would have to be taken from other programs for a moment (free_counters.h).
struct MachineDescription {
  host::MachineInfo host;
  /// Of the core PMU: the name of its microarchitecture ("skylake"), else its own ("cpu",
  /// "armv8_pmuv3_0"). Empty: the machine has no hardware counters.
  std::string pmu;
};

MachineDescription describe_machine(const host::HostRoots& roots);

}  // namespace pex::plan
