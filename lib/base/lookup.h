#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <ranges>

namespace pex {

/// The first entry of `table` whose `member` equals `key`, or null. `member` is a pointer to a
/// member of the entries, or anything else that can be called with one:
///
///   lookup(kUnits, &UnitEntry::word, "bytes")
///   lookup(kRemedies, [&](const RemedyEntry& entry) { return entry.applies(request); }, true)
///
/// The table must outlive the result, so a temporary one is refused unless it only borrows.
template <std::ranges::forward_range Table, typename Member, typename Key>
requires std::ranges::borrowed_range<Table>
constexpr auto lookup(Table&& table, Member member, const Key& key)
    -> decltype(std::addressof(*std::ranges::begin(table))) {
  const auto found = std::ranges::find_if(
      table, [&](const auto& entry) { return std::invoke(member, entry) == key; });
  return found == std::ranges::end(table) ? nullptr : std::addressof(*found);
}

}  // namespace pex
