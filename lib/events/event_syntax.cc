#include "events/event_syntax.h"

#include "events/event_kinds.h"
#include "events/modifier_letters.h"
#include "events/text_cursor.h"

namespace pex::events {
namespace {

constexpr const char* kWriteEvent = "write the name of an event, for example 'cycles'";
constexpr const char* kWriteAscii = "names of events are printable ASCII; leave the character out";
constexpr const char* kWriteSeveral = "give the events several entries";
constexpr const char* kWriteShorterNames = "give it fewer terms, or shorter names";
constexpr const char* kWriteBehindBraces =
    "only ':' and modifiers can follow, as in '{cycles,instructions}:u'; of several groups, give "
    "each its own entry under 'groups'";
constexpr const char* kWriteInsideBraces =
    "put modifiers behind the events they are for, inside the braces; a group has the keys "
    "'pinned', 'weak' and 'exclusive'";

Parsed read_event_of_its_kind(TextCursor& in, ParsedEvent& event) {
  const std::string_view word = in.before(kWordEnds);
  const std::string_view behind = in.rest().substr(word.size());
  if (behind.starts_with('/')) return read_pmu_event(in, event);
  if (word.empty()) return missing(in, "an event", kWriteEvent);
  if (is_breakpoint(word)) return read_breakpoint(in, event);
  if (is_probe(word)) return read_probe(in, event);
  if (is_raw(word)) return read_raw_event(in, event);
  if (is_vendor_name(word, behind) && !is_in_tables(word)) return read_vendor_event(in, event);
  return read_named_event(in, event);
}

void skip_blanks(TextCursor& in) {
  in.take_while([](char c) { return c == ' '; });
}

/// One, with the blanks around it.
Parsed read_event(TextCursor& in, ParsedEvent& event) {
  skip_blanks(in);
  if (in.peek() == '{') return misplaced(in);
  event.at = in.here();
  if (Parsed read = read_event_of_its_kind(in, event); !read) return read;
  const TextCursor behind = in;
  skip_blanks(in);
  return in.at_end() || is_one_of(",{}", in.peek()) ? Parsed{} : misplaced(behind);
}

Parsed read_events(TextCursor& in, std::vector<ParsedEvent>& events) {
  do {
    if (Parsed read = read_event(in, events.emplace_back()); !read) return read;
  } while (in.take(","));
  return {};
}

/// What stands behind the braces, up to the end.
Parsed read_braces_modifiers(TextCursor& in, std::vector<ParsedEvent>& events) {
  const TextCursor start = in;
  Modifiers modifiers;
  if (Parsed read = read_modifiers(in, modifiers); !read) return read;
  if (!in.at_end()) return misplaced(in, kWriteBehindBraces);
  for (ParsedEvent& event : events) {
    if (!takes(event.kind, modifiers)) {
      return mistake(start, quoted(spelling(event)) + " does not take these modifiers",
                     kWriteInsideBraces);
    }
    event.modifiers = combined(event.modifiers, modifiers);
  }
  return {};
}

Parsed read_list(TextCursor& in, ParsedEvents& list) {
  list.in_braces = in.take("{");
  if (Parsed read = read_events(in, list.events); !read) return read;
  if (list.in_braces && in.at_end()) return missing(in, "the closing '}'", kWriteOneGroup);
  if (list.in_braces && in.take("}")) return read_braces_modifiers(in, list.events);
  return in.at_end() ? Parsed{} : misplaced(in);
}

/// By its number, as a terminal might obey it.
std::string number_of(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'0', 'x', kDigits[byte / 16], kDigits[byte % 16]};
}

/// Only inside of the text can blanks stand.
Parsed check_ends(std::string_view text) {
  const std::size_t blank = text.starts_with(' ') ? 0 : text.find_last_not_of(' ') + 1;
  if (blank == text.size()) return {};
  return SyntaxError{{blank}, "a blank cannot stand here", "leave it out"};
}

/// What no event may have in it, so that no reader needs to care.
Parsed check_characters(std::string_view text) {
  if (text.size() > kMaxEventText) {
    return SyntaxError{{kMaxEventText},
                       "there are more than " + std::to_string(kMaxEventText) + " characters",
                       kWriteSeveral};
  }
  TextCursor in(text);
  in.take_while(is_printable);
  if (in.at_end()) return check_ends(text);
  return mistake(in, "the character " + number_of(in.peek()) + " is not printable", kWriteAscii);
}

/// As numbers become hexadecimal, an event may have a longer spelling than was written.
Parsed check_spellings(const std::vector<ParsedEvent>& events) {
  for (const ParsedEvent& event : events) {
    if (spelling(event).size() <= kMaxEventText) continue;
    return SyntaxError{event.at, "the event has too many characters", kWriteShorterNames};
  }
  return {};
}

}  // namespace

Result<ParsedEvents, SyntaxError> parse_events(std::string_view text) {
  if (Parsed checked = check_characters(text); !checked) return checked.error();
  TextCursor in(text);
  ParsedEvents list;
  if (Parsed read = read_list(in, list); !read) return read.error();
  if (Parsed checked = check_spellings(list.events); !checked) return checked.error();
  return list;
}

}  // namespace pex::events
