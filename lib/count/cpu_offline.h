#pragma once

#include <chrono>
#include <optional>

#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::collect {

/// One event for each CPU that counts nothing, the kernel's `dummy`, which costs nothing. It is
/// enabled at its opening, before all other groups of the CPU, and stays open:
///
///   - so the kernel's context of the CPU is active, without which no group that is opened disabled
///     ever counts (perf::CounterGroup::open);
///   - its time shows whether the CPU has been offline since the last check, which the list of
///     online CPUs does not show if the CPU is already back. Events of a CPU that was offline can
///     still be read and never count again, without any error. Otherwise the time of a whole-CPU
///     event never stands still from one reading to the next.
class CpuOfflineDetector {
 public:
  /// `kernel` outlives it.
  CpuOfflineDetector(perf::PerfKernel& kernel, int cpu);

  /// For how long nothing was counted, if the CPU has been offline since the last call: from when
  /// it went offline, or was last known to be (reset()), until now. Whatever was opened on it
  /// before is dead. Only for a CPU that is online now. If the event cannot be opened nothing else
  /// can, and the result is nothing.
  std::optional<std::chrono::nanoseconds> detect();

  /// The CPU is offline: the next call of detect() restarts.
  void reset();

  bool is_open() const { return event_.has_value(); }

 private:
  void open();
  bool goes_on_from(std::chrono::nanoseconds enabled);

  perf::PerfKernel& kernel_;
  int cpu_;
  std::optional<perf::CounterGroup> event_;
  perf::GroupReading reading_;                          ///< used again, to allocate nothing
  std::chrono::nanoseconds enabled_{};                  ///< when its time was last seen to advance
  std::chrono::nanoseconds seen_{};                     ///< by PerfKernel::now(), just after that
  std::optional<std::chrono::nanoseconds> offline_at_;  ///< the last reset()
};

}  // namespace pex::collect
