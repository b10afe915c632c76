#pragma once

#include <string>
#include <vector>

#include "host/roots.h"

namespace pex::events {

/// The CPUs on which the events of a PMU are opened, where the kernel names those of `named`
/// (read_pmu_cpus()); all lists are rising.
///
/// An uncore PMU that is read on a CPU of `left_out` is read on the first one of `counted` in the
/// same package; if that has several readers, in the same die, or core: the kernel accepts any CPU
/// there. None can stand in for one of several readers of a core.
///
/// Energy of AMD is that of the package, whatever Linux 6.9 to 6.11.5 names: a CPU of each die
/// (topology_logical_die_id() in arch/x86/events/rapl.c). The first one reads it.
std::vector<int> readers_of(const host::HostRoots& roots, const std::string& pmu,
                            const std::vector<int>& named, const std::vector<int>& counted,
                            const std::vector<int>& left_out);

/// Whether the CPUs of the PMU read parts of the machine, instead of themselves.
bool is_uncore(const host::HostRoots& roots, const std::string& pmu);

}  // namespace pex::events
