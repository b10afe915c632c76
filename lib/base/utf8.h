#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pex {

/// One character of a UTF-8 text (RFC 3629). No bytes: what stands there is not UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The character that starts a text, which is not empty.
Character first_character(std::string_view text);

/// UTF-8 of any bytes: each that is not part of a character becomes U+FFFD and its two hexadecimal
/// digits, as does each byte of a U+FFFD that was there before. So different bytes stay different.
std::string as_utf8(std::string_view bytes);

}  // namespace pex
