#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "abi/cpu_registers.h"
#include "base/result.h"
#include "perf/mapping.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// Why something cannot be read from a control page now. It is no error, and never a number:
/// read(2) returns count and times of the same event, and is needed then.
enum class NotReadable {
  kBusy,            ///< the page changed during each of kMaxPageTries tries
  kUnknownLayout,   ///< the page has a later layout (compat_version), or fields no kernel writes
  kNoUserAccess,    ///< cap_user_rdpmc is 0: no hardware counter, or the kernel does not open it
  kNotOnPmu,        ///< index is 0: disabled, multiplexed, or access was closed since (sysctls.h)
  kUnknownCounter,  ///< the counter holds no count (PERF_METRICS), or this CPU is not supported
  kNoClock,         ///< cap_user_time is 0, as under a hypervisor's clock, or there is no register
  kNoTimestamps,    ///< cap_user_time_zero is 0: the kernel's clock is not that of the register
  kOtherThread,     ///< the page was mapped by another thread, whose counter is not ours
};
/// A sentence without its full stop.
std::string_view describe(NotReadable reason);

template <typename T>
using PageResult = Result<T, NotReadable>;

/// A control page is read as often as this before it is given up.
inline constexpr int kMaxPageTries = 100;

/// The values of a page at one instant: all fields are of one version of it, and the registers were
/// read in between. The units are those of perf_event_mmap_page (perf_event_open(2), "MMAP
/// layout").
struct PageSnapshot {
  std::uint32_t index = 0;         ///< of the counter, 0: none
  std::int64_t offset = 0;         ///< to add to the counter
  std::uint64_t time_enabled = 0;  ///< ns, when the kernel wrote the page last
  std::uint64_t time_running = 0;  ///< ns, likewise
  std::uint64_t capabilities = 0;
  std::uint16_t pmc_width = 0;  ///< valid bits of the counter
  std::uint16_t time_shift = 0;
  std::uint32_t time_mult = 0;
  std::uint64_t time_offset = 0;  ///< ns, modulo 2^64
  std::uint64_t time_zero = 0;    ///< ns, modulo 2^64
  std::uint64_t time_cycles = 0;
  std::uint64_t time_mask = 0;
  std::optional<std::uint64_t> counter;  ///< raw; empty if it was not read
  std::optional<std::uint64_t> clock;    ///< raw cycles; empty if they were not read
};

/// How cycles of CpuRegisters::clock() and the time stamps of records follow from each other.
/// Records of an event with use_clockid have another clock. Arithmetic is modulo 2^64, as the
/// kernel's is: time_zero is "negative" on arm64.
struct TimeConversion {
  std::uint32_t mult = 1;      ///< not 0
  std::uint16_t shift = 0;     ///< below 64
  std::uint64_t zero = 0;      ///< the time stamp at cycle 0, ns
  std::uint64_t cycles = 0;    ///< of a clock of fewer than 64 bits: a recent value,
  std::uint64_t mask = ~0ULL;  ///< and its valid bits

  /// ns, rounded down.
  std::uint64_t timestamp(std::uint64_t at_cycle) const;
  /// The cycle at the time stamp, rounded down: up to one cycle before timestamp() returns it. All
  /// 64 bits, also of a shorter clock.
  std::uint64_t cycle(std::uint64_t at_timestamp) const;
  /// The 64 bits of a shorter clock, which has wrapped at most once since the page was written.
  std::uint64_t unwrapped(std::uint64_t raw_cycles) const;
};

/// Times of an event, as read(2) returns them.
struct PageTimes {
  std::uint64_t enabled = 0;  ///< ns
  std::uint64_t running = 0;  ///< ns, at most `enabled`

  bool operator==(const PageTimes&) const = default;
};

/// Count and times of one instant.
struct PageReading {
  std::uint64_t count = 0;
  /// Until now; kNoClock: the kernel alone knows them. The count is valid all the same.
  PageResult<PageTimes> times = NotReadable::kNoClock;
  /// When the event was put onto its counter. It has been running since, so if these two times are
  /// equal, it was never multiplexed.
  PageTimes last_start;
};

// The parts of a reading, over plain memory.

/// Reads the page by its seqlock (`lock`), and the registers that it names.
PageResult<PageSnapshot> read_page(const perf_event_mmap_page& page, const CpuRegisters& registers);
/// The same, without the counter, for conversion_of(): in any thread. To read a counter elsewhere
/// than in the thread of its event can be a fault, or return that of another event.
PageResult<PageSnapshot> read_clock(const perf_event_mmap_page& page,
                                    const CpuRegisters& registers);
/// offset plus the sign-extended counter, modulo 2^64.
PageResult<std::uint64_t> count_of(const PageSnapshot& snapshot);
/// The times of the page plus what has passed since. Only of an event on its counter: for the
/// page, a disabled event looks like one that waits for a counter.
PageResult<PageTimes> times_of(const PageSnapshot& snapshot);
PageResult<PageReading> reading_of(const PageSnapshot& snapshot);
PageResult<TimeConversion> conversion_of(const PageSnapshot& snapshot);

/// The first page of an event's mapping, by which a thread reads its own counters without a system
/// call. Valid as long as the descriptor is open or the object lives.
///
/// For events of the calling thread (pid 0), without inherit. The registers are those of the CPU
/// that the reader runs on, so an event of another thread or CPU must not be read like this; a
/// reader in another thread than that which mapped the page gets kOtherThread. Hardware events
/// only: kernels open no register for software events. x86: if the file rdpmc of the PMU allows it
/// (sysctls.h). arm64: if kernel.perf_user_access is 1 and bit 1 of config1 is set (bit 0 as well
/// for 64 bits). A process that is reading while access is closed may get SIGSEGV or SIGILL. A
/// forked child does not have the mapping (VM_DONTCOPY): reading there gets SIGSEGV.
///
/// All mappings of an event have one size, so it cannot have both this and a RingBuffer. That has
/// the page: `read_clock(ring.page(), cpu_registers())`, then conversion_of(); or, in the thread
/// that the event counts only, read_page() and reading_of().
///
/// Example:
///   const Result<ControlPage> page = ControlPage::map(kernel, event->fd.get());
///   if (!page) return;
///   if (const PageResult<PageReading> reading = page->read()) {
///     std::cout << reading->count << '\n';
///   } else {
///     std::cout << "read(2) is needed: " << describe(reading.error()) << '\n';
///   }
class ControlPage {
 public:
  /// Fails as mmap(2) does: EINVAL for an event that is inherited on any CPU, or that has a
  /// RingBuffer, EPERM beyond perf_event_mlock_kb. Of an event with a ring,
  /// read_clock(ring.page(), cpu_registers()) reads the page, and conversion_of() converts its
  /// times. `registers` must outlive the page.
  static Result<ControlPage> map(PerfKernel& kernel, int fd,
                                 const CpuRegisters& registers = cpu_registers());

  PageResult<PageReading> read() const;

  // In any thread. Not of an event with use_clockid (SamplingRequest::clockid): its records have
  // the times of that clock, and arm64 and riscv set cap_user_time_zero in its page all the same.
  // x86 does not, so that the answer is kNoTimestamps there.

  PageResult<TimeConversion> time_conversion() const;
  /// What a record that is written now would have as its time.
  PageResult<std::uint64_t> timestamp_now() const;

 private:
  ControlPage(Mapping mapping, const CpuRegisters& registers);
  const perf_event_mmap_page& page() const;

  Mapping mapping_;
  const CpuRegisters* registers_;
  std::uint64_t thread_;  ///< that mapped it
};

}  // namespace pex::perf
