#pragma once

#include <string>

#include "events/event_syntax.h"
#include "events/text_cursor.h"

namespace pex::events {

bool is_modifier(char c);

/// "uk": at least one letter; each letter is added to `modifiers`.
Parsed parse_letters(TextCursor& in, Modifiers& modifiers, const char* remedy = kWriteModifiers);

/// ":uk", or nothing.
Parsed parse_modifiers(TextCursor& in, Modifiers& modifiers);

/// "uk", in the order of the canonical spelling.
std::string letters_of(const Modifiers& modifiers);
/// ":uk", or nothing.
std::string behind_colon(const Modifiers& modifiers);

// What a kind of event accepts from the modifiers after braces: only what could follow the event
// itself.
bool any_modifiers(const Modifiers& modifiers);
bool only_modes(const Modifiers& modifiers);
bool no_modifiers(const Modifiers& modifiers);

/// Those of an event itself, combined with those after the braces around it.
Modifiers combined(Modifiers own, const Modifiers& braces);

}  // namespace pex::events
