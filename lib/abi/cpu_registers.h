#pragma once

#include <cstdint>
#include <optional>

namespace pex::perf {

/// The registers that a program reads without a system call: counters of the PMU, and the clock
/// whose cycles the time_* fields of a control page convert. An interface, so that a script can
/// stand in for hardware. Used by several threads at once.
///
/// Reads are not ordered with the instructions around them: of those in flight, a counter may have
/// counted some that come later and not yet some that come earlier.
///
/// Example:
///   if (const std::optional<std::uint64_t> cycles = cpu_registers().clock()) {
///     std::cout << "cycle " << *cycles << '\n';
///   }
class CpuRegisters {
 public:
  virtual ~CpuRegisters() = default;

  /// The counter that a control page calls `index`, which is not 0, with as many valid bits as
  /// pmc_width says. Nothing if it holds no count, or if this library cannot read it. An `index`
  /// that is not from a page of the calling thread may end the process with a signal.
  virtual std::optional<std::uint64_t> counter(std::uint32_t index) const = 0;

  /// TSC on x86, CNTVCT_EL0 on arm64; nothing elsewhere.
  virtual std::optional<std::uint64_t> clock() const = 0;
};

/// Those of the CPU that the caller runs on: x86-64 with rdpmc, arm64 with the registers that
/// kernel.perf_user_access=1 opens. Nothing is readable on others.
const CpuRegisters& cpu_registers();

}  // namespace pex::perf
