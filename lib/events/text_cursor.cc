#include "events/text_cursor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pex::events {
namespace {

/// The role of a character that cannot occur here.
struct Slip {
  std::string_view characters;
  const char* remedy;
};
constexpr Slip kSlips[] = {
    {"{}", kWriteOneGroup},
    {"*?[]", "only the name of a PMU can be a pattern, as in 'uncore_imc*/cas_count_read/'"},
    {"=", kWriteTerms},
    {":", kWriteModifiers},
};
constexpr const char* kWriteList =
    "write events as 'perf list' shows them, with ',' between them, as in 'cycles,instructions'";

constexpr unsigned kNoDigit = 16;

unsigned digit_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return kNoDigit;
}

Parsed parse_digits(TextCursor& in, unsigned base, std::uint64_t& number, const char* remedy) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  if (!is_letter_or_digit(in.peek())) return missing(in, "a number", remedy);
  for (number = 0; is_letter_or_digit(in.peek()); in.skip(1)) {
    const unsigned digit = digit_value(in.peek());
    if (digit >= base) {
      const char* const kind = base == 16 ? " is not a hexadecimal digit" : " is not a digit";
      return syntax_error(in, in_quotes(in.peek()) + kind, remedy);
    }
    if (number > (kMax - digit) / base) {
      return syntax_error(in, "the number does not fit into 64 bits", remedy);
    }
    number = number * base + digit;
  }
  return {};
}

}  // namespace

bool is_hexadecimal_digit(char c) { return digit_value(c) != kNoDigit; }

bool all_are(std::string_view text, bool (*wanted)(char)) {
  return std::all_of(text.begin(), text.end(), wanted);
}

std::string_view TextCursor::before(std::string_view ends) const {
  return rest().substr(0, rest().find_first_of(ends));
}

bool TextCursor::take(std::string_view expected) {
  const bool is_next = rest().starts_with(expected);
  if (is_next) skip(expected.size());
  return is_next;
}

std::string_view TextCursor::take_while(bool (*wanted)(char)) {
  const std::size_t first = at_;
  while (!at_end() && wanted(peek())) skip(1);
  return text_.substr(first, at_ - first);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kEnough = 60;  // the position shows where it continues
  return "'" + std::string(text.substr(0, kEnough)) + (text.size() > kEnough ? "...'" : "'");
}

std::string in_quotes(char c) { return c == ' ' ? "a blank" : in_quotes(std::string_view(&c, 1)); }

SyntaxError syntax_error(const TextCursor& in, std::string what, const char* remedy) {
  return {in.here(), std::move(what), remedy};
}

SyntaxError missing(const TextCursor& in, std::string what, const char* remedy) {
  what += " is missing";
  if (!in.at_event_end()) what += " before " + in_quotes(in.peek());
  return syntax_error(in, std::move(what), remedy);
}

SyntaxError misplaced(const TextCursor& in, const char* remedy) {
  return syntax_error(in, in_quotes(in.peek()) + " is not allowed here", remedy);
}

SyntaxError misplaced(const TextCursor& in) {
  for (const auto& [characters, remedy] : kSlips) {
    if (is_one_of(characters, in.peek())) return misplaced(in, remedy);
  }
  return misplaced(in, kWriteList);
}

Parsed parse_number(TextCursor& in, std::uint64_t& number, const char* remedy) {
  return parse_digits(in, in.take("0x") ? 16 : 10, number, remedy);
}

Parsed parse_hexadecimal(TextCursor& in, std::uint64_t& number, const char* remedy) {
  return parse_digits(in, 16, number, remedy);
}

}  // namespace pex::events
