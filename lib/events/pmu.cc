#include "events/pmu.h"

#include <fnmatch.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/directory.h"
#include "base/lookup.h"
#include "base/small_file.h"
#include "base/text.h"
#include "host/cpu_list.h"
#include "host/topology.h"

namespace pex::events {
namespace {

constexpr std::size_t kMaxValue = 4096;  // a page: the maximum of a sysfs file
constexpr std::size_t kMaxPmus = 4096;
constexpr std::size_t kMaxFormats = 4096;
constexpr std::size_t kMaxEvents = 4096;

/// Files next to events/NAME with one of these suffixes describe that event.
constexpr std::array<std::string_view, 4> kEventSuffixes = {".scale", ".unit", ".snapshot",
                                                            ".per-pkg"};

constexpr std::string_view kUncorePrefix = "uncore_";

std::string path_of(const std::string& folder, const std::string& name) {
  return folder + "/" + name;
}

/// Some drivers end a value with a line break, and sysfs adds another.
std::string without_final_newlines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Files of sysfs. What cannot be read is absent, which is not true if it was for a shortage: then
/// nothing that was read can be used.
class Files {
 public:
  /// A missing folder is empty.
  std::vector<std::string> names_in(const std::string& folder, std::size_t most) {
    Result<std::vector<std::string>> names = list_directory(folder, most);
    if (names) return *std::move(names);
    note(names.error());
    return {};
  }

  Result<std::string> text_of(const std::string& file) {
    Result<std::string> text = read_small_file(file, kMaxValue);
    if (text) return without_final_newlines(*std::move(text));
    note(text.error());
    return text;
  }

  std::optional<std::string> value_in(const std::string& file) {
    Result<std::string> text = text_of(file);
    return text ? std::optional{*std::move(text)} : std::nullopt;
  }

  std::optional<std::uint64_t> number_in(const std::string& file) {
    const std::optional<std::string> text = value_in(file);
    return text ? parse_unsigned(*text) : std::nullopt;
  }

  /// Its errno; 0: there was none.
  int shortage() const { return shortage_; }

 private:
  void note(const Error& error) {
    if (is_shortage(error.code)) shortage_ = error.code;
  }

