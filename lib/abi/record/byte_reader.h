#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "abi/record/decode_error.h"
#include "abi/record/packed_span.h"

namespace pex::perf {

/// Reads a record from its start to its end, and never beyond. Each call either reads its field and
/// returns true, or returns false and keeps the reason for error(). Numbers have the byte order of
/// this machine, as the kernel writes them, and need not be aligned. Nothing is copied but numbers:
/// arrays, bytes and texts are views of the buffer, which must outlive them.
///
/// Example:
///   const std::array<std::byte, 8> buffer{std::byte{7}};
///   ByteReader reader(buffer);
///   std::uint8_t count = 0;
///   PackedSpan<std::uint16_t> values;
///   if (!reader.read("count", count) || !reader.read_array("values", count, values)) {
///     std::cerr << describe(reader.error(PERF_RECORD_SAMPLE)) << '\n';  // 14 bytes, 7 left
///   }
class ByteReader {
 public:
  /// Begins `offset` bytes after the start; at most bytes.size().
  explicit ByteReader(std::span<const std::byte> bytes, std::size_t offset = 0) noexcept
      : start_(bytes.data()), next_(start_ + offset), end_(start_ + bytes.size()) {}

  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - next_); }

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  bool read(std::string_view field, T& value) noexcept {
    if (left() < sizeof(T)) return fail(DecodeError::Reason::kTooShort, field, sizeof(T));
    std::memcpy(&value, next_, sizeof(T));
    next_ += sizeof(T);
    return true;
  }

  /// `count` elements of T; `count` may be anything.
  template <typename T>
  bool read_array(std::string_view field, std::uint64_t count, PackedSpan<T>& array) noexcept {
    // Not count * sizeof(T), which may wrap.
    if (count > left() / sizeof(T)) {
      return fail(DecodeError::Reason::kTooShort, field, saturating_product(count, sizeof(T)));
    }
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(T);
    array = PackedSpan<T>({next_, size});
    next_ += size;
    return true;
  }

  /// `count` bytes; `count` may be anything.
  bool read_bytes(std::string_view field, std::uint64_t count,
                  std::span<const std::byte>& bytes) noexcept {
    if (count > left()) return fail(DecodeError::Reason::kTooShort, field, count);
    bytes = {next_, static_cast<std::size_t>(count)};
    next_ += count;
    return true;
  }

  /// All that is left: a text that ends with a zero byte, and what the kernel pads it with to a
  /// multiple of 8 bytes. Without a zero byte, the end of the text is missing.
  bool read_text(std::string_view field, std::string_view& text) noexcept {
    const void* zero = left() == 0 ? nullptr : std::memchr(next_, 0, left());
    if (zero == nullptr) return fail(DecodeError::Reason::kUnterminated, field, 0);
    const auto* characters = reinterpret_cast<const char*>(next_);
    text = {characters, static_cast<std::size_t>(static_cast<const char*>(zero) - characters)};
    next_ = end_;
    return true;
  }

  /// Fails unless so many bytes are left.
  bool require(std::string_view field, std::size_t size) noexcept {
    return left() >= size || fail(DecodeError::Reason::kTooShort, field, size);
  }

  /// Gives the last `size` bytes, at most left(), to another reader.
  ByteReader split_end(std::size_t size) noexcept {
    ByteReader end = *this;
    end_ -= size;
    end.next_ = end_;
    return end;
  }

  /// Keeps a reason that only the caller knows: the field before this place has an unknown value.
  bool refuse_value(std::string_view field, std::uint64_t value) noexcept {
    return fail(DecodeError::Reason::kUnknownValue, field, value);
  }
  /// What follows is known not to be where it belongs.
  bool refuse_shifted(std::string_view field) noexcept {
    return fail(DecodeError::Reason::kShifted, field, 0);
  }

  /// Fails unless everything was read. `last` is the last field.
  bool expect_end(std::string_view last) noexcept {
    return left() == 0 || fail(DecodeError::Reason::kLeftOver, last, 0);
  }

  /// After a call that returned false.
  DecodeError error(std::uint32_t record_type) const noexcept {
    return {.reason = reason_,
            .record_type = record_type,
            .field = field_,
            .offset = static_cast<std::size_t>(next_ - start_),
            .needed = needed_,
            .left = left()};
  }

 private:
  bool fail(DecodeError::Reason reason, std::string_view field, std::uint64_t needed) noexcept {
    reason_ = reason;
    field_ = field;
    needed_ = needed;
    return false;
  }

  static std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) noexcept {
    return a > UINT64_MAX / b ? UINT64_MAX : a * b;
  }

  const std::byte* start_;
  const std::byte* next_;
  const std::byte* end_;
  std::string_view field_;
  std::uint64_t needed_ = 0;
  DecodeError::Reason reason_ = DecodeError::Reason::kTooShort;
};

}  // namespace pex::perf
