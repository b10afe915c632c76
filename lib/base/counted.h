#pragma once

#include <cstddef>
#include <string_view>

namespace pex {

/// How much of the configured groups is counted; each counts less than the one before.
enum class Counted {
  kAll,
  kSoftware,  ///< only groups that need no counter of a PMU
  kNothing,   ///< no event is open
};

struct CountedEntry {
  std::string_view word;
  Counted counted;
};
/// In the order of the enumerators.
inline constexpr CountedEntry kCountedEntries[] = {
    {"all", Counted::kAll}, {"software", Counted::kSoftware}, {"nothing", Counted::kNothing}};
static_assert(kCountedEntries[2].counted == Counted::kNothing);

constexpr std::string_view name_of(Counted counted) {
  return kCountedEntries[static_cast<std::size_t>(counted)].word;
}

}  // namespace pex
