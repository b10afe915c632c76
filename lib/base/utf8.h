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

/// One line of UTF-8 of any bytes, for whatever goes to a terminal or a log. Bytes that are not
/// part of a character are shown as as_utf8() does. Written as \uXXXX is every character that does
/// more than stand in its line: control characters (C0, DEL and C1, of which terminals make
/// commands), line and paragraph separators, and those that change the direction of text, by which
/// a name is shown as another one. Backslashes stay as they are, so quoted text, also of JSON,
/// means the same afterwards; and what is printable stays as it is.
std::string printable(std::string_view bytes);

}  // namespace pex
