#pragma once

#include <string_view>

namespace pex {

/// How much of the configured groups is counted; each counts less than the one before.
enum class Counted {
  kAll,
  kSoftware,  ///< only groups that need no counter of a PMU
  kNothing,   ///< no event is open
};

constexpr std::string_view name_of(Counted counted) {
  switch (counted) {
    case Counted::kAll:
      return "all";
    case Counted::kSoftware:
      return "software";
    case Counted::kNothing:
      break;
  }
  return "nothing";
}

}  // namespace pex
