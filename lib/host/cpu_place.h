#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "host/roots.h"

namespace pex::host {

/// The place of one CPU in the machine (Documentation/admin-guide/cputopology.rst). The numbers of
/// cores and dies restart in each package, so a core is identified by package, die and core
/// together, once separate_cores() has seen to it.
struct CpuPlace {
  int cpu = 0;
  int core = 0;     ///< CPUs of one core are threads that share its counters
  int die = 0;      ///< a part of a package
  int package = 0;  ///< one socket
  int numa_node = 0;
  int cluster = -1;  ///< cores that share a cache or a clock; -1: unknown
  /// The CPUs of its core that were online when it was read, itself included; empty: unknown.
  std::vector<int> threads = {};

  bool operator==(const CpuPlace&) const = default;
};

/// A number of a place.
struct CpuPlacePart {
  std::string_view label;  ///< of its metric
  int CpuPlace::*number;
};
/// From the largest part of the machine to the smallest.
inline constexpr CpuPlacePart kCpuPlaceParts[] = {
    {"numa_node", &CpuPlace::numa_node}, {"package", &CpuPlace::package}, {"die", &CpuPlace::die},
    {"core", &CpuPlace::core},           {"cpu", &CpuPlace::cpu},
};

/// What sysfs reports for `cpu` now. A missing number, or -1, becomes 0; an unknown core becomes
/// the CPU itself, so that no two CPUs are taken for threads of one core. Only for an online CPU:
/// its topology disappears when it goes offline, so callers that need the place for longer must
/// keep it.
CpuPlace read_cpu_place(const HostRoots& roots, int cpu);

/// `places` are those of a machine, as they were read. Which CPUs are threads of one core is what
/// their `threads` say, else that they have the same numbers. Where numbers say otherwise, each
/// core gets the number of its first CPU: they restart in each cluster of Arm and RISC-V that boot
/// by a device tree (parse_cluster() in drivers/base/arch_topology.c), in each node of an AMD
/// package, in each book of IBM Z; guests can have one number for all; and the cores of an AMD
/// module have two.
void separate_cores(std::map<int, CpuPlace>& places);

}  // namespace pex::host
