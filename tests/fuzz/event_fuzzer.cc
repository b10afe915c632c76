#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "events/event_resolver.h"
#include "events/event_syntax.h"
#include "fuzz/fuzzing.h"
#include "support/planning.h"

namespace {

using pex::events::ParsedEvent;
using pex::fuzz::require;

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

void require_that_its_spelling_is_the_same_event(const ParsedEvent& event) {
  const auto again = pex::events::parse_events(pex::events::spelling(event));
  require(again.has_value());
  require(*again == pex::events::ParsedEvents{{event}, false});
}

/// Those of files are left out: they would depend on the machine that this runs on.
void require_that_it_resolves_or_not(const ParsedEvent& event,
                                     const pex::events::EventResolver& resolver) {
  const auto* probe = std::get_if<pex::events::Probe>(&event.kind);
  if (probe != nullptr && !probe->file.empty()) return;
  const auto specs = resolver.resolve(event);
  if (!specs) {
    require(!specs.error().error.attempted.empty());
    return;
  }
  require(!specs->empty());
  for (const pex::events::EventSpec& spec : *specs) {
    require(!spec.instances.empty() && std::isfinite(spec.identity.scale));
    require(spec.identity.metric.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
            std::string::npos);
  }
}

}  // namespace

/// Any text gives events, each of which has a spelling that gives it again, and attributes on a
/// machine that has it; or an error with its place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto resolver =
      pex::events::EventResolver::create(pex::test::machine("intel_server"));
  const std::string_view text = pex::fuzz::text_of(data, size);

  const auto parsed = pex::events::parse_events(text);

  if (!parsed) {
    require_that_it_points(parsed.error(), text);
    return 0;
  }
  require(!parsed->events.empty());
  for (const ParsedEvent& event : parsed->events) {
    require_that_its_spelling_is_the_same_event(event);
    require_that_it_resolves_or_not(event, *resolver);
  }
  return 0;
}
