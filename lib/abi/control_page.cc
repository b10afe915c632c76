#include "abi/control_page.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/lookup.h"
#include "perf/event_attr.h"

namespace pex::perf {
namespace {

__extension__ using Uint128 = unsigned __int128;

struct NotReadableEntry {
  NotReadable reason;
  std::string_view words;
};
constexpr NotReadableEntry kNotReadableReasons[] = {
    {NotReadable::kBusy, "the kernel was changing the control page all the time"},
    {NotReadable::kUnknownLayout, "the control page has an unknown layout"},
    {NotReadable::kNoUserAccess, "the kernel opens no counter of this event to programs"},
    {NotReadable::kNotOnPmu, "the event has no counter now"},
    {NotReadable::kUnknownCounter, "its counter cannot be read on this CPU"},
    {NotReadable::kNoClock, "the kernel's clock cannot be read on this machine"},
    {NotReadable::kNoTimestamps, "the kernel's clock is not that of the CPU"},
    {NotReadable::kOtherThread, "the control page belongs to another thread"},
};

/// The capabilities are bit-fields, whose order follows that of the bytes.
constexpr std::uint64_t capability_bit(unsigned index) {
  return bit_field<std::uint64_t>(index, 1, 1);
}
constexpr std::uint64_t kBitsAreSeparate = capability_bit(1);  // cap_bit0_is_deprecated
constexpr std::uint64_t kUserRdpmc = capability_bit(2);
constexpr std::uint64_t kUserTime = capability_bit(3);
constexpr std::uint64_t kUserTimeZero = capability_bit(4);
constexpr std::uint64_t kUserTimeShort = capability_bit(5);

/// Before Linux 3.12, one bit stood for two capabilities: neither is known then.
bool has_capability(const PageSnapshot& page, std::uint64_t bit) {
  return (page.capabilities & kBitsAreSeparate) != 0 && (page.capabilities & bit) != 0;
}

/// Later reads of the page are not done earlier than this one. What the kernel writes, it writes on
/// this CPU for an event that has a counter, and on any CPU for others.
template <typename Word>
Word load_field(const Word& field) {
  return __atomic_load_n(&field, __ATOMIC_ACQUIRE);
}

PageSnapshot load_fields(const perf_event_mmap_page& page) {
  PageSnapshot fields;
  fields.index = load_field(page.index);
  fields.offset = load_field(page.offset);
  fields.time_enabled = load_field(page.time_enabled);
  fields.time_running = load_field(page.time_running);
  fields.capabilities = load_field(page.capabilities);
  fields.pmc_width = load_field(page.pmc_width);
  fields.time_shift = load_field(page.time_shift);
  fields.time_mult = load_field(page.time_mult);
  fields.time_offset = load_field(page.time_offset);
  fields.time_zero = load_field(page.time_zero);
  fields.time_cycles = load_field(page.time_cycles);
  fields.time_mask = load_field(page.time_mask);
  return fields;
}

/// Between two reads of the lock: a counter belongs to the event only as long as the page says so.
void load_registers(PageSnapshot& page, const CpuRegisters& registers) {
  if (page.index != 0 && has_capability(page, kUserRdpmc))
    page.counter = registers.counter(page.index);
  if (has_capability(page, kUserTime)) page.clock = registers.clock();
}

/// Of a counter of fewer than 64 bits; `width` is 1 to 64.
std::int64_t sign_extended(std::uint64_t value, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

/// time_offset and time_zero are two zeros of the same clock.
TimeConversion conversion_from(const PageSnapshot& page, std::uint64_t zero) {
  const bool is_short = has_capability(page, kUserTimeShort);
  return {page.time_mult, page.time_shift, zero, is_short ? page.time_cycles : 0,
          is_short ? page.time_mask : ~std::uint64_t{0}};
}

std::optional<NotReadable> fault_of_clock(const PageSnapshot& page) {
  if (!has_capability(page, kUserTime)) return NotReadable::kNoClock;
  if (page.time_mult == 0 || page.time_shift >= 64) return NotReadable::kUnknownLayout;
  return {};
}

/// Reads no counter: that may be done in the thread of the event only.
class ClockOnly final : public CpuRegisters {
 public:
  explicit ClockOnly(const CpuRegisters& registers) : registers_(registers) {}
  std::optional<std::uint64_t> counter(std::uint32_t) const override { return {}; }
  std::optional<std::uint64_t> clock() const override { return registers_.clock(); }

 private:
  const CpuRegisters& registers_;
};

/// Never used again, unlike the kernel's number of a thread, and without a system call.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

}  // namespace

std::string_view describe(NotReadable reason) {
  return lookup(kNotReadableReasons, &NotReadableEntry::reason, reason)
      ->words;  // each has an entry
}

std::uint64_t TimeConversion::unwrapped(std::uint64_t raw_cycles) const {
  return cycles + ((raw_cycles - cycles) & mask);
}

std::uint64_t TimeConversion::timestamp(std::uint64_t at_cycle) const {
  return zero + static_cast<std::uint64_t>(Uint128{unwrapped(at_cycle)} * mult >> shift);
}

std::uint64_t TimeConversion::cycle(std::uint64_t at_timestamp) const {
  return static_cast<std::uint64_t>((Uint128{at_timestamp - zero} << shift) / mult);
}

PageResult<PageSnapshot> read_page(const perf_event_mmap_page& page,
                                   const CpuRegisters& registers) {
  if (load_field(page.compat_version) != 0) return NotReadable::kUnknownLayout;
  for (int tries = 0; tries < kMaxPageTries; ++tries) {
    const std::uint32_t before = load_field(page.lock);
    if (before % 2 != 0) continue;  // the kernel is writing
    PageSnapshot snapshot = load_fields(page);
    load_registers(snapshot, registers);
    if (load_field(page.lock) == before) return snapshot;
  }
  return NotReadable::kBusy;
}

PageResult<PageSnapshot> read_clock(const perf_event_mmap_page& page,
                                    const CpuRegisters& registers) {
  return read_page(page, ClockOnly{registers});
}

PageResult<std::uint64_t> count_of(const PageSnapshot& snapshot) {
  if (!has_capability(snapshot, kUserRdpmc)) return NotReadable::kNoUserAccess;
  if (snapshot.index == 0) return NotReadable::kNotOnPmu;
  if (!snapshot.counter) return NotReadable::kUnknownCounter;
  if (snapshot.pmc_width == 0 || snapshot.pmc_width > 64) return NotReadable::kUnknownLayout;
  const std::int64_t counted = sign_extended(*snapshot.counter, snapshot.pmc_width);
  return static_cast<std::uint64_t>(snapshot.offset) + static_cast<std::uint64_t>(counted);
}

PageResult<PageTimes> times_of(const PageSnapshot& snapshot) {
  if (const auto fault = fault_of_clock(snapshot)) return *fault;
  if (!snapshot.clock) return NotReadable::kNoClock;
  if (snapshot.index == 0) return NotReadable::kNotOnPmu;
  const TimeConversion since_change = conversion_from(snapshot, snapshot.time_offset);
  const auto elapsed = static_cast<std::int64_t>(since_change.timestamp(*snapshot.clock));
  // Clocks of two CPUs may differ by a few cycles: the page was written later than now.
  const auto passed = static_cast<std::uint64_t>(std::max<std::int64_t>(elapsed, 0));
  return PageTimes{snapshot.time_enabled + passed, snapshot.time_running + passed};
}

PageResult<PageReading> reading_of(const PageSnapshot& snapshot) {
  const PageResult<std::uint64_t> count = count_of(snapshot);
  if (!count) return count.error();
  return PageReading{*count, times_of(snapshot), {snapshot.time_enabled, snapshot.time_running}};
}

PageResult<TimeConversion> conversion_of(const PageSnapshot& snapshot) {
  if (const auto fault = fault_of_clock(snapshot)) return *fault;
  if (!has_capability(snapshot, kUserTimeZero)) return NotReadable::kNoTimestamps;
  return conversion_from(snapshot, snapshot.time_zero);
}

ControlPage::ControlPage(Mapping mapping, const CpuRegisters& registers)
    : mapping_(std::move(mapping)), registers_(&registers), thread_(number_of_this_thread()) {}

Result<ControlPage> ControlPage::map(PerfKernel& kernel, int fd, const CpuRegisters& registers) {
  Result<Mapping> mapping = kernel.map(fd, page_size(), 0, false);
  if (!mapping) return mapping.error();
  return ControlPage{*std::move(mapping), registers};
}

const perf_event_mmap_page& ControlPage::page() const {
  return *reinterpret_cast<const perf_event_mmap_page*>(mapping_.data());
}

PageResult<PageReading> ControlPage::read() const {
  if (number_of_this_thread() != thread_) return NotReadable::kOtherThread;
  const PageResult<PageSnapshot> snapshot = read_page(page(), *registers_);
  if (!snapshot) return snapshot.error();
  return reading_of(*snapshot);
}

PageResult<TimeConversion> ControlPage::time_conversion() const {
  const PageResult<PageSnapshot> snapshot = read_clock(page(), *registers_);
  if (!snapshot) return snapshot.error();
  return conversion_of(*snapshot);
}

PageResult<std::uint64_t> ControlPage::timestamp_now() const {
  const PageResult<PageSnapshot> snapshot = read_clock(page(), *registers_);
  if (!snapshot) return snapshot.error();
  const PageResult<TimeConversion> conversion = conversion_of(*snapshot);
  if (!conversion) return conversion.error();
  if (!snapshot->clock) return NotReadable::kNoClock;
  return conversion->timestamp(*snapshot->clock);
}

}  // namespace pex::perf
