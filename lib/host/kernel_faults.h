#pragma once

#include <array>
#include <string_view>

namespace pex::host {

/// A fault that the exporter finds by a trial, whatever the version. docs/metrics.md, "Faults of
/// kernels", has all of them.
struct KernelFault {
  std::string_view kernels;  ///< that have it, by their source and by trials
  std::string_view fixed_in;
};

/// Running time of multiplexed groups of a cgroup is accounted to the group that has the PMU at the
/// next switch between cgroups, from the rewrite of contexts until "perf: Update cgroup time when
/// rotating multiplexed events" (perf_rotate_context() in kernel/events/core.c).
inline constexpr KernelFault kWrongRunningTime{"Linux 6.2 to 6.12.114 and 6.13 to 7.1",
                                               "Linux 6.12.115 or a later 6.12, or 7.2 or later"};
/// What the cpu-clock of a task has counted is dropped when it leaves the CPU (cpu_clock_event_del()
/// in kernel/events/core.c).
inline constexpr KernelFault kDeadCpuClock{"Linux 6.16.0 to 6.17.7", "Linux 6.17.8 or later"};

inline constexpr std::array kKernelFaults = {kWrongRunningTime, kDeadCpuClock};

}  // namespace pex::host
