#pragma once

#include <algorithm>
#include <string_view>

namespace pex::http {

/// Of ASCII alone, whatever the locale: names on the wire have no other letters.
constexpr char in_lower_case(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The same text but for the case of its letters.
constexpr bool is_same_in_any_case(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return in_lower_case(a) == in_lower_case(b); });
}

}  // namespace pex::http
