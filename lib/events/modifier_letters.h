#pragma once

#include "events/event_syntax.h"
#include "events/text_cursor.h"

namespace pex::events {

bool is_modifier(char c);

/// "uk": at least one letter, each of which is added to `modifiers`.
Parsed read_letters(TextCursor& in, Modifiers& modifiers, const char* remedy = kWriteModifiers);

/// ":uk", or nothing.
Parsed read_modifiers(TextCursor& in, Modifiers& modifiers);

/// From braces an event gets only what could also be written behind it.
bool takes(const EventKind& kind, const Modifiers& braces);

/// Those of an event itself, with those behind the braces around it.
Modifiers combined(Modifiers own, const Modifiers& braces);

}  // namespace pex::events
