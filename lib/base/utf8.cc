#include "base/utf8.h"

namespace pex {
namespace {

/// What the first byte of a character says about all of it.
struct LeadRow {
  unsigned mask;
  unsigned bits;
  std::size_t bytes;
  std::uint32_t least;  ///< smaller codes have a shorter form, and only that one is UTF-8
};
constexpr LeadRow kLeads[] = {
    {0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

constexpr std::uint32_t kReplacementCode = 0xfffd;
constexpr std::string_view kReplacement = "\uFFFD";

bool is_unicode(std::uint32_t code) {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);  // the gap holds UTF-16's surrogates
}

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

}  // namespace

Character first_character(std::string_view text) {
  const unsigned lead = byte_of(text[0]);
  for (const LeadRow& row : kLeads) {
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
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    if (character.bytes > 0 && character.code != kReplacementCode) {
      text += bytes.substr(0, character.bytes);
      bytes.remove_prefix(character.bytes);
      continue;
    }
    const unsigned byte = byte_of(bytes.front());
    ((text += kReplacement) += kHex[byte >> 4]) += kHex[byte & 0xF];
    bytes.remove_prefix(1);
  }
  return text;
}

}  // namespace pex
