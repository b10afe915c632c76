#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "events/event_syntax.h"

namespace {

/// Not assert: it must hold in an optimized build too.
void require(bool holds) {
  if (!holds) std::abort();
}

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

void require_that_it_points(const pex::events::SyntaxError& error, std::string_view text) {
  require(error.at.characters <= text.size());
  require(!error.what.empty() && !error.remedy.empty());
  require(is_printable(error.what));
  require(error.what.size() < 200);
}

}  // namespace

/// Any text gives events, each of which has a spelling that gives it again, or an error with its
/// place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const auto parsed = pex::events::parse_events(text);

  if (!parsed) {
    require_that_it_points(parsed.error(), text);
    return 0;
  }
  require(!parsed->events.empty());
  for (const pex::events::ParsedEvent& event : parsed->events) {
    const auto again = pex::events::parse_events(pex::events::spelling(event));
    require(again.has_value());
    require(*again == pex::events::ParsedEvents{{event}, false});
  }
  return 0;
}
