#include "events/event_names.h"

#include <fnmatch.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/lookup.h"
#include "base/text.h"

namespace pex::events {
namespace {

constexpr double kKibi = 1024;

struct SysfsUnit {
  std::string_view word;
  Unit unit;
  double factor;
  std::string_view ending = {};  ///< of the metric, if `unit` has no word for it
  double binary = 0;             ///< the factor in drivers that mean powers of 1024; 0: none do
};
/// The words that drivers write into `.unit` and that have a base unit (drivers/perf,
/// arch/x86/events, arch/powerpc/perf, drivers/gpu). MB is 2^20 bytes in meson_ddr_pmu_core.c, and
/// 10^6 in the cqm driver of Linux 4. The M of i915_pmu.c stands for 10^6 cycles.
constexpr SysfsUnit kUnits[] = {
    {"", Unit::kEvents, 1},
    {"M", Unit::kEvents, 1e6},
    {"Joules", Unit::kJoules, 1},
    {"J", Unit::kJoules, 1},
    {"mJ", Unit::kJoules, 1e-3},
    {"uJ", Unit::kJoules, 1e-6},
    {"Bytes", Unit::kBytes, 1},
    {"B", Unit::kBytes, 1},
    {"KiB", Unit::kBytes, kKibi},
    {"MiB", Unit::kBytes, kKibi* kKibi},
    {"GiB", Unit::kBytes, kKibi* kKibi* kKibi},
    {"KB", Unit::kBytes, 1e3, {}, kKibi},
    {"MB", Unit::kBytes, 1e6, {}, kKibi* kKibi},
    {"GB", Unit::kBytes, 1e9, {}, kKibi* kKibi* kKibi},
    {"s", Unit::kSeconds, 1},
    {"ms", Unit::kSeconds, 1e-3},
    {"us", Unit::kSeconds, 1e-6},
    {"ns", Unit::kSeconds, 1e-9},
    {"Hz", Unit::kEvents, 1, "_hertz"},
    {"kHz", Unit::kEvents, 1e3, "_hertz"},
    {"KHz", Unit::kEvents, 1e3, "_hertz"},
    {"MHz", Unit::kEvents, 1e6, "_hertz"},
    {"GHz", Unit::kEvents, 1e9, "_hertz"},
    {"Watts", Unit::kEvents, 1, "_watts"},
    {"W", Unit::kEvents, 1, "_watts"},
    {"mWatts", Unit::kEvents, 1e-3, "_watts"},
    {"mW", Unit::kEvents, 1e-3, "_watts"},
    {"C", Unit::kEvents, 1, "_celsius"},
    {"%", Unit::kEvents, 1e-2, "_ratio"},
    {"clks", Unit::kEvents, 1, "_cycles"},
    {"clk", Unit::kEvents, 1, "_cycles"},
};

/// Whether so many base units are worth a count of whole units.
bool is_whole(double units) { return units >= 0.5 && std::abs(units - std::round(units)) < 1e-6; }

/// A count is worth whole bytes: of the two meanings of MB, that one applies.
double factor_of(const SysfsUnit& unit, double scale) {
  const bool is_binary =
      unit.binary != 0 && !is_whole(scale * unit.factor) && is_whole(scale * unit.binary);
  return is_binary ? unit.binary : unit.factor;
}

/// 64 of "64Bytes", 2^-32 of "2^-32 Joules"; `unit` is then "Bytes" or "Joules". Without a
/// number 1.
double take_number(std::string_view& unit) {
  if (unit.empty() || !is_digit(unit.front())) return 1;  // not "nanojoules"
  const char* const end = unit.data() + unit.size();
  double number = 0;
  const char* rest = std::from_chars(unit.data(), end, number).ptr;
  if (rest != end && *rest == '^') {
    int exponent = 0;
    rest = std::from_chars(rest + 1, end, exponent).ptr;
    number = std::pow(number, exponent);
  }
  if (!(number > 0) || !std::isfinite(number)) return 1;
  unit = trim(unit.substr(static_cast<std::size_t>(rest - unit.data())));
  return number;
}

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

/// Why a machine lacks a PMU.
enum class Lack { kModule, kOtherCpu, kOfPerf };

struct LackedPmu {
  const char* pmu;  ///< a pattern (fnmatch), without "uncore_"
  Lack lack;
  std::string_view module = {};  ///< that a distribution may not load by itself
};
/// The kernel's names (arch/x86/events, drivers/perf), libpfm4's, and what only the tool perf has
/// (tools/perf/util: tool_pmu.c, hwmon_pmu.c, drm_pmu.c).
constexpr LackedPmu kLackedPmus[] = {
    {"power", Lack::kModule, "rapl"},
    {"power_core", Lack::kModule, "rapl"},
    {"*rapl", Lack::kModule, "rapl"},
    {"cstate_*", Lack::kModule, "intel_cstate"},
    {"imc", Lack::kModule, "intel_uncore"},
    {"imc_*", Lack::kModule, "intel_uncore"},
    {"cha", Lack::kModule, "intel_uncore"},
    {"cha_*", Lack::kModule, "intel_uncore"},
    {"cbox", Lack::kModule, "intel_uncore"},
    {"cbox_*", Lack::kModule, "intel_uncore"},
    {"*_unc_*", Lack::kModule, "intel_uncore"},
    {"amd_l3", Lack::kModule, "amd_uncore"},
    {"amd_df", Lack::kModule, "amd_uncore"},
    {"amd_umc*", Lack::kModule, "amd_uncore"},
    {"arm_cmn*", Lack::kModule, "arm-cmn"},
    {"arm_dsu*", Lack::kModule, "arm_dsu_pmu"},
    {"arm_smmuv3*", Lack::kModule, "arm_smmuv3_pmu"},
    {"arm_spe*", Lack::kModule, "arm_spe_pmu"},
    {"cpu", Lack::kOtherCpu},
    {"cpu_core", Lack::kOtherCpu},
    {"cpu_atom", Lack::kOtherCpu},
    {"cpu_lowpower", Lack::kOtherCpu},
    {"cpum_cf", Lack::kOtherCpu},
    {"armv[78]_*", Lack::kOtherCpu},
    {"apple_*", Lack::kOtherCpu},
    {"tool", Lack::kOfPerf},
    {"hwmon_*", Lack::kOfPerf},
    {"drm_*", Lack::kOfPerf},
};

bool stays(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string metric_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (stays(to_lower_ascii(c))) {
      word += to_lower_ascii(c);
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  if (word.ends_with('_')) word.pop_back();
  return word;
}

Worth worth_of(std::string_view sysfs_unit, double sysfs_scale) {
  std::string_view word = sysfs_unit;
  const double scale = sysfs_scale * take_number(word);
  if (const SysfsUnit* known = lookup(kUnits, &SysfsUnit::word, word)) {
    return {known->unit, scale * factor_of(*known, scale), std::string(known->ending)};
  }
  const std::string ending = metric_word(word);
  return {Unit::kEvents, scale, ending.empty() ? "" : "_" + ending};
}

const BetterName* better_name(std::string_view pmu, std::string_view event) {
  const auto is_it = [&](const BetterName& entry) {
    return entry.pmu == pmu && entry.event == event;
  };
  return lookup(kBetterNames, is_it, true);
}

std::optional<Remedy> how_to_get(std::string_view pmu) {
  if (pmu.starts_with("uncore_")) pmu.remove_prefix(std::string_view("uncore_").size());
  const auto is_it = [name = std::string(pmu)](const LackedPmu& entry) {
    return ::fnmatch(entry.pmu, name.c_str(), 0) == 0;
  };
  const LackedPmu* known = lookup(kLackedPmus, is_it, true);
  if (known == nullptr) return {};
  switch (known->lack) {
    case Lack::kModule:
      return "modprobe " + std::string(known->module) +
             ", if the hardware has it and this is not a virtual machine";
    case Lack::kOtherCpu:
      return kOfOtherCpus;
    case Lack::kOfPerf:
      return "remove it: the tool perf measures it without the kernel";
  }
  return {};
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto [end, code] = std::to_chars(digits.begin(), digits.end(), number, 16);
  return "0x" + std::string(digits.begin(), end);
}

}  // namespace pex::events
