#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::collect {

/// Descriptors that CpuPresence needs on each CPU.
inline constexpr std::size_t kPresenceEvents = 1;

/// Tells whether a CPU has been offline since it was last asked, which the list of online CPUs
/// cannot when it is back already. Its counters answer as before and never count again, without any
/// error; but the clock of a whole-CPU event otherwise never stands still. So one such event is
/// kept open for this alone, the kernel's `dummy`, which costs nothing.
class CpuPresence {
 public:
  /// `kernel` outlives it.
  CpuPresence(perf::PerfKernel& kernel, int cpu);

  /// True when whatever was opened on the CPU before the last call is dead. Only for a CPU that is
  /// online now. Where the event cannot be opened nothing else can, and the answer is no.
  bool was_away();

  /// The CPU is offline: the next call starts anew.
  void reset() { event_.reset(); }

  bool is_open() const { return event_.has_value(); }

 private:
  perf::PerfKernel& kernel_;
  int cpu_;
  std::optional<perf::CounterGroup> event_;
  std::chrono::nanoseconds enabled_{};  ///< at the last call
};

}  // namespace pex::collect
