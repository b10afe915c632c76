#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <string>
#include <utility>

#include "base/lookup.h"
#include "events/event_names.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"

// "mem:0x1000/8:rw:u": an address that is read, written or executed.

namespace pex::events {
namespace breakpoint {
namespace {

constexpr std::string_view kWord = "mem";
constexpr std::uint64_t kUsualLength = 4;
constexpr const char* kWriteBreakpoint =
    "write an address, the number of bytes and the accesses, as in 'mem:0x1000/8:rw'";
constexpr const char* kWriteTwo = "write two events, one with 'x' and one with 'r', 'w' or 'rw'";

struct AccessLetter {
  char letter;
  bool Breakpoint::*flag;
};
constexpr AccessLetter kAccessLetters[] = {
    {'r', &Breakpoint::read}, {'w', &Breakpoint::write}, {'x', &Breakpoint::execute}};

struct AccessEntry {
  bool read, write, execute;
  std::uint32_t flags;
  std::string_view letters;
  std::string_view help;  ///< precedes the address
};
constexpr AccessEntry kAccesses[] = {
    {true, false, false, HW_BREAKPOINT_R, "r", "Reads of "},
    {false, true, false, HW_BREAKPOINT_W, "w", "Writes to "},
    {true, true, false, HW_BREAKPOINT_RW, "rw", "Reads of and writes to "},
    {false, false, true, HW_BREAKPOINT_X, "x", "Executions of the instruction at "},
};

/// "mem/x/" is an event of a PMU.
bool recognizes(std::string_view word, std::string_view behind) {
  return word == kWord && !behind.starts_with('/');
}

Parsed parse_address(TextCursor& in, std::uint64_t& address) {
  if (!in.take(":")) return missing(in, "':' with an address", kWriteBreakpoint);
  return parse_number(in, address, kWriteBreakpoint);
}

Parsed parse_length(TextCursor& in, std::uint64_t& length) {
  const TextCursor start = in;
  if (Parsed number = parse_number(in, length, kWriteBreakpoint); !number) return number;
  if (length == 1 || length == 2 || length == 4 || length == 8) return {};
  return syntax_error(start, "the length is not 1, 2, 4 or 8", kWriteBreakpoint);
}

/// Why `letter` cannot be added to the accesses; nothing if it was added.
std::string add_access(char letter, Breakpoint& point) {
  const AccessLetter* known = lookup(kAccessLetters, &AccessLetter::letter, letter);
  if (known == nullptr) return in_quotes(letter) + " is not r, w or x";
  return std::exchange(point.*known->flag, true) ? in_quotes(letter) + " is repeated" : "";
}

Parsed parse_letters_of_access(TextCursor& in, Breakpoint& point) {
  const TextCursor start = in;
  const std::string_view letters = in.before(kLettersEnd);
  if (letters.empty()) return missing(in, "r, w or x", kWriteBreakpoint);
  for (const char letter : letters) {
    std::string why = add_access(letter, point);
    if (!why.empty()) return syntax_error(in, std::move(why), kWriteBreakpoint);
    in.skip(1);
  }
  const bool has_both = point.execute && (point.read || point.write);
  return has_both ? syntax_error(start, "'x' cannot be combined with 'r' or 'w'", kWriteTwo)
                  : Parsed{};
}

/// The default is ":rw".
Parsed parse_access(TextCursor& in, Breakpoint& point) {
  if (in.take(":")) return parse_letters_of_access(in, point);
  point.read = point.write = true;
  return {};
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  Breakpoint& point = event.kind.emplace<Breakpoint>();
  in.take(kWord);
  if (Parsed address = parse_address(in, point.address); !address) return address;
  const bool has_length = in.take("/");
  Parsed length = has_length ? parse_length(in, point.length) : Parsed{};
  if (!length) return length;
  if (Parsed access = parse_access(in, point); !access) return access;
  if (point.execute && !has_length) point.length = sizeof(long);
  return parse_modifiers(in, event.modifiers);
}

std::string spell(const ParsedEvent& event) {
  const auto& point = std::get<Breakpoint>(event.kind);
  std::string text = "mem:" + hexadecimal(point.address) + "/" + std::to_string(point.length) + ":";
  for (const auto& [letter, flag] : kAccessLetters) {
    if (point.*flag) text += letter;
  }
  return text + behind_colon(event.modifiers);
}

Resolved resolve(const Machine&, const ParsedEvent& event) {
  const auto& point = std::get<Breakpoint>(event.kind);
  const AccessEntry* access = lookup(
      kAccesses,
      [&](const AccessEntry& entry) {
        return point.read == entry.read && point.write == entry.write &&
               point.execute == entry.execute;
      },
      true);
  if (access == nullptr) {
    return invalid(event.at, "a breakpoint is for execution or for data, not for both",
                   "write ':r', ':w', ':rw' or ':x'");
  }
  perf::EventAttributes attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.breakpoint = access->flags;
  attributes.config1 = point.address;
  attributes.config2 = point.length;

  const std::string address = hexadecimal(point.address);
  const bool shows_length = !point.execute && point.length != kUsualLength;
  const std::string length = std::to_string(point.length);
  const std::string bytes = point.execute ? "" : "the " + length + " bytes at ";
  return counted_by_kernel(
      "mem_" + address + (shows_length ? "_" + length : "") + "_" + std::string(access->letters),
      std::string(access->help) + bytes + address + ".", attributes);
}

}  // namespace
}  // namespace breakpoint

constinit const Kind kBreakpoints{
    .holds = holds<Breakpoint>,
    .recognizes = breakpoint::recognizes,
    .parse = breakpoint::parse,
    .takes = any_modifiers,
    .spell = breakpoint::spell,
    .resolve = breakpoint::resolve,
};

}  // namespace pex::events
