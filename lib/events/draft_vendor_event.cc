#include <algorithm>
#include <cerrno>

#include "events/event_draft.h"
#include "events/event_table.h"
#include "events/pmu_terms.h"
#include "events/vendor_events.h"

// Names of the CPU's vendor, which libpfm4 turns into numbers of the kernel's PMUs.

namespace pex::events {
namespace {

/// Null for PERF_TYPE_RAW and others that no folder of sysfs stands for.
const Pmu* find_by_type(const PmuCatalogue& pmus, std::uint32_t type) {
  const auto found = std::find_if(pmus.pmus().begin(), pmus.pmus().end(),
                                  [&](const Pmu& pmu) { return pmu.type == type; });
  return found == pmus.pmus().end() ? nullptr : &*found;
}

/// What an encoding is one of: PMUs that share the work of one kind, such as memory channels; one
/// of the core PMUs of a hybrid machine; or, empty, what all CPUs have.
std::string kind_of(const Pmu* pmu, bool is_hybrid) {
  if (pmu == nullptr) return {};
  if (pmu->kind == PmuKind::kUncore) return std::string(without_number(pmu->name));
  return pmu->kind == PmuKind::kCore && is_hybrid ? pmu->name : "";
}

/// The name of an event of the PMU whose counts are no plain numbers, or null.
const std::string* event_with_unit(const Pmu& pmu) {
  const auto found = std::find_if(pmu.events.begin(), pmu.events.end(),
                                  [](const auto& named) { return !named.second.unit.empty(); });
  return found == pmu.events.end() ? nullptr : &found->first;
}

/// libpfm4 knows no units. Sysfs has those of the PMU's own events, of which this may be one; where
/// it is none, and some have a unit, nothing tells what a count is worth.
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
  return not_here(at, EINVAL,
                  "'" + name + "' is counted in units that only PMU '" + pmu.name + "' tells",
                  "write one of its own events, for example " + pmu.name + "/" + *example + "/");
}

Result<Draft, Unresolved> draft_of(const VendorEncoding& encoding, const Pmu* pmu,
                                   const std::string& kind, const std::string& name,
                                   TextOffset at) {
  Draft draft;
  EventIdentity& identity = draft.spec.identity;
  identity.help = encoding.help;
  identity.is_uncore = pmu != nullptr && pmu->kind == PmuKind::kUncore;
  identity.metric = metric_word(identity.is_uncore ? kind + "_" + name : name);
  if (identity.is_uncore) {
    draft.modifiers = ModifierSupport::kWholePmu;
  } else if (!kind.empty()) {
    identity.labels = {{"pmu", kind}};
  }
  if (pmu == nullptr) return draft;
  const auto used = use_unit_of(*pmu, encoding, name, at, identity);
  if (!used) return used.error();
  return draft;
}

bool are_worth_the_same(const EventIdentity& one, const EventIdentity& other) {
  return one.unit == other.unit && one.scale == other.scale && one.metric == other.metric;
}

Unresolved no_sum(const std::string& name, const Pmu& pmu, TextOffset at) {
  return not_here(at, EINVAL,
                  "PMU '" + pmu.name + "' counts '" + name +
                      "' in another unit than others of its kind, and they have no sum",
                  "write the events of single PMUs, as 'perf_event_exporter list' shows them");
}

std::string remedy_for(const VendorEvent& event, const Error& error) {
  std::vector<std::string> names;
  for (const EventRow& row : generic_events()) names.emplace_back(row.name);
  for (const CacheEvent& cache : cache_events()) names.push_back(cache.name);
  return did_you_mean(event.name, names, error.remedy);
}

}  // namespace

Drafts draft(const Machine& machine, const VendorEvent& event, TextOffset at) {
  const auto encodings = encode_vendor_event(event.name);
  if (!encodings) {
    const Error& error = encodings.error();
    return not_here(at, error.code, error.attempted, remedy_for(event, error));
  }
  const std::size_t colons = event.name.find("::");
  const std::string name = event.name.substr(colons == std::string::npos ? 0 : colons + 2);
  std::vector<std::string> kinds;  // of the drafts
  std::vector<Draft> drafts;
  for (const VendorEncoding& encoding : *encodings) {
    const Pmu* pmu = find_by_type(machine.pmus, encoding.attributes.type);
    const std::string kind = kind_of(pmu, machine.is_hybrid());
    const auto index =
        static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    const bool is_new = index == kinds.size();
    if (!is_new && !drafts[index].spec.identity.is_uncore) {
      continue;  // known to two tables of libpfm4, of the model and of the architecture
    }
    Result<Draft, Unresolved> drafted = draft_of(encoding, pmu, kind, name, at);
    if (!drafted) return drafted.error();
    if (is_new) {
      kinds.push_back(kind);
      drafts.push_back(*std::move(drafted));
    } else if (!are_worth_the_same(drafts[index].spec.identity, drafted->spec.identity)) {
      return no_sum(name, *pmu, at);
    }
    drafts[index].spec.instances.push_back({kind.empty() ? "" : pmu->name, encoding.attributes});
  }
  return drafts;
}

}  // namespace pex::events
