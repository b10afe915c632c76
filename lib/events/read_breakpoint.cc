#include <string>
#include <utility>

#include "events/event_kinds.h"
#include "events/modifier_letters.h"

// "mem:0x1000/8:rw:u"

namespace pex::events {
namespace {

constexpr std::string_view kWord = "mem";
constexpr const char* kWriteBreakpoint =
    "write an address, the number of bytes and what is done to them, as in 'mem:0x1000/8:rw'";
constexpr const char* kWriteTwo = "write two events, one with 'x' and one with 'r', 'w' or 'rw'";

struct AccessLetter {
  char letter;
  bool Breakpoint::*flag;
};
constexpr AccessLetter kAccessLetters[] = {
    {'r', &Breakpoint::read}, {'w', &Breakpoint::write}, {'x', &Breakpoint::execute}};

Parsed read_address(TextCursor& in, std::uint64_t& address) {
  if (!in.take(":")) return missing(in, "':' with an address", kWriteBreakpoint);
  return read_number(in, address, kWriteBreakpoint);
}

Parsed read_length(TextCursor& in, std::uint64_t& length) {
  const TextCursor start = in;
  if (Parsed read = read_number(in, length, kWriteBreakpoint); !read) return read;
  if (length == 1 || length == 2 || length == 4 || length == 8) return {};
  return mistake(start, "the length is not 1, 2, 4 or 8", kWriteBreakpoint);
}

/// Says why `letter` cannot be one more of the accesses; nothing when it now is.
std::string add_access(char letter, Breakpoint& point) {
  for (const auto& [known, flag] : kAccessLetters) {
    if (letter != known) continue;
    return std::exchange(point.*flag, true) ? quoted(letter) + " stands twice" : "";
  }
  return quoted(letter) + " is not r, w or x";
}

Parsed read_access(TextCursor& in, Breakpoint& point) {
  const TextCursor start = in;
  const std::string_view letters = in.before(kLettersEnd);
  if (letters.empty()) return missing(in, "r, w or x", kWriteBreakpoint);
  for (const char letter : letters) {
    std::string why = add_access(letter, point);
    if (!why.empty()) return mistake(in, std::move(why), kWriteBreakpoint);
    in.skip(1);
  }
  const bool has_both = point.execute && (point.read || point.write);
  return has_both ? mistake(start, "'x' cannot stand with 'r' or 'w'", kWriteTwo) : Parsed{};
}

/// ":rw" is what is meant where nothing stands.
Parsed read_access_if_any(TextCursor& in, Breakpoint& point) {
  if (in.take(":")) return read_access(in, point);
  point.read = point.write = true;
  return {};
}

}  // namespace

bool is_breakpoint(std::string_view word) { return word == kWord; }

Parsed read_breakpoint(TextCursor& in, ParsedEvent& event) {
  Breakpoint& point = event.kind.emplace<Breakpoint>();
  in.take(kWord);
  if (Parsed address = read_address(in, point.address); !address) return address;
  const bool has_length = in.take("/");
  Parsed length = has_length ? read_length(in, point.length) : Parsed{};
  if (!length) return length;
  if (Parsed access = read_access_if_any(in, point); !access) return access;
  if (point.execute && !has_length) point.length = sizeof(long);
  return read_modifiers(in, event.modifiers);
}

}  // namespace pex::events
