#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pex {

/// One character of a UTF-8 text (RFC 3629). No bytes: the text is not UTF-8 here.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// Converts any bytes to UTF-8: each byte that is not part of a character becomes U+FFFD and its
/// two hexadecimal digits, as does each byte of an existing U+FFFD. So different bytes stay
/// different.
std::string as_utf8(std::string_view bytes);

/// The same, and so do control characters (C0, DEL and C1, which terminals interpret), but for line
/// feeds: a value of a label as it is published.
std::string as_label_value(std::string_view bytes);

/// Converts any bytes to one line of UTF-8 for a terminal or a log. Bytes that are not part of a
/// character are shown as by as_utf8(). Control characters (C0, DEL and C1, which terminals
/// interpret), line and paragraph separators, and characters that change the direction of text,
/// which can disguise a name, become \u and four hexadecimal digits. Backslashes and printable
/// characters are unchanged, so quoted text, also of JSON, keeps its meaning.
std::string printable(std::string_view bytes);

}  // namespace pex
