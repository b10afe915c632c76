#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "events/event_syntax.h"

namespace pex::events {

/// Done, or the first error in the text.
using Parsed = Result<void, SyntaxError>;

inline constexpr std::string_view kEventEnds = ",{} ";    // any kind of event
inline constexpr std::string_view kWordEnds = ":/,{} ";   // the first word
inline constexpr std::string_view kLettersEnd = ":,{} ";  // modifiers, and accesses of a breakpoint

// Remedies shared by several parsers.
inline constexpr const char* kWriteTerms = "write terms as in 'cpu/event=0x3c,umask=0x1/'";
inline constexpr const char* kWriteModifiers =
    "the modifiers are u, k, h, H, G, I, p, P, D, W and e, in one word, as in 'cycles:uk'";
inline constexpr const char* kWriteOneGroup =
    "write one pair of braces around all events, or give each group its own entry under 'groups'";

// Independent of the locale, unlike <cctype>.
constexpr bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}
constexpr bool is_printable(char c) { return c >= ' ' && c <= '~'; }
constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter_or_digit(char c) {
  return is_digit(c) || is_capital(c) || (c >= 'a' && c <= 'z');
}
constexpr bool is_name_character(char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; }
bool is_hexadecimal_digit(char c);
bool all_are(std::string_view text, bool (*wanted)(char));

/// Parses a text of events from left to right. A copy keeps its position, and marks it in a
/// message.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  TextOffset here() const { return {at_}; }
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ == text_.size(); }
  bool at_event_end() const { return at_end() || is_one_of(kEventEnds, peek()); }
  /// The next character; '\0' at the end, which no text contains.
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  /// The rest up to the next of `ends`.
  std::string_view before(std::string_view ends) const;

  /// Not beyond the end.
  void skip(std::size_t characters) { at_ += characters; }
  /// Consumes `expected` if it comes next, and returns true.
  bool take(std::string_view expected);
  std::string_view take_while(bool (*wanted)(char));

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// For the middle of a message; truncates long text.
std::string in_quotes(std::string_view text);
std::string in_quotes(char c);

SyntaxError syntax_error(const TextCursor& in, std::string what, const char* remedy);
/// Error: `what` is expected next, and missing.
SyntaxError missing(const TextCursor& in, std::string what, const char* remedy);
/// Error: the next character is not allowed.
SyntaxError misplaced(const TextCursor& in, const char* remedy);
/// The same, with the remedy for the likely purpose of that character.
SyntaxError misplaced(const TextCursor& in);

/// 60, or 0x3c. Letters and digits up to another character belong to the number.
Parsed parse_number(TextCursor& in, std::uint64_t& number, const char* remedy);
/// 3c
Parsed parse_hexadecimal(TextCursor& in, std::uint64_t& number, const char* remedy);

}  // namespace pex::events