  int shortage_ = 0;
};

/// In the C locale, independent of the current one. A count is worth a positive number of units; 0:
/// the text is none.
double parse_scale(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double scale = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, scale);
  const bool is_scale = code == std::errc{} && rest == end && std::isfinite(scale) && scale > 0;
  return is_scale ? scale : 0;
}

/// 1 without such a file.
double scale_in(Files& files, const std::string& file) {
  const Result<std::string> text = files.text_of(file);
  if (!text) return text.error().code == ENOENT ? 1 : 0;
  return parse_scale(*text);
}

std::optional<PmuNamedEvent> read_event(Files& files, const std::string& file) {
  const std::optional<std::string> terms = files.value_in(file);
  if (!terms || terms->empty()) return {};
  return PmuNamedEvent{*terms, scale_in(files, file + ".scale"),
                       files.value_in(file + ".unit").value_or(""),
                       files.value_in(file + ".snapshot") == "1"};
}

bool is_event(std::string_view name) {
  return std::none_of(kEventSuffixes.begin(), kEventSuffixes.end(),
                      [name](std::string_view ending) { return name.ends_with(ending); });
}

std::map<std::string, PmuNamedEvent> read_events(Files& files, const std::string& folder) {
  std::map<std::string, PmuNamedEvent> events;
  for (const std::string& name : files.names_in(folder, kMaxEvents * (1 + kEventSuffixes.size()))) {
    if (events.size() == kMaxEvents) break;
    if (!is_event(name)) continue;
    if (std::optional<PmuNamedEvent> event = read_event(files, path_of(folder, name))) {
      events.emplace(name, *std::move(event));
    }
  }
  return events;
}

std::map<std::string, FormatField> read_formats(Files& files, const std::string& folder) {
  std::map<std::string, FormatField> formats;
  for (const std::string& name : files.names_in(folder, kMaxFormats)) {
    const std::optional<std::string> text = files.value_in(path_of(folder, name));
    if (!text) continue;
    if (Result<FormatField> field = parse_format(*text)) formats.emplace(name, *std::move(field));
  }
  return formats;
}

/// arch/s390/kernel/perf_cpum_cf.c: it has a type of its own and no list of CPUs. Other core PMUs
/// without a list are registered as PERF_TYPE_RAW: "cpu", and "arc_pct" of ARC.
constexpr std::string_view kS390CorePmu = "cpum_cf";
constexpr std::string_view kS390Sampling = "cpum_sf";  // of the type RAW, and samples only

/// Drivers of HiSilicon write the number of the only CPU, and -1 where none is online.
Result<std::vector<int>> listed_cpus(std::string_view text) {
  return host::parse_cpu_list(text == "-1" ? "" : text);
}

/// A malformed list leaves the PMU without CPUs; opening its events then fails in read_pmu_cpus.
void read_where_it_counts(Files& files, const std::string& folder, Pmu& pmu) {
  const std::optional<std::string> cpus = files.value_in(folder + "/cpus");
  const std::optional<std::string> cpumask = files.value_in(folder + "/cpumask");
  const bool is_registered_as_raw =
      pmu.type == PERF_TYPE_RAW && !cpumask && pmu.name != kS390Sampling;
  const bool counts_generic_events =
      pmu.name == "cpu" || pmu.name == kS390CorePmu || is_registered_as_raw;
  if (cpus || counts_generic_events) {
    pmu.kind = PmuKind::kCore;
    pmu.is_on_some_cpus = cpus.has_value();
  } else if (cpumask) {
    pmu.kind = PmuKind::kUncore;
  }
  if (Result<std::vector<int>> list = listed_cpus(cpus ? *cpus : cpumask.value_or(""))) {
    pmu.cpus = *std::move(list);
  }
}

/// Nothing without a type, which every event requires.
std::optional<Pmu> read_pmu(Files& files, const std::string& folder, const std::string& name) {
  const std::optional<std::uint64_t> type = files.number_in(folder + "/type");
  if (!type || *type > UINT32_MAX) return {};
  Pmu pmu;
  pmu.name = name;
  pmu.type = static_cast<std::uint32_t>(*type);
  pmu.formats = read_formats(files, folder + "/format");
  pmu.events = read_events(files, folder + "/events");
  pmu.mux_interval_ms = files.number_in(folder + "/perf_event_mux_interval_ms");
  read_where_it_counts(files, folder, pmu);
  return pmu;
}

Error unreadable(int code, const std::string& folder) {
  return {code, "read the PMUs in '" + folder + "'",
          code == EMFILE      ? "raise " + ProgramTerm::kOpenFileLimit
          : is_shortage(code) ? Remedy()
                              : "set " + ProgramTerm::kSysfs + " to where sysfs is mounted"};
}

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

/// "imc_0" of "uncore_imc_0".
std::string_view without_uncore(std::string_view name) {
  if (name.starts_with(kUncorePrefix)) name.remove_prefix(kUncorePrefix.size());
  return name;
}

bool matches(const std::string& name, const std::string& pattern) {
  if (is_glob(pattern)) return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  const std::string_view family = without_number(name);
  return pattern == name || pattern == family || pattern == without_uncore(name) ||
         pattern == without_uncore(family);
}

/// Ends with a digit that is not the number of an instance, in names of drivers (drivers/perf, and
/// those of Intel's uncore).
constexpr std::string_view kKinds[] = {"ccpi2", "hns3",  "imx8",  "imx9",
                                       "imx93", "imx95", "pcie4", "pcie6"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "03", and "87e1c0000000": an address has a digit and at least five characters.
bool is_number_or_address(std::string_view word) {
  constexpr std::size_t kMinAddress = 5;
  if (std::all_of(word.begin(), word.end(), is_digit)) return true;
  return word.size() >= kMinAddress && std::any_of(word.begin(), word.end(), is_digit) &&
         word.find_first_not_of("0123456789abcdef") == word.npos;
}

/// The domain of an address on a PCI bus, "0000_af_00.0": the bus behind it may have letters only.
bool is_pci_domain(std::string_view word) {
  return word.size() >= 4 && std::all_of(word.begin(), word.end(), is_digit);
}

bool is_pci_bus(std::string_view word) {
  return word.size() == 2 && word.find_first_not_of("0123456789abcdef") == word.npos;
}

/// "ddrc" of "ddrc0", "l3c" of "l3c0". Not "i" of "i915", "l" of "l3", "24x" of "24x7", and "smmuv"
/// of "smmuv3", which is a version.
std::string_view without_digits(std::string_view word) {
  const std::string_view rest = word.substr(0, word.find_last_not_of("0123456789") + 1);
  const bool is_kind = std::find(std::begin(kKinds), std::end(kKinds), word) != std::end(kKinds);
  const bool is_name = std::all_of(rest.begin(), rest.end(), is_letter) ||
                       (rest.size() >= 3 && is_letter(rest.front()) && is_letter(rest.back()));
  return is_kind || !is_name || rest.size() < 2 || rest.ends_with('v') ? word : rest;
}

/// "cpu_core" and "cpu_atom", in which a hybrid x86 splits what is otherwise "cpu".
bool is_cpu_part(const Pmu& pmu) {
  return pmu.kind == PmuKind::kCore && pmu.name.starts_with("cpu_");
}

}  // namespace

Result<PmuCatalogue> PmuCatalogue::read(const host::HostRoots& roots) {
  const std::string folder = roots.event_sources();
  PmuCatalogue catalogue;
  const Result<std::vector<std::string>> names = list_directory(folder, kMaxPmus);
  if (!names && names.error().code == ENOENT) return catalogue;  // a kernel without perf events
  if (!names) return unreadable(names.error().code, folder);
  Files files;
  const Result<std::vector<int>> present = host::present_cpus(roots);
  for (const std::string& name : *names) {
    std::optional<Pmu> pmu = read_pmu(files, path_of(folder, name), name);
    if (!pmu) continue;
    const bool is_on_all =
        present && !present->empty() &&
        std::includes(pmu->cpus.begin(), pmu->cpus.end(), present->begin(), present->end());
    pmu->is_on_some_cpus = pmu->is_on_some_cpus && !is_on_all;
    catalogue.pmus_.push_back(*std::move(pmu));
  }
  if (files.shortage() != 0) return unreadable(files.shortage(), folder);
  return catalogue;
}

const Pmu* PmuCatalogue::find(std::string_view name) const {
  return lookup(pmus_, &Pmu::name, name);
}

std::vector<const Pmu*> PmuCatalogue::matching(std::string_view pattern) const {
  const std::string text{pattern};  // fnmatch wants its end marked
  const bool means_cpu_parts = pattern == "cpu" && find(pattern) == nullptr;
  std::vector<const Pmu*> found;
  for (const Pmu& pmu : pmus_) {
    if (matches(pmu.name, text) || (means_cpu_parts && is_cpu_part(pmu))) found.push_back(&pmu);
  }
  return found;
}

bool PmuCatalogue::always_counts(std::uint32_t type) const {
  static constexpr std::uint32_t kTypes[] = {PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT,
                                             PERF_TYPE_BREAKPOINT};
  static constexpr std::string_view kNames[] = {"kprobe", "uprobe", "msr"};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes)) return true;
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
    const Pmu* pmu = find(name);
    return pmu != nullptr && pmu->type == type;
  });
}

