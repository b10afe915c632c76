#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pex {

/// ASCII, whatever the locale.
constexpr bool is_digit(char c) { return '0' <= c && c <= '9'; }
constexpr bool is_lower_hex_digit(char c) { return is_digit(c) || ('a' <= c && c <= 'f'); }

/// The whole of `text` as a decimal number; nothing for an empty text, a sign, trailing characters
/// or an overflow.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

/// The pieces between separators; one empty piece for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "a, b, c".
template <std::ranges::input_range Words>
std::string join(const Words& words, std::string_view between = ", ") {
  static_assert(std::is_lvalue_reference_v<std::ranges::range_reference_t<Words>> ||
                    std::same_as<std::ranges::range_value_t<Words>, std::string_view>,
                "a view of a temporary string would outlive it");
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

/// "a, b or c", with `last` before the last one: " or ".
std::string join_last(const std::vector<std::string>& words, std::string_view last);

/// "1 cgroup", "2 cgroups"; "2 directories", when that is how `many` are called.
std::string number_of(std::uint64_t n, std::string_view one, std::string_view many = {});

/// Without the blanks and tabs at both ends.
std::string_view trim(std::string_view text);

/// The Levenshtein distance of `a` and `b`, or `limit` if it is not less than that. Takes at most
/// about 2 * limit steps for each letter, and none if the lengths differ too much.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// The number of changes from which on another word is not considered a misspelling of `word`: more
/// than a third of its letters, or more than 8.
std::size_t too_many_changes(std::string_view word);

/// The word of `known` that `word` most likely misspells: the same in another case, or the least
/// edit distance below too_many_changes(). Nothing if none is that near, or if several are equally
/// near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace pex
