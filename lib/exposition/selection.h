#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace pex::exposition {

/// The name by which the exporter's own metrics are chosen, beside the names of groups.
inline constexpr std::string_view kExporterGroup = "exporter";

/// The groups whose series a client wants.
struct Selection {
  enum class Rule : std::uint8_t { kAll, kOnly, kAllBut };
  Rule rule = Rule::kAll;
  std::set<std::string, std::less<>> groups;  ///< as configured, or kExporterGroup

  bool has(std::string_view group) const {
    return rule == Rule::kAll || groups.contains(group) == (rule == Rule::kOnly);
  }
  auto operator<=>(const Selection&) const = default;
};

}  // namespace pex::exposition
