#pragma once

#include <span>

#include "collect/target_group.h"
#include "perf/perf_kernel.h"

namespace pex::collect {

/// The kernel's rotation, done by hand where it starves a group for ever. Its timer only fires, for
/// groups of a cgroup, while a task of the cgroup is on the CPU; a task that wakes on the tick and
/// sleeps again before the next one always meets the same group at the head of the list
/// (kernel/events/core.c, perf_mux_hrtimer_handler). One such group next to one that has
/// everything, three polls in a row, and from then on only one group of the target is enabled,
/// another at each poll. From time to time it is left to the kernel again, as workloads change.
class Turns {
 public:
  bool are_taken() const { return taken_ > 0; }

  /// After all `groups` of one target on one CPU have been read.
  void take(perf::PerfKernel& kernel, std::span<TargetGroup> groups);

 private:
  void next(perf::PerfKernel& kernel, std::span<TargetGroup> groups);
  void leave_to_kernel(perf::PerfKernel& kernel, std::span<TargetGroup> groups);

  unsigned taken_ = 0;       ///< since the kernel rotated; 0: it does
  std::size_t current_ = 0;  ///< index of the group that is enabled, when turns are taken
};

}  // namespace pex::collect
