#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "count/target_groups.h"

namespace pex::collect {

/// Manual rotation, for groups that the kernel's rotation starves for ever. Its timer only fires,
/// for groups of a cgroup, while a task of the cgroup is on the CPU; a task that wakes on the tick
/// and sleeps again before the next one always meets the same group at the head of the list
/// (kernel/events/core.c, perf_mux_hrtimer_handler). If one group is starved while another one has
/// the PMU all the time, in three consecutive polls, then only one group of the target is enabled,
/// another at each poll. From time to time the kernel rotates again, as workloads change.
class Rotation {
 public:
  bool is_manual() const { return steps_ > 0; }

  /// Called after all `groups` of this `target` have been read.
  void advance(std::span<TargetGroups> groups, std::size_t target);
  /// The groups are those of `now` from now on.
  void follow(const ScopePlan& before, const ScopePlan& now);
  /// Enables all groups: the kernel rotates again.
  void leave_to_kernel(std::span<TargetGroups> groups, std::size_t target);

 private:
  void next(std::span<TargetGroups> groups, std::size_t target);

  std::uint32_t steps_ = 0;    ///< since the kernel rotated; 0: it does
  std::uint32_t current_ = 0;  ///< index of the enabled group, during manual rotation
};

}  // namespace pex::collect
