#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pex::exposition {

/// Types of a metric family. The text format 0.0.4 knows no kInfo and calls it a gauge.
enum class FamilyType : std::uint8_t { kCounter, kGauge, kInfo };

/// What stands above the samples of a family.
struct FamilyHead {
  std::string name;  ///< of its samples: with "_total" of a counter, "_info" of an info
  std::string help;  ///< one sentence, not escaped
  FamilyType type = FamilyType::kCounter;
};

/// A family whose name is fixed, as tables have it.
struct FamilyEntry {
  std::string_view name;
  FamilyType type;
  std::string_view labels;  ///< for the documents, in Markdown: "`group`, `event`"; empty: none
  std::string_view help;
};

/// What OpenMetrics calls the family: `name` without what the type puts behind it.
std::string_view family_of(const FamilyHead& head);

/// The base unit that a family's name ends with ("seconds"); empty for none.
std::string_view unit_of(std::string_view family);

}  // namespace pex::exposition
