#pragma once

#include <string_view>

#include "host/roots.h"

namespace pex::host {

/// Where one CPU sits in the machine (Documentation/admin-guide/cputopology.rst). The numbers of
/// cores and dies begin anew in each package, so a core is named by package, die and core together.
struct CpuPlace {
  int cpu = 0;
  int core = 0;     ///< CPUs of one core are threads that share its counters' hardware
  int die = 0;      ///< a part of a package
  int package = 0;  ///< what sits in one socket
  int numa_node = 0;

  bool operator==(const CpuPlace&) const = default;
};

/// A number of a place.
struct CpuPlacePart {
  std::string_view label;  ///< that it is published as
  int CpuPlace::*number;
};
/// From the largest part of the machine to the smallest.
inline constexpr CpuPlacePart kCpuPlaceParts[] = {
    {"numa_node", &CpuPlace::numa_node}, {"package", &CpuPlace::package}, {"die", &CpuPlace::die},
    {"core", &CpuPlace::core},           {"cpu", &CpuPlace::cpu},
};

/// What sysfs says of `cpu` now. What it does not say, or says with -1, is 0; an unknown core is
/// the CPU itself, so that no two CPUs pass for threads of one. Only of a CPU that is online: its
/// topology goes when it does, so who needs the place for longer remembers it.
CpuPlace read_cpu_place(const HostRoots& roots, int cpu);

}  // namespace pex::host
