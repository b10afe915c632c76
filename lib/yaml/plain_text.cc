#include "yaml/plain_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>

#include "base/lookup.h"
#include "base/utf8.h"

namespace pex::yaml {
namespace {

constexpr std::size_t kMaxShown = 60;

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr CodeRange kControls[] = {
    {0x00, 0x1f},      // C0: line breaks, escape sequences
    {0x7f, 0x9f},      // delete, and C1 with one more line break
    {0xad, 0xad},      // soft hyphen
    {0x200b, 0x200b},  // zero-width space
    {0x2028, 0x202e},  // line and paragraph separators, and turning the reading direction
    {0x2060, 0x2064},  // word joiner and others without width
    {0x2066, 0x2069},  // turning the reading direction
    {0xfeff, 0xfeff},  // byte order mark: invisible
};
/// These look like a blank, or like nothing, and are none to YAML. Texts may contain them.
constexpr CodeRange kOtherBlanks[] = {
    {0xa0, 0xa0},        // no-break space
    {0x115f, 0x1160},    // Hangul fillers
    {0x1680, 0x1680},    // Ogham space mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x2000, 0x200f},    // spaces of other widths, joiners, marks of direction
    {0x202f, 0x202f},    // narrow no-break space
    {0x205f, 0x205f},    // mathematical space
    {0x2800, 0x2800},    // empty Braille pattern
    {0x3000, 0x3000},    // ideographic space
    {0x3164, 0x3164},    // Hangul filler
    {0xfe00, 0xfe0f},    // variation selectors
    {0xe0000, 0xe01ef},  // tags, and more selectors
};

struct NamedCharacter {
  std::uint32_t code;
  std::string_view name;
};
constexpr NamedCharacter kNames[] = {
    {0xa0, "a no-break space"},     {0xad, "a soft hyphen"},
    {0x200b, "a zero-width space"}, {0x202f, "a narrow no-break space"},
    {0x2060, "a word joiner"},      {0x3000, "an ideographic space"},
    {0xfeff, "a byte order mark"},
};

bool is_in(std::span<const CodeRange> ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const CodeRange& range) {
    return range.first <= code && code <= range.last;
  });
}

bool is_control(std::uint32_t code) { return is_in(kControls, code); }

bool is_word_letter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
}

/// Not the line breaks and tabs of a text file.
bool is_invisible(std::uint32_t code) {
  return is_in(kOtherBlanks, code) || (code > 0x9f && is_control(code));
}

std::string in_hex(const char* format, std::uint32_t number) {
  char written[16];
  std::snprintf(written, sizeof written, format, number);
  return written;
}

/// "\n", "\x1b", "\u2028": as in a double-quoted YAML text.
std::string escaped(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code > 0xffff) return in_hex("\\U%08x", code);
  return in_hex(code < 0x100 ? "\\x%02x" : "\\u%04x", code);
}

/// Tab, line feed, and a carriage return only in front of a line feed: yaml-cpp ends a line there
/// but does not count it, so every later position would be wrong.
bool may_stand_in_a_file(std::string_view rest, std::uint32_t code) {
  if (code == '\r') return rest.starts_with("\r\n");
  return code == '\t' || code == '\n' || code > 0x9f || (code >= 0x20 && code < 0x7f);
}

}  // namespace

Place place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line_break = before.rfind('\n');
  const std::size_t line_start = line_break == std::string_view::npos ? 0 : line_break + 1;
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(before.size() - line_start)};
}

std::optional<Unreadable> first_unreadable(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::string_view rest = text.substr(offset);
    const Character character = first_character(rest);
    if (character.bytes == 0) {
      return Unreadable{offset, "the byte " + in_hex("0x%02x", byte_of(rest[0])) + " is not UTF-8",
                        "save the file as UTF-8 text"};
    }
    if (!may_stand_in_a_file(rest, character.code)) {
      return Unreadable{offset, "the control character " + in_hex("0x%02x", character.code),
                        "remove it; a text file contains none but tabs and line breaks"};
    }
    offset += character.bytes;
  }
  return {};
}

std::optional<Unreadable> first_invisible(std::string_view text, int line) {
  int here = 1;
  char before = '\n';       // the last character, where all before it may be indentation and a key
  bool is_in_text = false;  // behind that
  for (std::size_t offset = 0; offset < text.size();) {
    const Character character = first_character(text.substr(offset));
    const bool follows_key = !is_in_text && !is_word_letter(before);
    if ((follows_key || here == line) && is_invisible(character.code)) {
      const NamedCharacter* const found = lookup(kNames, &NamedCharacter::code, character.code);
      const std::string code = "the invisible character " + in_hex("U+%04X", character.code);
      return Unreadable{offset,
                        found == nullptr ? code : code + " (" + std::string(found->name) + ")",
                        "remove it, or write an ordinary blank in its place"};
    }
    const char c = text[offset];
    here += c == '\n' ? 1 : 0;
    is_in_text = c != '\n' && (is_in_text || before == ':' ||
                               !(is_word_letter(c) || c == ' ' || c == '-' || c == ':'));
    before = c;
    offset += std::max<std::size_t>(character.bytes, 1);
  }
  return {};
}

bool holds_control_characters(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.bytes == 0 || is_control(character.code)) return true;
    text.remove_prefix(character.bytes);
  }
  return false;
}

std::string shown(std::string_view text) {
  std::string line;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == kMaxShown) return line + "...";
    const Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes == 0) {
      line += in_hex("\\x%02x", byte_of(text[0]));
    } else {
      const bool is_seen = !is_control(character.code) && !is_invisible(character.code);
      line += is_seen ? std::string(text, 0, bytes) : escaped(character.code);
    }
    text.remove_prefix(bytes);
  }
  return line;
}

std::string in_quotes(std::string_view text) {
  std::string line = "'";  // not "'" + shown(text): g++ 12 warns of an overlap that is not there
  line += shown(text);
  line += "'";
  return line;
}

}  // namespace pex::yaml
