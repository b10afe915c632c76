#include <algorithm>
#include <string>

#include "events/event_kinds.h"
#include "events/modifier_letters.h"

// "INST_RETIRED:ANY_P:u"

namespace pex::events {
namespace {

constexpr std::string_view kVendorModifiers = "ukh";
constexpr const char* kWriteVendorModifiers = "of modifiers write u, k and h once each";
constexpr const char* kWriteVendorName =
    "write it as libpfm4 does, as in 'INST_RETIRED:ANY_P' or 'arm_n1::L1D_CACHE_REFILL'";

bool is_vendor_character(char c) { return is_letter_or_digit(c) || c == '_' || c == '.'; }

/// "X:c=1" of "X:c=1:u:k". "x::u" is left, as its u is what stands in the PMU x.
std::string_view without_modifiers(std::string_view name) {
  for (;;) {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == name.size() || name[colon - 1] == ':' ||
        name.find_first_not_of(kVendorModifiers, colon + 1) != std::string_view::npos) {
      return name;
    }
    name = name.substr(0, colon);
  }
}

/// "ANY_P", "c=1"
Parsed read_part(TextCursor& in) {
  if (in.take_while(is_vendor_character).empty()) {
    return missing(in, "a part of the name", kWriteVendorName);
  }
  if (in.take("=") && in.take_while(is_vendor_character).empty()) {
    return missing(in, "the value of an attribute", kWriteVendorName);
  }
  return {};
}

/// Up to `end`, or its first mistake.
Parsed read_parts(TextCursor& in, std::size_t end) {
  Parsed part = read_part(in);
  if (part && in.rest().starts_with("::")) in.skip(1);  // behind the PMU, as libpfm4 writes it
  while (part && in.here().characters < end) {
    if (!in.take(":")) return misplaced(in, kWriteVendorName);
    part = read_part(in);
  }
  return part;
}

}  // namespace

bool is_vendor_name(std::string_view word, std::string_view behind) {
  const bool has_capital = std::any_of(word.begin(), word.end(), is_capital);
  return !is_one_of(word, '-') && (has_capital || is_one_of(word, '.') || behind.starts_with("::"));
}

Parsed read_vendor_event(TextCursor& in, ParsedEvent& event) {
  const std::string_view name = without_modifiers(in.before(kEventEnds));
  event.kind = VendorEvent{std::string(name)};
  Parsed read = read_parts(in, in.here().characters + name.size());
  while (read && in.take(":")) read = read_letters(in, event.modifiers, kWriteVendorModifiers);
  return read;
}

}  // namespace pex::events
