#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/support/stop_signals.h"

namespace pex::bench {

/// With whom the first process plays.
enum class Partner { kInSameCgroup, kInOtherCgroup };
inline constexpr std::array kPartners = {Partner::kInSameCgroup, Partner::kInOtherCgroup};

/// Processes bound to one CPU; two of them hand a byte to and fro over pipes: as each waits for
/// the other, a round trip is two context switches, and little else. The first one sits in the
/// first of two cgroups and plays with a second one there, or with a third one in the other cgroup.
/// They sleep while nothing is measured, and end with this.
class PingPong {
 public:
  /// `cgroups`: the directories of both.
  static Result<PingPong> start(int cpu, const std::array<std::string, 2>& cgroups);
  ~PingPong();
  PingPong(PingPong&&) = default;
  PingPong& operator=(PingPong&&) = delete;

  /// Nanoseconds of CPU time of both players for each switch, which is half a round trip. What the
  /// kernel does between two tasks is in the time of one of them; what other tasks do on the CPU is
  /// not, unlike in the time that passes. Fails with EINTR when a stop signal arrives.
  Result<double> ns_per_switch(Partner partner, std::size_t round_trips, const StopSignals& stop);

 private:
  PingPong() = default;

  std::vector<pid_t> processes_;
  UniqueFd line_;  ///< to the first one
};

}  // namespace pex::bench
