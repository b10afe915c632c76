#pragma once

#include <functional>
#include <span>

#include "random.h"

namespace pex::bench {

/// A time in which a CPU does one thing.
struct Phase {
  double ms = 0;
  double events = 0;         ///< per ms, on average
  double reference = 0;      ///< per ms
  double events_at_end = 0;  ///< all at once
};

/// A CPU's phases, one after the other, for ever.
using Phases = std::function<Phase(Random&)>;

/// A kind of load, and of event counted under it.
struct Workload {
  const char* name;
  const char* what;  ///< for the reader
  Phases (*start)();
};

std::span<const Workload> workloads();

/// What happened in one slot of the rotation.
struct Slot {
  double events = 0;
  double reference = 0;
};

/// Cuts phases into slots. Event counts come with noise: 15 % (standard deviation) in each busy
/// millisecond, which is 7.5 % in a slot of 4 ms.
class SlotStream {
 public:
  SlotStream(const Workload& workload, double slot_ms, std::uint64_t seed)
      : slot_ms_(slot_ms), random_(seed), phases_(workload.start()) {}

  Slot next();

 private:
  double slot_ms_;
  Random random_;
  Phases phases_;
  Phase phase_;
};

}  // namespace pex::bench
