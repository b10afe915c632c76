#pragma once

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pex::perf {

/// "0x2a".
inline std::string hexadecimal(std::uint64_t value) {
  char digits[16];
  const char* end = std::to_chars(digits, digits + sizeof(digits), value, 16).ptr;
  return "0x" + std::string(digits, static_cast<std::size_t>(end - digits));
}

/// Why records of this `field` of perf_event_attr are not decoded: what an unknown bit adds to a
/// record cannot be skipped.
inline Error unknown_bits(std::string_view field, std::uint64_t value, std::uint64_t known) {
  return {EOPNOTSUPP, "decode records of " + std::string(field) + " " + hexadecimal(value),
          "do not set these bits of " + std::string(field),
          "the bits " + hexadecimal(value & ~known) + " are not known"};
}

}  // namespace pex::perf
