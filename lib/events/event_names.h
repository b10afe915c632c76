#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/remedy.h"
#include "events/event_resolver.h"
#include "events/event_spec.h"

namespace pex::events {

/// The value of one count, in the base units of Prometheus.
struct Worth {
  Unit unit = Unit::kEvents;
  double scale = 1;
  std::string metric_ending;  ///< "_hertz": for other units; else empty
};

/// For an event of sysfs, from its files `.unit` and `.scale`.
Worth worth_of(std::string_view sysfs_unit, double sysfs_scale);

/// The metric of an event whose PMU and name do not make a good one.
struct BetterName {
  std::string_view pmu;
  std::string_view event;  ///< as the PMU names it in sysfs
  std::string_view metric;
  std::string_view label;
  std::string_view value;
  std::string_view help;  ///< the same for all events of a metric
};

/// Null for most.
const BetterName* better_name(std::string_view pmu, std::string_view event);

/// The remedy for an event that CPUs of other kinds have.
inline constexpr const char* kOfOtherCpus =
    "write 'optional: true' for its group if other machines have it, or remove it";

/// How a machine gets a PMU that it lacks; "power" of the kernel, "amd64_rapl" of libpfm4. Nothing
/// if the name is not known.
std::optional<Remedy> how_to_get(std::string_view pmu);

/// "0x1f"
std::string hexadecimal(std::uint64_t number);

}  // namespace pex::events
