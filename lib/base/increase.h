#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace pex {

/// By how much a total of the kernel has increased; nothing if it fell. Totals begin at 0 and have
/// 64 bits: a true increase is far below half their range. A wrap is a small increase.
constexpr std::optional<std::uint64_t> increase(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t more = to - from;
  return more >> 63 == 0 ? std::optional(more) : std::nullopt;
}

constexpr std::optional<std::chrono::nanoseconds> increase(std::chrono::nanoseconds from,
                                                           std::chrono::nanoseconds to) {
  const auto more =
      increase(static_cast<std::uint64_t>(from.count()), static_cast<std::uint64_t>(to.count()));
  if (!more) return {};
  return std::chrono::nanoseconds{*more};
}

}  // namespace pex
