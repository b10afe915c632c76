#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "bench/bpf/bpf_counters.h"
#include "bench/switch/ping_pong.h"
#include "bench/switch/switch_cgroups.h"

namespace pex::bench {

/// Counts by BPF, against what is known without it.
struct BpfCheck {
  static constexpr double kTolerance = 0.02;

  /// The sums of all cgroups, against what the CPU's events counted meanwhile: of the event in
  /// which they differ most, among those that happened often. What was counted after the last
  /// switch is in no sum yet.
  double deviation = 0;
  /// The context switches of the two players' cgroups, against a round trip each. Nothing if they
  /// are not counted.
  std::optional<double> switches_deviation;

  bool is_right() const {
    return deviation <= kTolerance && switches_deviation.value_or(0) <= kTolerance;
  }
};

/// Of the best of a few tries, as the machine may do other things meanwhile.
/// `switches`: the index of the event context-switches, if it is counted.
Result<BpfCheck> check_bpf(BpfCounters& counters, std::optional<std::size_t> switches, int cpu,
                           PingPong& game, const SwitchCgroups& cgroups, const StopSignals& stop);

}  // namespace pex::bench
