#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace pex::collect {

/// In rearrange(): a target without an old place.
inline constexpr std::size_t kNewPlace = std::numeric_limits<std::size_t>::max();

/// Rearranges a flat array with `stride` elements for each target for other targets: `places` has
/// the old place of each, or kNewPlace, and then it is `blank`. Each old place is used at most
/// once.
template <typename T, typename... Blank>
void rearrange(std::vector<T>& flat, std::span<const std::size_t> places, std::size_t stride = 1,
               const Blank&... blank) {
  std::vector<T> next;
  next.reserve(places.size() * stride);
  for (const std::size_t place : places) {
    if (place == kNewPlace) {
      next.resize(next.size() + stride, blank...);
      continue;
    }
    const auto first = flat.begin() + static_cast<std::ptrdiff_t>(place * stride);
    std::move(first, first + static_cast<std::ptrdiff_t>(stride), std::back_inserter(next));
  }
  flat = std::move(next);
}

}  // namespace pex::collect
