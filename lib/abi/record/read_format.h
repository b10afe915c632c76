#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "abi/record/abi_entry.h"
#include "abi/record/byte_reader.h"
#include "abi/record/decode_error.h"
#include "abi/record/packed_span.h"
#include "base/result.h"

namespace pex::perf {

/// A bit of read_format (perf_event_open(2)).
struct ReadFormatEntry {
  AbiEntry abi;
  std::uint64_t bit;
};

/// All bits of read_format, from bit 0 on.
std::span<const ReadFormatEntry> read_formats();

/// One counter of a reading.
struct CounterValue {
  std::uint64_t value = 0;            ///< total since it was opened
  std::optional<std::uint64_t> id;    ///< PERF_FORMAT_ID: the id of the event
  std::optional<std::uint64_t> lost;  ///< PERF_FORMAT_LOST: samples that the ring had no room for

  bool operator==(const CounterValue&) const = default;
};

/// Where the words of a reading are, for one read_format:
///
///   without GROUP: value, time_enabled, time_running, id, lost
///   with GROUP:    nr, time_enabled, time_running, then nr times: value, id, lost
///
/// Each of them but value and nr only if the format has its bit.
struct ReadLayout {
  /// Refuses bits that this library does not know: they may add words.
  static Result<ReadLayout> of(std::uint64_t read_format);

  bool group = false;
  bool has_id = false;
  bool has_lost = false;
  bool has_time_enabled = false;
  bool has_time_running = false;
  std::uint8_t words_per_counter = 1;  ///< with GROUP
};

/// The counters of a reading, in the order in which they were opened, the leader first. A view of
/// the buffer.
class CounterValues {
 public:
  // The library's names. NOLINTBEGIN(readability-identifier-naming)
  using value_type = CounterValue;
  using const_iterator = ElementIterator<CounterValues>;
  // NOLINTEND(readability-identifier-naming)

  CounterValues() = default;
  /// `size` counters of `stride` bytes each. The id and lost of a counter are so many bytes after
  /// its value; 0 if they are absent.
  CounterValues(const std::byte* first, std::size_t size, std::uint8_t stride, std::uint8_t id_at,
                std::uint8_t lost_at) noexcept
      : first_(first), size_(size), stride_(stride), id_at_(id_at), lost_at_(lost_at) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// `index` must be less than size().
  CounterValue operator[](std::size_t index) const noexcept {
    assert(index < size_);
    const std::byte* counter = first_ + index * stride_;
    CounterValue result{.value = word(counter), .id = {}, .lost = {}};
    if (id_at_ != 0) result.id = word(counter + id_at_);
    if (lost_at_ != 0) result.lost = word(counter + lost_at_);
    return result;
  }

  const_iterator begin() const noexcept { return {*this, 0}; }
  const_iterator end() const noexcept { return {*this, size_}; }

 private:
  static std::uint64_t word(const std::byte* at) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  const std::byte* first_ = nullptr;
  std::size_t size_ = 0;
  std::uint8_t stride_ = 0;
  std::uint8_t id_at_ = 0;
  std::uint8_t lost_at_ = 0;
};

/// Counters at one instant: of read(2), PERF_SAMPLE_READ or PERF_RECORD_READ. All numbers are
/// totals since the events were opened, and none ever decreases.
///
/// Example:
///   const std::array<std::uint64_t, 4> buffer{2, 1000, 50, 7};  // GROUP | TOTAL_TIME_ENABLED
///   const auto layout = ReadLayout::of(PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED);
///   const auto values = decode_values(*layout, std::as_bytes(std::span(buffer)));
///   for (const CounterValue& counter : values->counters) std::cout << counter.value << '\n';
struct ReadValues {
  enum class State : std::uint8_t {
    kCounting,  ///< the usual case; the other fields are valid
    kOffPmu,    ///< read(2) returned 0 bytes: a pinned group lost its place on the PMU
  };

  /// The event wanted to count: for a task only while it ran, for a cgroup only while its tasks
  /// ran.
  std::optional<std::chrono::nanoseconds> time_enabled;
  std::optional<std::chrono::nanoseconds> time_running;  ///< it counted; never more than enabled
  CounterValues counters;                                ///< without GROUP: one
  State state = State::kCounting;
};

/// Decodes the bytes that read(2) returned for an event of this format. No bytes are kOffPmu.
Result<ReadValues, DecodeError> decode_values(const ReadLayout& layout,
                                              std::span<const std::byte> bytes) noexcept;

/// The same as a part of a record.
bool decode_values(ByteReader& reader, const ReadLayout& layout, ReadValues& values) noexcept;

}  // namespace pex::perf
