#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pex::exposition {

/// Types of a metric family. The text format 0.0.4 does not have kInfo, and uses a gauge.
enum class FamilyType : std::uint8_t { kCounter, kGauge, kInfo, kHistogram };

/// The header of a family's samples.
struct FamilyHead {
  std::string name;  ///< of its samples: with "_total" for a counter, "_info" for an info
  std::string help;  ///< one sentence, not escaped
  FamilyType type = FamilyType::kCounter;
};

/// A family with a fixed name, in a table. The documents have its labels and details from
/// docs/generator/metric_texts.h.
struct FamilyEntry {
  std::string_view name;
  FamilyType type;
  std::string_view help;  ///< one sentence
};

/// The family's name in OpenMetrics: `name` without the suffix of its type.
std::string_view family_of(const FamilyHead& head);

/// The base unit at the end of a family's name ("seconds"); empty for none.
std::string_view unit_of(std::string_view family);

}  // namespace pex::exposition
