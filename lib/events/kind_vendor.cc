#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "base/lookup.h"
#include "events/event_table.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "events/pmu_sum.h"
#include "events/pmu_terms.h"
#include "events/vendor_events.h"

// "INST_RETIRED:ANY_P:u": a name of the CPU's vendor, which the core PMU has itself (POWER, s390),
// or libpfm4 translates to numbers of the kernel's PMUs.

namespace pex::events {
namespace vendor_event {
namespace {

constexpr std::string_view kVendorModifiers = "ukh";
constexpr const char* kWriteVendorModifiers = "use only the modifiers u, k and h, once each";
constexpr const char* kWriteVendorName =
    "write it as libpfm4 does, as in 'INST_RETIRED:ANY_P' or 'arm_n1::L1D_CACHE_REFILL'";

/// By its shape; see VendorEvent.
bool recognizes(std::string_view word, std::string_view behind) {
  const bool has_capital = std::any_of(word.begin(), word.end(), is_capital);
  const bool has_shape =
      !is_one_of(word, '-') && (has_capital || is_one_of(word, '.') || behind.starts_with("::"));
  return has_shape && !behind.starts_with('/') && !is_table_name(word) &&
         !(is_system_of_probes(word) && behind.starts_with(':'));
}

bool is_vendor_character(char c) { return is_letter_or_digit(c) || c == '_' || c == '.'; }

/// "X:c=1" of "X:c=1:u:k". "x::u" is unchanged, as its u is the event of the PMU x.
std::string_view without_modifiers(std::string_view name) {
  for (;;) {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == name.size() || name[colon - 1] == ':' ||
        name.find_first_not_of(kVendorModifiers, colon + 1) != std::string_view::npos) {
      return name;
    }
    name = name.substr(0, colon);
  }
}

/// "ANY_P", "c=1"
Parsed parse_part(TextCursor& in) {
  if (in.take_while(is_vendor_character).empty()) {
    return missing(in, "a part of the name", kWriteVendorName);
  }
  if (in.take("=") && in.take_while(is_vendor_character).empty()) {
    return missing(in, "the value of an attribute", kWriteVendorName);
  }
  return {};
}

/// Up to `end`, or the first error.
Parsed parse_parts(TextCursor& in, std::size_t end) {
  Parsed part = parse_part(in);
  if (part && in.rest().starts_with("::")) in.skip(1);  // after the PMU, as libpfm4 writes it
  while (part && in.here().characters < end) {
    if (!in.take(":")) return misplaced(in, kWriteVendorName);
    part = parse_part(in);
  }
  return part;
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  const std::string_view name = without_modifiers(in.before(kEventEnds));
  event.kind = VendorEvent{std::string(name)};
  Parsed parsed = parse_parts(in, in.here().characters + name.size());
  while (parsed && in.take(":")) {
    parsed = parse_letters(in, event.modifiers, kWriteVendorModifiers);
  }
  return parsed;
}

std::string spell(const ParsedEvent& event) {
  return std::get<VendorEvent>(event.kind).name + behind_colon(event.modifiers);
}

/// Null for PERF_TYPE_RAW and others without a folder in sysfs.
const Pmu* find_by_type(const PmuCatalogue& pmus, std::uint32_t type) {
  return lookup(pmus.pmus(), &Pmu::type, type);
}

/// The family of an encoding: PMUs that share the work of one kind, such as memory channels; one of
/// the core PMUs of a hybrid machine; or, empty, what all CPUs have.
std::string family_of(const Pmu* pmu, bool is_hybrid) {
  if (pmu == nullptr) return {};
  if (pmu->kind == PmuKind::kUncore) return std::string(without_number(pmu->name));
  return pmu->kind == PmuKind::kCore && is_hybrid ? pmu->name : "";
}

/// The name of an event of the PMU whose counts are not plain numbers, or null.
const std::string* event_with_unit(const Pmu& pmu) {
  const auto* found = lookup(
      pmu.events, [](const auto& named) { return !named.second.unit.empty(); }, true);
  return found == nullptr ? nullptr : &found->first;
}

/// libpfm4 has no units. Sysfs has those of the PMU's named events. This event may be one; if it
/// is not, and some have a unit, the value of a count is unknown.
Result<void, Unresolved> use_unit_of(const Pmu& pmu, const VendorEncoding& encoding,
                                     const std::string& name, TextOffset at,
                                     EventIdentity& identity) {
  const std::string* example = event_with_unit(pmu);
  if (example == nullptr) return {};
  if (const std::string* own = event_of(pmu, encoding.attributes)) {
    use_worth(pmu.events.at(*own), identity);
    use_better_name(pmu, *own, identity);
    return {};
  }
  return unavailable(
      at, EINVAL, "'" + name + "' is counted in units that only PMU '" + pmu.name + "' defines",
      "write one of its named events, for example " + pmu.name + "/" + *example + "/");
}

Result<Resolution, Unresolved> resolution_of(const VendorEncoding& encoding, const Pmu* pmu,
                                             const std::string& family, const std::string& name,
                                             TextOffset at) {
  Resolution resolution;
  EventIdentity& identity = resolution.spec.identity;
  identity.help = encoding.help;
  identity.is_uncore = pmu != nullptr && pmu->kind == PmuKind::kUncore;
  const std::string kind = without_instance(family);
  identity.metric = metric_word(identity.is_uncore ? kind + "_" + name : name);
  if (identity.is_uncore) resolution.modifiers = ModifierSupport::kWholePmu;
  if (!family.empty() && (!identity.is_uncore || kind != family)) {
    identity.labels = {{"pmu", family}};
  }
  if (pmu == nullptr) return resolution;
  const auto used = use_unit_of(*pmu, encoding, name, at, identity);
  if (!used) return used.error();
  return resolution;
}

bool are_worth_the_same(const EventIdentity& one, const EventIdentity& other) {
  return one.unit == other.unit && one.scale == other.scale && one.metric == other.metric;
}

Unresolved no_sum(const std::string& name, const Pmu& pmu, TextOffset at) {
  return unavailable(
      at, EINVAL,
      "PMU '" + pmu.name + "' counts '" + name +
          "' in another unit than others of its kind, and they have no sum",
      "write the events of single PMUs, as " + ProgramTerm::kEventList + " shows them");
}

/// The event of a PMU of this machine that has the name in other letters: msr/tsc/ of "TSC".
std::optional<std::string> in_other_letters(const PmuCatalogue& pmus, const std::string& name) {
  for (const Pmu& pmu : pmus.pmus()) {
    for (const auto& [event, terms] : pmu.events) {
      if (metric_word(event) == metric_word(name)) return pmu.name + "/" + event + "/";
    }
  }
  return {};
}

Remedy remedy_for(const PmuCatalogue& pmus, const VendorEvent& event, const Error& error) {
  if (const auto same = in_other_letters(pmus, event.name)) return "write '" + *same + "'";
  std::vector<std::string> names;
  for (const GenericEvent& generic : generic_events()) names.emplace_back(generic.name);
  for (const CacheEvent& cache : cache_events()) names.push_back(cache.name);
  return did_you_mean(event.name, names, error.remedy);
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const auto& vendor = std::get<VendorEvent>(event.kind);
  if (auto named = resolve_on_core_pmus(machine, vendor.name, event.at)) return *std::move(named);
  const auto encodings = encode_vendor_event(vendor.name);
  if (!encodings) {
    const Error& error = encodings.error();
    return unavailable(event.at, error.code, error.attempted,
                       remedy_for(machine.pmus, vendor, error));
  }
  const std::size_t colons = vendor.name.find("::");
  const std::string name = vendor.name.substr(colons == std::string::npos ? 0 : colons + 2);
  std::vector<std::string> families;  // of the resolutions
  std::vector<Resolution> resolutions;
  for (const VendorEncoding& encoding : *encodings) {
    const Pmu* pmu = find_by_type(machine.pmus, encoding.attributes.type);
    const std::string family = family_of(pmu, machine.is_hybrid());
    const auto index = static_cast<std::size_t>(
        std::find(families.begin(), families.end(), family) - families.begin());
    const bool is_new = index == families.size();
    if (!is_new && !resolutions[index].spec.identity.is_uncore) {
      continue;  // in two tables of libpfm4, of the model and of the architecture
    }
    Result<Resolution, Unresolved> resolved = resolution_of(encoding, pmu, family, name, event.at);
    if (!resolved) return resolved.error();
    if (is_new) {
      families.push_back(family);
      resolutions.push_back(*std::move(resolved));
    } else if (!are_worth_the_same(resolutions[index].spec.identity, resolved->spec.identity)) {
      return no_sum(name, *pmu, event.at);
    }
    resolutions[index].spec.instances.push_back(
        {pmu == nullptr ? "" : machine.where_it_counts(*pmu), encoding.attributes});
  }
  return resolutions;
}

void list(const Machine& machine, std::vector<ListedEvent>& listed) {
  if (machine.pmus.core_pmus().empty()) return;
  for (VendorName& event : list_vendor_events()) {
    listed.push_back(
        {"vendor", std::move(event.name), std::move(event.pmu), std::move(event.help), true});
  }
}

}  // namespace
}  // namespace vendor_event

constinit const Kind kVendorEvents{
    .holds = holds<VendorEvent>,
    .recognizes = vendor_event::recognizes,
    .parse = vendor_event::parse,
    .takes = only_modes,
    .spell = vendor_event::spell,
    .resolve = vendor_event::resolve,
    .list = vendor_event::list,
};

}  // namespace pex::events
