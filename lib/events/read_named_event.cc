#include <algorithm>
#include <string>

#include "events/event_kinds.h"
#include "events/event_table.h"
#include "events/modifier_letters.h"

// "cycles:u", "sched:sched_switch:u"; and "r01c2", whose name is its number

namespace pex::events {
namespace {

constexpr std::size_t kMaxRawDigits = 16;
constexpr const char* kWriteRaw = "write 'r' and 1 to 16 hexadecimal digits, for example 'r01c2'";
constexpr const char* kWriteTracepoint = "name one tracepoint, for example 'sched:sched_switch'";
constexpr const char* kWriteBehindColon =
    "write a modifier, as in 'cycles:u', or a tracepoint, as in 'sched:sched_switch'";

Parsed read_tracepoint(TextCursor& in, const std::string& system, ParsedEvent& event) {
  event.kind = Tracepoint{system, std::string(in.take_while(is_name_character))};
  if (!in.at_event_end() && in.peek() != ':') {
    return mistake(in, "the name of a tracepoint has no " + quoted(in.peek()), kWriteTracepoint);
  }
  return read_modifiers(in, event.modifiers);
}

}  // namespace

bool is_raw(std::string_view word) {
  if (word.size() < 2 || word[0] != 'r') return false;
  const std::string_view number = word.substr(1);
  return all_are(number, is_hexadecimal_digit) ||
         (is_digit(number[0]) && all_are(number, is_letter_or_digit));
}

Parsed read_raw_event(TextCursor& in, ParsedEvent& event) {
  in.take("r");
  if (in.before(kWordEnds).size() > kMaxRawDigits) {
    in.skip(kMaxRawDigits);
    return mistake(in, "a raw event has at most 16 digits", kWriteRaw);
  }
  RawEvent& raw = event.kind.emplace<RawEvent>();
  if (Parsed read = read_hexadecimal(in, raw.config, kWriteRaw); !read) return read;
  return read_modifiers(in, event.modifiers);
}

bool is_in_tables(std::string_view word) {
  const auto is_name = [word](const auto& event) { return event.name == word; };
  const auto is_alias = [word](const EventRow& row) { return row.alias == word; };
  const auto rows = generic_events();
  return std::any_of(rows.begin(), rows.end(), is_name) ||
         std::any_of(rows.begin(), rows.end(), is_alias) ||
         std::any_of(cache_events().begin(), cache_events().end(), is_name);
}

Parsed read_named_event(TextCursor& in, ParsedEvent& event) {
  const std::string name(in.take_while(is_name_character));
  event.kind = NamedEvent{name};
  if (in.at_event_end()) return {};
  if (!in.take(":")) return misplaced(in);
  const std::string_view behind = in.before(kWordEnds);
  const bool can_be_system = !is_in_tables(name);  // with a '-' in it, too: "xhci-hcd"
  if (can_be_system && behind.empty()) {
    return missing(in, "a modifier or the name of a tracepoint", kWriteBehindColon);
  }
  if (can_be_system && !all_are(behind, is_modifier)) return read_tracepoint(in, name, event);
  return read_letters(in, event.modifiers);
}

}  // namespace pex::events
