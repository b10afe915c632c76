#include "yaml/plain_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

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
    {0x2028, 0x202e},  // line and paragraph separators, and turning the reading direction
    {0x2066, 0x2069},  // the same
    {0xfeff, 0xfeff},  // byte order mark: invisible
};

bool is_control(std::uint32_t code) {
  return std::any_of(std::begin(kControls), std::end(kControls), [code](const CodeRange& range) {
    return range.first <= code && code <= range.last;
  });
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
      line += is_control(character.code) ? escaped(character.code) : std::string(text, 0, bytes);
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
