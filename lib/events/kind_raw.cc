#include <linux/perf_event.h>

#include <string>

#include "events/core_pmu.h"
#include "events/event_names.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"

// "r01c2:u", "r0x1c2": the number of an event of the core PMU.

namespace pex::events {
namespace raw_event {
namespace {

constexpr std::size_t kMaxDigits = 16;
constexpr const char* kWriteRaw = "write 'r' and 1 to 16 hexadecimal digits, for example 'r01c2'";

/// "r01g2" as well: it is a misspelled number, not a name. "r1/x/" is an event of a PMU.
bool recognizes(std::string_view word, std::string_view behind) {
  if (word.size() < 2 || word[0] != 'r' || behind.starts_with('/')) return false;
  const std::string_view number = word.substr(1);
  return all_are(number, is_hexadecimal_digit) ||
         (is_digit(number[0]) && all_are(number, is_letter_or_digit));
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  in.take("r");
  in.take("0x");
  if (in.before(kWordEnds).size() > kMaxDigits) {
    in.skip(kMaxDigits);
    return syntax_error(in, "a raw event has at most 16 digits", kWriteRaw);
  }
  RawEvent& raw = event.kind.emplace<RawEvent>();
  if (Parsed number = parse_hexadecimal(in, raw.config, kWriteRaw); !number) return number;
  return parse_modifiers(in, event.modifiers);
}

/// "r1c2"
std::string name_of(const RawEvent& event) {
  return "r" + hexadecimal(event.config).substr(2);  // without its "0x"
}

std::string spell(const ParsedEvent& event) {
  return name_of(std::get<RawEvent>(event.kind)) + behind_colon(event.modifiers);
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const auto& raw = std::get<RawEvent>(event.kind);
  return counted_by_core_pmus(machine, {PERF_TYPE_RAW, raw.config}, name_of(raw),
                              "Event " + hexadecimal(raw.config) + " of the core PMU.");
}

}  // namespace
}  // namespace raw_event

constinit const Kind kRawEvents{
    .holds = holds<RawEvent>,
    .recognizes = raw_event::recognizes,
    .parse = raw_event::parse,
    .takes = any_modifiers,
    .spell = raw_event::spell,
    .resolve = raw_event::resolve,
};

}  // namespace pex::events
