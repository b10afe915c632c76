#include <linux/perf_event.h>

#include <algorithm>

#include "events/event_draft.h"
#include "events/event_names.h"
#include "events/event_table.h"

// The generic events of the kernel, and raw numbers: what each core PMU counts in its own way.

namespace pex::events {
namespace {

constexpr unsigned kPmuTypeShift = 32;  // PERF_PMU_TYPE_SHIFT, since Linux 5.13

/// One draft, or on a hybrid machine one for each core PMU.
std::vector<Draft> on_core_pmus(const Machine& machine, const CoreEvent& event,
                                const EventIdentity& identity) {
  if (!machine.is_hybrid()) {
    perf::EventAttributes attributes;
    attributes.type = event.type;
    attributes.config = event.config;
    return {Draft{{identity, {{"", attributes}}}, ModifierSupport::kAll}};
  }
  std::vector<Draft> drafts;
  for (const Pmu* pmu : machine.pmus.core_pmus()) {
    Draft draft{{identity, {{pmu->name, attributes_on(*pmu, event)}}}, ModifierSupport::kAll};
    draft.spec.identity.labels.emplace_back("pmu", pmu->name);
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

EventIdentity identity_of(std::string metric, std::string_view help) {
  EventIdentity identity;
  identity.metric = std::move(metric);
  identity.help = help;
  return identity;
}

const EventRow* find_row(std::string_view name) {
  for (const EventRow& row : generic_events()) {
    if (name == row.name || (!row.alias.empty() && name == row.alias)) return &row;
  }
  return nullptr;
}

const CacheEvent* find_cache_event(std::string_view name) {
  const auto& events = cache_events();
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const CacheEvent& event) { return name == event.name; });
  return found == events.end() ? nullptr : &*found;
}

ModifierSupport support_of(Filter filter) {
  switch (filter) {
    case Filter::kHonoured:
      return ModifierSupport::kUserKernel;
    case Filter::kIgnored:
      return ModifierSupport::kIgnored;
    case Filter::kAlwaysKernel:
      return ModifierSupport::kAlwaysKernel;
  }
  return ModifierSupport::kIgnored;
}

std::vector<Draft> draft_software(const EventRow& row) {
  EventIdentity identity = identity_of(std::string(row.metric), row.help);
  identity.unit = row.unit;
  if (row.unit == Unit::kSeconds) identity.scale = 1e-9;
  perf::EventAttributes attributes;
  attributes.type = row.type;
  attributes.config = row.config;
  return {Draft{{identity, {{"", attributes}}}, support_of(row.filter)}};
}

std::vector<std::string> names_without_pmu(const PmuCatalogue& pmus) {
  std::vector<std::string> names;
  for (const EventRow& row : generic_events()) {
    names.emplace_back(row.name);
    if (!row.alias.empty()) names.emplace_back(row.alias);
  }
  for (const CacheEvent& event : cache_events()) names.push_back(event.name);
  for (const Pmu* pmu : pmus.core_pmus()) {
    for (const auto& [name, event] : pmu->events) names.push_back(name);
  }
  return names;
}

Unresolved unknown_event(const PmuCatalogue& pmus, const std::string& name, TextOffset at) {
  std::string remedy =
      "see 'perf_event_exporter list'; an event of one PMU is written pmu/" + name + "/";
  for (const Pmu& pmu : pmus.pmus()) {
    if (!pmu.events.contains(name)) continue;
    remedy = "write '" + std::string(without_number(pmu.name)) + "/" + name + "/'";
    break;
  }
  return mistake(at, "there is no event '" + name + "'",
                 did_you_mean(name, names_without_pmu(pmus), remedy));
}

}  // namespace

std::string canonical_name(std::string_view name) {
  const EventRow* row = find_row(name);
  return std::string(row != nullptr ? row->name : name);
}

std::optional<CoreEvent> find_core_event(std::string_view name) {
  if (const EventRow* row = find_row(name); row != nullptr && row->type == PERF_TYPE_HARDWARE) {
    return CoreEvent{row->type, row->config};
  }
  if (const CacheEvent* cache = find_cache_event(name)) {
    return CoreEvent{PERF_TYPE_HW_CACHE, cache->config};
  }
  return {};
}

perf::EventAttributes attributes_on(const Pmu& pmu, const CoreEvent& event) {
  perf::EventAttributes attributes;
  attributes.type = event.type == PERF_TYPE_RAW ? pmu.type : event.type;
  attributes.config = event.config;
  const bool is_hybrid_x86 = pmu.name.starts_with("cpu_");
  if (event.type != PERF_TYPE_RAW && is_hybrid_x86) {
    attributes.config |= std::uint64_t{pmu.type} << kPmuTypeShift;
  }
  return attributes;
}

Drafts draft(const Machine& machine, const NamedEvent& event, TextOffset at) {
  const std::string& name = event.name;
  if (const EventRow* row = find_row(name)) {
    if (row->type == PERF_TYPE_SOFTWARE) return draft_software(*row);
    return on_core_pmus(machine, {row->type, row->config},
                        identity_of(std::string(row->metric), row->help));
  }
  if (const CacheEvent* cache = find_cache_event(name)) {
    return on_core_pmus(machine, {PERF_TYPE_HW_CACHE, cache->config},
                        identity_of(metric_word(name), cache->help));
  }
  std::vector<const Pmu*> knowing = machine.pmus.core_pmus();
  std::erase_if(knowing, [&](const Pmu* pmu) { return !pmu->events.contains(name); });
  if (knowing.empty()) return unknown_event(machine.pmus, name, at);
  return draft_on(machine, knowing, PmuEvent{{}, {Term{name, {}, at}}, {}}, at);
}

Drafts draft(const Machine& machine, const RawEvent& event, TextOffset) {
  const std::string number = hexadecimal(event.config);
  return on_core_pmus(machine, {PERF_TYPE_RAW, event.config},
                      identity_of("r" + number.substr(2), "Event " + number + " of the core PMU."));
}

}  // namespace pex::events
