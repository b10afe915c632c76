#include "abi/cpu_registers.h"

#include <array>
#include <cstddef>
#include <utility>

// The only inline assembly of the library.

namespace pex::perf {
namespace {

#if defined(__x86_64__)

/// What rdpmc calls counters: general ones by their number, fixed ones from 1 << 30 on
/// (x86_pmu_event_idx and event_base_rdpmc, arch/x86/events/core.c). At 1 << 29 is PERF_METRICS,
/// shares of the slots in 8 bits each and no count.
constexpr std::uint32_t kMaxGeneralNumbers = 64;
constexpr std::uint32_t kFirstFixedNumber = 1U << 30;
constexpr std::uint32_t kMaxFixedNumbers = 32;

std::uint64_t from_halves(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}

std::optional<std::uint64_t> read_register(std::uint32_t index) {
  const std::uint32_t number = index - 1;
  const bool holds_count =
      number < kMaxGeneralNumbers || number - kFirstFixedNumber < kMaxFixedNumbers;
  if (!holds_count) return {};
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number) : "memory");
  return from_halves(low, high);
}

std::optional<std::uint64_t> read_cycles() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return from_halves(low, high);
}

#elif defined(__aarch64__)

/// PMEVCNTR<n>_EL0, by its encoding: the instruction has the number in it.
template <std::size_t kNumber>
std::uint64_t event_counter() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, s3_3_c14_c%c1_%c2"
               : "=r"(value)
               : "i"(8 + kNumber / 8), "i"(kNumber % 8)
               : "memory");
  return value;
}

std::uint64_t cycle_counter() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, pmccntr_el0" : "=r"(value) : : "memory");
  return value;
}

using RegisterReader = std::uint64_t (*)();

/// Counters 0 to 30, and then that of cycles, which the kernel calls 31
/// (armv8pmu_user_event_idx, drivers/perf/arm_pmuv3.c).
template <std::size_t... kNumbers>
constexpr std::array<RegisterReader, sizeof...(kNumbers) + 1> register_readers(
    std::index_sequence<kNumbers...>) {
  return {event_counter<kNumbers>..., cycle_counter};
}
constexpr auto kRegisterReaders = register_readers(std::make_index_sequence<31>{});

std::optional<std::uint64_t> read_register(std::uint32_t index) {
  const std::uint32_t number = index - 1;
  if (number >= kRegisterReaders.size()) return {};
  return kRegisterReaders[number]();
}

std::optional<std::uint64_t> read_cycles() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value) : : "memory");
  return value;
}

#else

std::optional<std::uint64_t> read_register(std::uint32_t) { return {}; }
std::optional<std::uint64_t> read_cycles() { return {}; }

#endif

class ThisCpu final : public CpuRegisters {
 public:
  std::optional<std::uint64_t> counter(std::uint32_t index) const override {
    return read_register(index);
  }
  std::optional<std::uint64_t> clock() const override { return read_cycles(); }
};

}  // namespace

const CpuRegisters& cpu_registers() {
  static const ThisCpu kThisCpu;
  return kThisCpu;
}

}  // namespace pex::perf
