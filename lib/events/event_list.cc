#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "events/event_resolver.h"
#include "events/event_table.h"
#include "events/vendor_events.h"
#include "host/tracing.h"

namespace pex::events {
namespace {

using Listed = std::vector<ListedEvent>;
using Kind = ListedEvent::Kind;

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr KindName kKindNames[] = {
    {Kind::kHardware, "hardware"}, {Kind::kSoftware, "software"},     {Kind::kCache, "cache"},
    {Kind::kPmu, "pmu"},           {Kind::kTracepoint, "tracepoint"}, {Kind::kVendor, "vendor"},
};

void list_generic(std::uint32_t type, Kind kind, Listed& listed) {
  for (const EventRow& row : generic_events()) {
    if (row.type != type) continue;
    listed.push_back({kind, std::string(row.name), {}, std::string(row.help)});
  }
}

void list_caches(Listed& listed) {
  for (const CacheEvent& event : cache_events()) {
    listed.push_back({Kind::kCache, event.name, {}, event.help});
  }
}

/// "pmu/name/"; with what its '?' leave to choose, "pmu/name,chip=0x0/".
std::string spelling_of(const std::string& pmu, const std::string& name,
                        const PmuNamedEvent& event) {
  std::string text = pmu;
  text.append("/").append(name);
  for (const std::string_view term : split(event.terms, ',')) {
    if (!term.ends_with("=?")) continue;
    text.append(",").append(term.substr(0, term.size() - 1)).append("0x0");
  }
  return text.append("/");
}

std::string help_of(const PmuNamedEvent& event) {
  const bool leaves_values = event.terms.find("=?") != std::string::npos;
  return "Short for " + event.terms + (event.unit.empty() ? "" : ", in " + event.unit) +
         (leaves_values ? "; put your values in place of 0x0." : ".");
}

std::string_view kind_of(const Pmu& pmu) {
  return pmu.kind == PmuKind::kCore ? std::string_view(pmu.name) : without_number(pmu.name);
}

/// True when one spelling means all PMUs of the kind; else their sum is refused.
bool all_of_kind_have(const PmuCatalogue& pmus, std::string_view kind, const std::string& name,
                      const PmuNamedEvent& event) {
  return std::all_of(pmus.pmus().begin(), pmus.pmus().end(), [&](const Pmu& pmu) {
    if (kind_of(pmu) != kind) return true;
    const auto own = pmu.events.find(name);
    return own != pmu.events.end() && own->second.unit == event.unit &&
           own->second.scale == event.scale;
  });
}

void list_pmus(const PmuCatalogue& pmus, Listed& listed) {
  std::set<std::string> seen;
  for (const Pmu& pmu : pmus.pmus()) {
    const std::string_view kind = kind_of(pmu);
    for (const auto& [name, event] : pmu.events) {
      const std::string who(all_of_kind_have(pmus, kind, name, event) ? kind : pmu.name);
      const std::string spelling = spelling_of(who, name, event);
      if (event.is_snapshot || !seen.insert(spelling).second) continue;
      listed.push_back({Kind::kPmu, spelling, who, help_of(event)});
    }
  }
}

void list_traced(const host::HostRoots& roots, Listed& listed) {
  const auto names = host::list_tracepoints(roots);
  if (!names) return;  // `doctor` tells why
  for (const std::string& name : *names) {
    listed.push_back({Kind::kTracepoint, name, {}, "Hits of the tracepoint " + name + "."});
  }
}

void list_vendor(Listed& listed) {
  for (VendorName& event : list_vendor_events()) {
    listed.push_back(
        {Kind::kVendor, std::move(event.name), std::move(event.pmu), std::move(event.help)});
  }
}

}  // namespace

std::string_view name_of(ListedEvent::Kind kind) {
  const auto row = std::find_if(std::begin(kKindNames), std::end(kKindNames),
                                [kind](const KindName& known) { return known.kind == kind; });
  return row->name;  // each kind has one
}

std::vector<ListedEvent> list_events(const EventResolver& resolver) {
  Listed listed;
  list_generic(PERF_TYPE_HARDWARE, Kind::kHardware, listed);
  list_generic(PERF_TYPE_SOFTWARE, Kind::kSoftware, listed);
  list_caches(listed);
  list_pmus(resolver.pmus(), listed);
  list_traced(resolver.roots(), listed);
  if (!resolver.pmus().core_pmus().empty()) list_vendor(listed);
  return listed;
}

}  // namespace pex::events