const Pmu* PmuCatalogue::counting(std::uint32_t type) const {
  if (always_counts(type)) return nullptr;
  if (const Pmu* const known = lookup(pmus_, &Pmu::type, type)) return known;
  const std::vector<const Pmu*> core = core_pmus();
  return core.empty() ? nullptr : core.front();
}

std::vector<const Pmu*> PmuCatalogue::core_pmus() const {
  std::vector<const Pmu*> found;
  for (const Pmu& pmu : pmus_) {
    if (pmu.kind == PmuKind::kCore) found.push_back(&pmu);
  }
  return found;
}

Result<std::vector<int>> read_pmu_cpus(const host::HostRoots& roots, const std::string& pmu) {
  const std::string folder = roots.event_sources() + "/" + pmu;
  std::string file = folder + "/cpus";
  Result<std::string> text = read_small_file(file, kMaxValue);
  if (!text && text.error().code == ENOENT) {
    file = folder + "/cpumask";
    text = read_small_file(file, kMaxValue);
  }
  const auto failed = [&](int code, Remedy remedy) {
    return Error{code, "read the CPUs of the PMU '" + pmu + "' from '" + file + "'",
                 std::move(remedy)};
  };
  if (!text) {
    const int code = text.error().code;
    return failed(code, code == ENOENT ? "load the driver of this PMU again, or remove its events"
                                       : "let " + ProgramTerm::kProgram +
                                             "'s user read it, or remove its events");
  }
  Result<std::vector<int>> cpus = listed_cpus(without_final_newlines(*std::move(text)));
  if (!cpus) return failed(EINVAL, "remove the events of this PMU: the file has no list of CPUs");
  return cpus;
}

std::string_view without_number(std::string_view pmu) {
  const std::size_t underscore = pmu.find_last_not_of("0123456789");
  const bool is_numbered = underscore != std::string_view::npos && underscore > 0 &&
                           underscore + 1 < pmu.size() && pmu[underscore] == '_';
  return is_numbered ? pmu.substr(0, underscore) : pmu;
}

std::string without_instance(std::string_view pmu) {
  std::string name;
  std::string_view before;
  for (std::string_view rest = pmu; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of("_."));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const bool is_bus = is_pci_domain(std::exchange(before, word)) && is_pci_bus(word);
    if (word.empty() || is_bus || is_number_or_address(word)) continue;
    name += (name.empty() ? "" : "_") + std::string(without_digits(word));
  }
  return name.empty() ? std::string(pmu) : name;
}

}  // namespace pex::events
