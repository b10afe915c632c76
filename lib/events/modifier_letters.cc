#include "events/modifier_letters.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/lookup.h"

namespace pex::events {
namespace {

constexpr unsigned kMaxPs = 3;

using Flag = bool Modifiers::*;
constexpr Flag kModes[] = {&Modifiers::user, &Modifiers::kernel, &Modifiers::hypervisor};
/// An event has its own and those of the braces, as in perf; kModes as well.
constexpr Flag kAdded[] = {&Modifiers::host,   &Modifiers::guest, &Modifiers::not_idle,
                           &Modifiers::pinned, &Modifiers::weak,  &Modifiers::exclusive};

/// Why `letter` cannot be added to `modifiers`; nothing if it was added.
std::string add_letter(char letter, Modifiers& modifiers) {
  if ((letter == 'p' && modifiers.most_precise) || (letter == 'P' && modifiers.precise > 0)) {
    return "'p' and 'P' exclude each other";
  }
  if (letter == 'p') {
    return ++modifiers.precise > kMaxPs ? "'p' occurs more than three times" : "";
  }
  const ModifierLetter* known = lookup(kModifierLetters, &ModifierLetter::letter, letter);
  if (known == nullptr) return in_quotes(letter) + " is not a modifier";
  return std::exchange(modifiers.*known->flag, true) ? in_quotes(letter) + " is repeated" : "";
}

void copy(std::span<const Flag> flags, const Modifiers& from, Modifiers& to) {
  for (const Flag flag : flags) to.*flag = from.*flag;
}

void add(std::span<const Flag> flags, const Modifiers& braces, Modifiers& own) {
  for (const Flag flag : flags) own.*flag |= braces.*flag;
}

/// With all modes an event leaves none out, as without any: perf then counts those of the braces.
void add_modes(const Modifiers& braces, Modifiers& own) {
  const auto count = [](const Modifiers& modifiers) {
    return std::ranges::count_if(kModes, [&](Flag flag) { return modifiers.*flag; });
  };
  if (count(own) == std::ssize(kModes) && count(braces) > 0) copy(kModes, Modifiers{}, own);
  add(kModes, braces, own);
}

}  // namespace

bool is_modifier(char c) {
  return c == 'p' || lookup(kModifierLetters, &ModifierLetter::letter, c) != nullptr;
}

Parsed parse_letters(TextCursor& in, Modifiers& modifiers, const char* remedy) {
  const std::string_view letters = in.before(kLettersEnd);
  if (letters.empty()) return missing(in, "a modifier", remedy);
  for (const char letter : letters) {
    std::string why = add_letter(letter, modifiers);
    if (!why.empty()) return syntax_error(in, std::move(why), remedy);
    in.skip(1);
  }
  return {};
}

Parsed parse_modifiers(TextCursor& in, Modifiers& modifiers) {
  return in.take(":") ? parse_letters(in, modifiers) : Parsed{};
}

std::string letters_of(const Modifiers& modifiers) {
  std::string text;
  for (const auto& [letter, flag] : kModifierLetters) {
    if (letter == 'P') text.append(modifiers.precise, 'p');
    if (modifiers.*flag) text += letter;
  }
  return text;
}

std::string behind_colon(const Modifiers& modifiers) {
  const std::string text = letters_of(modifiers);
  return text.empty() ? text : ":" + text;
}

bool any_modifiers(const Modifiers&) { return true; }

bool only_modes(const Modifiers& modifiers) {
  Modifiers modes;
  copy(kModes, modifiers, modes);
  return modifiers == modes;
}

bool no_modifiers(const Modifiers& modifiers) { return modifiers == Modifiers{}; }

Modifiers combined(Modifiers own, const Modifiers& braces) {
  add_modes(braces, own);
  add(kAdded, braces, own);
  if (own.precise == 0 && !own.most_precise) {
    own.precise = braces.precise;
    own.most_precise = braces.most_precise;
  }
  return own;
}

}  // namespace pex::events
