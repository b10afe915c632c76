#include "base/utf8.h"

#include <algorithm>
#include <iterator>

namespace pex {
namespace {

/// What the first byte of a character determines.
struct LeadEntry {
  unsigned mask;
  unsigned bits;
  std::size_t bytes;
  std::uint32_t least;  ///< smaller codes have a shorter form, which alone is valid
};
constexpr LeadEntry kLeads[] = {
    {0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

constexpr std::uint32_t kReplacementCode = 0xfffd;
constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::string_view kHex = "0123456789abcdef";

bool is_unicode(std::uint32_t code) {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);  // the gap holds UTF-16's surrogates
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
/// All have four digits.
constexpr Range kUnprintable[] = {
    {0x0000, 0x001f},  // C0
    {0x007f, 0x009f},  // DEL and C1
    {0x061c, 0x061c},  // Arabic letter mark
    {0x200e, 0x200f},  // left-to-right and right-to-left mark
    {0x2028, 0x2029},  // line and paragraph separator
    {0x202a, 0x202e},  // embeddings and overrides of the direction
    {0x2066, 0x2069},  // isolates
};

bool is_printable(std::uint32_t code) {
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

/// A byte that is not part of a character.
void add_byte(char c, std::string& text) {
  ((text += kReplacement) += kHex[byte_of(c) >> 4]) += kHex[byte_of(c) & 0xF];
}

/// C0, DEL and C1.
bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// The characters for which `stays(code)`; each byte of others becomes U+FFFD and its two digits.
template <typename Stays>
std::string converted(std::string_view bytes, Stays stays) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const bool is_kept = character.bytes > 0 && stays(character.code);
    if (is_kept) {
      text += bytes.substr(0, character.bytes);
    } else {
      add_byte(bytes.front(), text);
    }
    bytes.remove_prefix(is_kept ? character.bytes : 1);
  }
  return text;
}

/// The number of leading bytes that are printable ASCII: most of any text.
std::size_t plain_bytes(std::string_view bytes) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f'; };
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), is_plain);
  return static_cast<std::size_t>(end - bytes.begin());
}

}  // namespace

Character first_character(std::string_view text) {
  const unsigned lead = byte_of(text[0]);
  for (const LeadEntry& row : kLeads) {
    if ((lead & row.mask) != row.bits) continue;
    if (text.size() < row.bytes) return {};
    std::uint32_t code = lead & ~row.mask;
    for (std::size_t i = 1; i < row.bytes; ++i) {
      if ((byte_of(text[i]) & 0xc0) != 0x80) return {};
      code = code << 6 | (byte_of(text[i]) & 0x3f);
    }
    if (code < row.least || !is_unicode(code)) return {};
    return {code, row.bytes};
  }
  return {};
}

std::string as_utf8(std::string_view bytes) {
  return converted(bytes, [](std::uint32_t code) { return code != kReplacementCode; });
}

std::string as_label_value(std::string_view bytes) {
  return converted(bytes, [](std::uint32_t code) {
    return code != kReplacementCode && (code == '\n' || !is_control(code));
  });
}

std::string printable(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (true) {
    const std::size_t plain = plain_bytes(bytes);
    text += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return text;
    const Character character = first_character(bytes);
    if (character.bytes == 0) {
      add_byte(bytes.front(), text);
    } else if (is_printable(character.code)) {
      text += bytes.substr(0, character.bytes);
    } else {
      text += "\\u";
      for (const unsigned shift : {12U, 8U, 4U, 0U}) text += kHex[character.code >> shift & 0xF];
    }
    bytes.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
}

}  // namespace pex
