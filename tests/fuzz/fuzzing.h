#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace pex::fuzz {

/// Not assert: it must hold in an optimized build too.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline bool is_one_line(std::string_view text) {
  return text.find_first_of("\n\r\v\f\x1b") == std::string_view::npos;
}

}  // namespace pex::fuzz
