#include "events/core_pmu.h"

#include <linux/perf_event.h>

#include <utility>

#include "events/event_table.h"

namespace pex::events {
namespace {

constexpr unsigned kPmuTypeShift = 32;  // PERF_PMU_TYPE_SHIFT, since Linux 5.13

}  // namespace

std::optional<CoreEvent> find_core_event(std::string_view name) {
  const GenericEvent* generic = find_generic_event(name);
  if (generic != nullptr && generic->type == PERF_TYPE_HARDWARE) {
    return CoreEvent{generic->type, generic->config};
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

bool is_decided_by_cpu(const perf::EventAttributes& attributes) {
  const bool is_generic =
      attributes.type == PERF_TYPE_HARDWARE || attributes.type == PERF_TYPE_HW_CACHE;
  return is_generic && attributes.config >> kPmuTypeShift == 0;
}

std::vector<Resolution> counted_by_core_pmus(const Machine& machine, const CoreEvent& event,
                                             std::string metric, std::string_view help) {
  EventIdentity identity;
  identity.metric = std::move(metric);
  identity.help = help;
  if (!machine.is_hybrid()) {
    const std::vector<const Pmu*> core = machine.pmus.core_pmus();
    Pmu any;
    any.type = event.type;
    const Pmu& pmu = core.empty() ? any : *core.front();
    return {Resolution{{identity, {{machine.where_it_counts(pmu), attributes_on(pmu, event)}}},
                       ModifierSupport::kAll}};
  }
  std::vector<Resolution> resolutions;
  for (const Pmu* pmu : machine.pmus.core_pmus()) {
    Resolution resolution{{identity, {{pmu->name, attributes_on(*pmu, event)}}},
                          ModifierSupport::kAll};
    resolution.spec.identity.labels.emplace_back("pmu", pmu->name);
    resolutions.push_back(std::move(resolution));
  }
  return resolutions;
}

}  // namespace pex::events
