#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pex::perf {

/// Why a record cannot be decoded. Cheap to make and to copy; the text is made by describe().
///
/// Example:
///   const std::array<std::byte, 4> four_bytes{};
///   const auto values = decode_values(ReadLayout{}, four_bytes);
///   if (!values) std::cerr << describe(values.error()) << '\n';
struct DecodeError {
  enum class Reason {
    kTooShort,      ///< the field needs more bytes than the record has left
    kUnterminated,  ///< a text of the kernel ends with the record and not with a zero byte
    kUnknownValue,  ///< the layout depends on the field, and the kernel's value is not known
    kLeftOver,      ///< all fields were read, and the record is longer, where its size matters
    kShifted,       ///< the kernel wrote the field, and all after it, 8 bytes too far
    kWrongSize,     ///< the header's size is not that of the record
  };

  Reason reason = Reason::kTooShort;
  std::uint32_t record_type = 0;  ///< PERF_RECORD_*; 0 for a buffer of read(2) or without a header
  std::string_view field;         ///< of the record; a constant of the library
  std::size_t offset = 0;         ///< of the field, in bytes from the start of the record
  std::uint64_t needed = 0;       ///< bytes that the field needs; kUnknownValue: the value
  std::size_t left = 0;           ///< bytes of the record from `offset` on

  bool operator==(const DecodeError&) const = default;
};

/// One line without a full stop: "PERF_RECORD_SAMPLE cannot be decoded: 'callchain' at byte 24
/// needs 800 bytes, and 16 are left".
std::string describe(const DecodeError& error);

}  // namespace pex::perf
