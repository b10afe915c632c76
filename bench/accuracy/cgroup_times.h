#pragma once

#include <span>
#include <string>
#include <vector>

#include "contest.h"

namespace pex::bench {

/// When a cgroup has the CPU: for `slice_us` at a time, `share` of the time.
struct CgroupLoad {
  const char* name;
  double slice_us;
  double share;
  bool is_random;  ///< slices and pauses are exponential, with these means
  int seconds;     ///< simulated
};

/// How the kernel books time_running of groups that take turns.
enum class Booking {
  kRight,
  kAtSwitches,  ///< all of a slice to the group that has the PMU at its end (Linux 6.2 to 6.12.114)
};

/// Groups of a cgroup on one CPU, with the PMU for one group at a time; an event that comes at a
/// constant rate while the cgroup has the CPU. Every error is one of the times.
struct CgroupCell {
  const CgroupLoad* load;
  Booking booking;
  int groups;  ///< 1: the group never loses the PMU
  std::array<FiguresOfAll, std::size(kPollSeconds)> figures;

  std::string name() const;
};

/// Every load, on kernels that book either way, for a group that is alone and for one of three.
std::vector<CgroupCell> simulate_cgroup_times();

}  // namespace pex::bench
