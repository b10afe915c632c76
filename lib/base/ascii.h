#pragma once

#include <algorithm>
#include <string_view>

namespace pex {

/// Of ASCII alone, whatever the locale: names on the wire have no other letters.
constexpr char to_lower_ascii(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The same text but for the case of its letters.
constexpr bool iequals(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return to_lower_ascii(a) == to_lower_ascii(b); });
}

}  // namespace pex
