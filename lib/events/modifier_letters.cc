#include "events/modifier_letters.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace pex::events {
namespace {

constexpr unsigned kMaxPs = 3;

using Flag = bool Modifiers::*;
// Of these an event has its own or those of the braces, but no mixture.
constexpr Flag kModes[] = {&Modifiers::user, &Modifiers::kernel, &Modifiers::hypervisor};
constexpr Flag kMachines[] = {&Modifiers::host, &Modifiers::guest};
// Of these it has both.
constexpr Flag kSwitches[] = {&Modifiers::not_idle, &Modifiers::pinned, &Modifiers::weak,
                              &Modifiers::exclusive};

/// Says why `letter` cannot be one more of `modifiers`; nothing when it now is.
std::string add_letter(char letter, Modifiers& modifiers) {
  if ((letter == 'p' && modifiers.most_precise) || (letter == 'P' && modifiers.precise > 0)) {
    return "'p' and 'P' exclude each other";
  }
  if (letter == 'p') {
    return ++modifiers.precise > kMaxPs ? "'p' stands more than three times" : "";
  }
  for (const auto& [known, flag] : kModifierLetters) {
    if (letter != known) continue;
    return std::exchange(modifiers.*flag, true) ? quoted(letter) + " stands twice" : "";
  }
  return quoted(letter) + " is not a modifier";
}

void copy(std::span<const Flag> flags, const Modifiers& from, Modifiers& to) {
  for (const Flag flag : flags) to.*flag = from.*flag;
}

void copy_unless_given(std::span<const Flag> flags, const Modifiers& braces, Modifiers& own) {
  const bool given =
      std::any_of(flags.begin(), flags.end(), [&own](Flag flag) { return own.*flag; });
  if (!given) copy(flags, braces, own);
}

}  // namespace

bool is_modifier(char c) {
  return c == 'p' || std::any_of(std::begin(kModifierLetters), std::end(kModifierLetters),
                                 [c](const ModifierLetter& row) { return row.letter == c; });
}

Parsed read_letters(TextCursor& in, Modifiers& modifiers, const char* remedy) {
  const std::string_view letters = in.before(kLettersEnd);
  if (letters.empty()) return missing(in, "a modifier", remedy);
  for (const char letter : letters) {
    std::string why = add_letter(letter, modifiers);
    if (!why.empty()) return mistake(in, std::move(why), remedy);
    in.skip(1);
  }
  return {};
}

Parsed read_modifiers(TextCursor& in, Modifiers& modifiers) {
  return in.take(":") ? read_letters(in, modifiers) : Parsed{};
}

bool takes(const EventKind& kind, const Modifiers& braces) {
  if (std::holds_alternative<Probe>(kind)) return braces == Modifiers{};
  if (!std::holds_alternative<VendorEvent>(kind)) return true;
  Modifiers modes;
  copy(kModes, braces, modes);
  return braces == modes;
}

Modifiers combined(Modifiers own, const Modifiers& braces) {
  copy_unless_given(kModes, braces, own);
  copy_unless_given(kMachines, braces, own);
  if (own.precise == 0 && !own.most_precise) {
    own.precise = braces.precise;
    own.most_precise = braces.most_precise;
  }
  for (const Flag flag : kSwitches) own.*flag |= braces.*flag;
  return own;
}

}  // namespace pex::events
