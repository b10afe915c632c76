#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "events/event_resolver.h"
#include "events/event_spec.h"

namespace pex::events {

/// What one count is worth, in the base units of Prometheus.
struct Worth {
  Unit unit = Unit::kEvents;
  double scale = 1;
  std::string metric_ending;  ///< "_mwatts": of a unit that is none of those; else empty
};

/// Of an event of sysfs, by its files `.unit` and `.scale`.
Worth worth_of(std::string_view sysfs_unit, double sysfs_scale);

/// What a table calls an event for which its PMU and its own name make no good metric together.
struct BetterName {
  std::string_view pmu;
  std::string_view event;  ///< of the PMU's own, in sysfs
  std::string_view metric;
  std::string_view label;
  std::string_view value;
  std::string_view help;  ///< the same for one metric, which has only one
};

/// Null for most.
const BetterName* better_name(std::string_view pmu, std::string_view event);

/// "0x1f"
std::string hexadecimal(std::uint64_t number);

}  // namespace pex::events
