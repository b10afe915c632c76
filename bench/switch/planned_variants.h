#pragma once

#include <vector>

#include "base/result.h"
#include "bench/support/stop_signals.h"
#include "bench/switch/choices.h"
#include "bench/switch/ping_pong.h"
#include "bench/switch/switch_cgroups.h"
#include "bench/switch/switch_rounds.h"
#include "host/roots.h"

namespace pex::bench {

/// Where the ping-pong is played.
struct Scene {
  const host::HostRoots& roots;
  int cpu = 0;
  const SwitchCgroups& cgroups;
  PingPong& game;
  const StopSignals& stop;
};

/// Plans how each choice is opened. Leaves out, and says so, what the limit of open files does not
/// allow, and BPF where the kernel refuses it or its counts are not right. Keep both until the last
/// variant is closed.
Result<std::vector<Variant>> plan_variants(const Matrix& matrix, const Scene& scene);

}  // namespace pex::bench
