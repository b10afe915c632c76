#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/lookup.h"
#include "events/event_resolver.h"
#include "events/event_syntax.h"
#include "events/resolution.h"
#include "events/text_cursor.h"

namespace pex::events {

/// Everything about one kind of event. Each kind has a file, kind_*.cc, an alternative of EventKind
/// and an entry of kKinds, and is unknown elsewhere.
struct Kind {
  /// Whether the event is of this kind. The other functions only get events of this kind.
  bool (*holds)(const EventKind& event);

  /// By its beginning: `word` is the first word, up to one of kWordEnds, `behind` the rest.
  bool (*recognizes)(std::string_view word, std::string_view behind);

  /// Parses the event at the cursor, with its modifiers. The caller checks that an event can end
  /// there. `event` is invalid after an error.
  Parsed (*parse)(TextCursor& in, ParsedEvent& event);

  /// Whether the event itself could have these modifiers, which follow braces.
  bool (*takes)(const Modifiers& modifiers);

  std::string (*spell)(const ParsedEvent& event);

  /// Replaces an alias by its event. Null for a kind without aliases.
  void (*canonicalize)(EventKind& event) = nullptr;

  /// All but modifiers and name.
  Resolved (*resolve)(const Machine& machine, const ParsedEvent& event);

  /// Adds those that have a name on this machine. Null for a kind without names.
  void (*list)(const Machine& machine, std::vector<ListedEvent>& listed) = nullptr;
};

template <typename Event>
bool holds(const EventKind& event) {
  return std::holds_alternative<Event>(event);
}

extern const Kind kNamedEvents;
extern const Kind kPmuEvents;
extern const Kind kTracepoints;
extern const Kind kVendorEvents;
extern const Kind kRawEvents;
extern const Kind kProbes;
extern const Kind kBreakpoints;

/// From the most general kind to the most specific: of those that recognize a text the last one is
/// its kind. They are listed in this order.
inline constexpr const Kind* kKinds[] = {
    &kNamedEvents, &kPmuEvents, &kTracepoints, &kVendorEvents, &kRawEvents, &kProbes, &kBreakpoints,
};

/// Whether it is a system of tracepoints that perf-probe(1) makes: "probe" of the kernel,
/// "probe_libc" of a file, "sdt_MyServer" of marks in one. Whatever follows is the name of one of
/// them.
constexpr bool is_system_of_probes(std::string_view word) {
  return word == "probe" || word.starts_with("probe_") || word.starts_with("sdt_");
}

/// For a parsed event.
inline const Kind& kind_of(const EventKind& event) {
  const auto holds_it = [&](const Kind* kind) { return kind->holds(event); };
  return **lookup(kKinds, holds_it, true);
}

/// For an event that begins with `word`, followed by `behind`.
inline const Kind& kind_of(std::string_view word, std::string_view behind) {
  const auto recognizes = [&](const Kind* kind) { return kind->recognizes(word, behind); };
  return **std::find_if(std::rbegin(kKinds), std::rend(kKinds), recognizes);  // one takes all
}

}  // namespace pex::events
