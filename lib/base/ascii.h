#pragma once

#include <algorithm>
#include <string_view>

namespace pex {

/// ASCII only, independent of the locale: protocol names have no other letters.
constexpr char to_lower_ascii(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Equality without regard to case.
constexpr bool iequals(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return to_lower_ascii(a) == to_lower_ascii(b); });
}

}  // namespace pex
