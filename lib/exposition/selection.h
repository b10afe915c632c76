#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace pex::exposition {

/// The name that selects the exporter's own metrics, like the name of a group.
inline constexpr std::string_view kExporterGroup = "exporter";

/// The groups whose series a client requests.
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
