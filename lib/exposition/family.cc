#include "exposition/family.h"

#include <array>

namespace pex::exposition {
namespace {

/// In the order of FamilyType.
constexpr std::array<std::string_view, 4> kSuffixes = {"_total", "", "_info", ""};

constexpr std::string_view kUnits[] = {"seconds", "bytes", "joules", "ratio"};

}  // namespace

std::string_view family_of(const FamilyHead& head) {
  const std::string_view suffix = kSuffixes[static_cast<std::size_t>(head.type)];
  std::string_view family = head.name;
  if (family.ends_with(suffix)) family.remove_suffix(suffix.size());
  return family;
}

std::string_view unit_of(std::string_view family) {
  for (const std::string_view unit : kUnits) {
    if (family.size() > unit.size() && family.ends_with(unit) &&
        family[family.size() - unit.size() - 1] == '_') {
      return unit;
    }
  }
  return {};
}

}  // namespace pex::exposition
