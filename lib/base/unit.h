#pragma once

#include <cstddef>
#include <string_view>

namespace pex {

/// The base units of Prometheus that counts are published in.
enum class Unit {
  kEvents,  ///< no unit in the name of the metric
  kSeconds,
  kJoules,
  kBytes,
};

struct UnitEntry {
  std::string_view word;  ///< in the configuration, and as suffix of the metric's name
  Unit unit;
};
/// In the order of the enumerators.
inline constexpr UnitEntry kUnits[] = {
    {"events", Unit::kEvents},
    {"seconds", Unit::kSeconds},
    {"joules", Unit::kJoules},
    {"bytes", Unit::kBytes},
};

static_assert(kUnits[3].unit == Unit::kBytes);

/// "events", "seconds", "joules", "bytes"
constexpr std::string_view name_of(Unit unit) {
  return kUnits[static_cast<std::size_t>(unit)].word;
}

}  // namespace pex
