#pragma once

#include <string_view>

#include "events/event_syntax.h"
#include "events/text_cursor.h"

namespace pex::events {

// How each kind of event is spelled. `word` is the first word, up to one of kWordEnds, which tells
// the kind. What stands at the cursor is read into `event`, its modifiers too; whether it ends
// where an event can end is for the caller to see. `event` is worth nothing after a mistake.

/// Of whatever has a '/' behind the first word.
Parsed read_pmu_event(TextCursor& in, ParsedEvent& event);

bool is_breakpoint(std::string_view word);
Parsed read_breakpoint(TextCursor& in, ParsedEvent& event);

bool is_probe(std::string_view word);
Parsed read_probe(TextCursor& in, ParsedEvent& event);

/// True for a word such as "r01g2" as well: it is a slip rather than a name.
bool is_raw(std::string_view word);
Parsed read_raw_event(TextCursor& in, ParsedEvent& event);

/// By its shape; `behind` is the rest of the text. See VendorEvent.
bool is_vendor_name(std::string_view word, std::string_view behind);
Parsed read_vendor_event(TextCursor& in, ParsedEvent& event);

/// True for names and aliases of event_table.h.
bool is_in_tables(std::string_view word);
/// A name, or a tracepoint.
Parsed read_named_event(TextCursor& in, ParsedEvent& event);

}  // namespace pex::events
