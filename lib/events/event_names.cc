#include "events/event_names.h"

#include <array>
#include <charconv>

#include "base/lookup.h"

namespace pex::events {
namespace {

struct SysfsUnit {
  std::string_view word;
  Unit unit;
  double factor;
};
/// The words that drivers write into `.unit` and that have a base unit (drivers/perf,
/// arch/x86/events, drivers/gpu).
constexpr SysfsUnit kUnits[] = {
    {"", Unit::kEvents, 1},
    {"Joules", Unit::kJoules, 1},
    {"Bytes", Unit::kBytes, 1},
    {"KiB", Unit::kBytes, 1024},
    {"MiB", Unit::kBytes, 1024.0 * 1024},
    {"GiB", Unit::kBytes, 1024.0 * 1024 * 1024},
    {"ns", Unit::kSeconds, 1e-9},
    {"us", Unit::kSeconds, 1e-6},
    {"ms", Unit::kSeconds, 1e-3},
};

constexpr std::string_view kEnergyHelp =
    "Energy used by a domain of the package (RAPL); 'package' includes cores, core and gpu.";
/// RAPL: arch/x86/events/rapl.c
constexpr BetterName kBetterNames[] = {
    {"power", "energy-pkg", "energy", "domain", "package", kEnergyHelp},
    {"power", "energy-cores", "energy", "domain", "cores", kEnergyHelp},
    {"power", "energy-gpu", "energy", "domain", "gpu", kEnergyHelp},
    {"power", "energy-ram", "energy", "domain", "dram", kEnergyHelp},
    {"power", "energy-psys", "energy", "domain", "psys", kEnergyHelp},
    {"power_core", "energy-core", "energy", "domain", "core", kEnergyHelp},
};

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool stays(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string metric_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (stays(lower_case(c))) {
      word += lower_case(c);
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  if (word.ends_with('_')) word.pop_back();
  return word;
}

Worth worth_of(std::string_view sysfs_unit, double sysfs_scale) {
  if (const SysfsUnit* known = lookup(kUnits, &SysfsUnit::word, sysfs_unit)) {
    return {known->unit, sysfs_scale * known->factor, {}};
  }
  const std::string word = metric_word(sysfs_unit);
  return {Unit::kEvents, sysfs_scale, word.empty() ? "" : "_" + word};
}

const BetterName* better_name(std::string_view pmu, std::string_view event) {
  const auto is_it = [&](const BetterName& entry) {
    return entry.pmu == pmu && entry.event == event;
  };
  return lookup(kBetterNames, is_it, true);
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto [end, code] = std::to_chars(digits.begin(), digits.end(), number, 16);
  return "0x" + std::string(digits.begin(), end);
}

}  // namespace pex::events
