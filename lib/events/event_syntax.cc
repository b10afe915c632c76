#include "events/event_syntax.h"

#include <cstdint>
#include <cstdio>

#include "base/utf8.h"
#include "events/event_table.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "events/text_cursor.h"

namespace pex::events {
namespace {

constexpr const char* kWriteEvent = "write the name of an event, for example 'cycles'";
constexpr const char* kWriteAscii = "names of events are printable ASCII; leave the character out";
constexpr const char* kWriteHyphen = "write '-' in its place";
constexpr const char* kWriteSeveral = "give the events several entries";
constexpr const char* kWriteShorterNames = "give it fewer terms, or shorter names";
constexpr const char* kWriteBehindBraces =
    "only ':' and modifiers can follow, as in '{cycles,instructions}:u'; of several groups, give "
    "each its own entry under 'groups'";
constexpr const char* kWriteInsideBraces =
    "put modifiers after their events, inside the braces; a group has the keys "
    "'pinned', 'weak' and 'exclusive'";

AsTracepoint read_as_tracepoint(const Kind& kind, TextCursor& in) {
  ParsedEvent event;
  const bool is_open = &kind == &kNamedEvents || &kind == &kTracepoints || &kind == &kVendorEvents;
  if (!is_open || is_table_name(in.before(kWordEnds))) return {};
  if (!kTracepoints.parse(in, event) || !in.at_event_end()) return {};
  const auto& point = std::get<Tracepoint>(event.kind);
  return point.name.empty() ? AsTracepoint{} : AsTracepoint{point, event.modifiers};
}

/// What is no event of its kind may be a tracepoint: "mygroup:keep", "MyGroup:a-b".
Parsed parse_event_of_its_kind(TextCursor& in, ParsedEvent& event) {
  const std::string_view word = in.before(kWordEnds);
  const std::string_view behind = in.rest().substr(word.size());
  if (word.empty() && !behind.starts_with('/')) return missing(in, "an event", kWriteEvent);
  const Kind& kind = kind_of(word, behind);
  TextCursor behind_point = in;
  const AsTracepoint reading = read_as_tracepoint(kind, behind_point);
  Parsed parsed = kind.parse(in, event);
  if (reading.point.system.empty()) return parsed;
  if (!parsed || !in.at_event_end()) {
    in = behind_point;
    event.kind = reading.point;
    event.modifiers = reading.modifiers;
  }
  event.as_tracepoint = reading;
  return {};
}

void skip_blanks(TextCursor& in) {
  in.take_while([](char c) { return c == ' '; });
}

/// One event, with the blanks around it.
Parsed parse_event(TextCursor& in, ParsedEvent& event) {
  skip_blanks(in);
  if (in.peek() == '{') return misplaced(in);
  event.at = in.here();
  if (Parsed parsed = parse_event_of_its_kind(in, event); !parsed) return parsed;
  const TextCursor behind = in;
  skip_blanks(in);
  return in.at_end() || is_one_of(",{}", in.peek()) ? Parsed{} : misplaced(behind);
}

Parsed parse_all(TextCursor& in, std::vector<ParsedEvent>& events) {
  do {
    if (Parsed parsed = parse_event(in, events.emplace_back()); !parsed) return parsed;
  } while (in.take(","));
  return {};
}

/// The text after the braces, up to the end.
Parsed parse_modifiers_of_braces(TextCursor& in, std::vector<ParsedEvent>& events) {
  const TextCursor start = in;
  Modifiers modifiers;
  if (Parsed parsed = parse_modifiers(in, modifiers); !parsed) return parsed;
  if (!in.at_end()) return misplaced(in, kWriteBehindBraces);
  for (ParsedEvent& event : events) {
    if (!kind_of(event.kind).takes(modifiers)) {
      return syntax_error(start, in_quotes(spelling(event)) + " does not take these modifiers",
                          kWriteInsideBraces);
    }
    event.modifiers = combined(event.modifiers, modifiers);
    event.as_tracepoint.modifiers = combined(event.as_tracepoint.modifiers, modifiers);
  }
  return {};
}

Parsed parse_list(TextCursor& in, ParsedEvents& list) {
  list.in_braces = in.take("{");
  if (Parsed parsed = parse_all(in, list.events); !parsed) return parsed;
  if (list.in_braces && in.at_end()) return missing(in, "the closing '}'", kWriteOneGroup);
  if (list.in_braces && in.take("}")) return parse_modifiers_of_braces(in, list.events);
  return in.at_end() ? Parsed{} : misplaced(in);
}

/// By its number, as a terminal might interpret it, or not show it.
std::string number_of(Character character, char first_byte) {
  const bool is_ascii_or_none = character.bytes < 2;
  char written[16];
  std::snprintf(written, sizeof written, is_ascii_or_none ? "0x%02x" : "U+%04X",
                is_ascii_or_none ? unsigned{static_cast<unsigned char>(first_byte)}
                                 : unsigned{character.code});
  return written;
}

/// What editors and web pages make of '-': hyphens, dashes and the minus sign.
bool looks_like_hyphen(std::uint32_t code) {
  return (0x2010 <= code && code <= 0x2015) || code == 0x2212;
}

/// Blanks can occur only inside of the text.
Parsed check_ends(std::string_view text) {
  const std::size_t blank = text.starts_with(' ') ? 0 : text.find_last_not_of(' ') + 1;
  if (blank == text.size()) return {};
  return SyntaxError{{blank}, "a blank is not allowed here", "leave it out"};
}

/// What no event may contain, so that the kinds need not check it.
Parsed check_characters(std::string_view text) {
  if (text.size() > kMaxEventText) {
    return SyntaxError{{kMaxEventText},
                       "there are more than " + std::to_string(kMaxEventText) + " characters",
                       kWriteSeveral};
  }
  TextCursor in(text);
  in.take_while(is_printable);
  if (in.at_end()) return check_ends(text);
  const Character character = first_character(in.rest());
  return syntax_error(in,
                      "the character " + number_of(character, in.peek()) +
                          (character.bytes < 2 ? " is not printable" : " is not ASCII"),
                      looks_like_hyphen(character.code) ? kWriteHyphen : kWriteAscii);
}

/// As numbers become hexadecimal, the canonical spelling can be longer than the original one.
Parsed check_spellings(const std::vector<ParsedEvent>& events) {
  for (const ParsedEvent& event : events) {
    if (spelling(event).size() <= kMaxEventText) continue;
    return SyntaxError{event.at, "the event has too many characters", kWriteShorterNames};
  }
  return {};
}

}  // namespace

std::string spelling(const ParsedEvent& event) { return kind_of(event.kind).spell(event); }

Result<ParsedEvents, SyntaxError> parse_events(std::string_view text) {
  if (Parsed checked = check_characters(text); !checked) return checked.error();
  TextCursor in(text);
  ParsedEvents list;
  if (Parsed parsed = parse_list(in, list); !parsed) return parsed.error();
  if (Parsed checked = check_spellings(list.events); !checked) return checked.error();
  return list;
}

}  // namespace pex::events
