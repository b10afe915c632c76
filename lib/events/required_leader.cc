#include "events/required_leader.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <tuple>

namespace pex::events {
namespace {

/// Intel's core PMUs with these rules are registered as PERF_TYPE_RAW: "cpu", and "cpu_core" of a
/// hybrid machine (arch/x86/events/core.c).
constexpr std::uint32_t kRuledType = PERF_TYPE_RAW;
constexpr std::uint64_t kEventAndUmask = 0xffff;  // INTEL_ARCH_EVENT_MASK

/// Source: intel_pmu_hw_config, is_metric_event and is_slots_event, arch/x86/events/intel.
struct Rule {
  std::uint64_t first_member;  ///< umask << 8 | event; in steps of one umask
  std::uint64_t last_member;
  std::uint64_t leader;
  const char* leader_name;  ///< its file in events/ of the PMU
  int refusal;
  bool shares_modes;
};
constexpr Rule kRules[] = {
    // topdown-retiring to topdown-mem-bound. They are read from one register with slots, and all of
    // them are counted in the modes of the one that starts fixed counter 3
    // (intel_pmu_enable_fixed).
    {0x8000, 0x8700, 0x0400, "slots", EINVAL, true},
    // mem-loads, whose counter works only together with the other one. The kernel enforces it for
    // sampling of data sources; for counting nothing keeps the two together.
    {0x01cd, 0x01cd, 0x8203, "mem-loads-aux", ENODATA, false},
};

bool is_member(const Rule& rule, std::uint64_t config) {
  const std::uint64_t code = config & kEventAndUmask;
  return (code & 0xff) == (rule.first_member & 0xff) && code >= rule.first_member &&
         code <= rule.last_member;
}

const Pmu* find_ruled(const PmuCatalogue& pmus) {
  const auto all = pmus.pmus();
  const auto found = std::find_if(all.begin(), all.end(), [](const Pmu& pmu) {
    return pmu.type == kRuledType && pmu.kind == PmuKind::kCore;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::optional<RequiredLeader> required_leader(const PmuCatalogue& pmus,
                                              const perf::EventAttributes& event) {
  if (event.type != kRuledType) return {};
  const Pmu* pmu = find_ruled(pmus);
  for (const Rule& rule : kRules) {
    if (pmu == nullptr || !is_member(rule, event.config) || !pmu->events.contains(rule.leader_name))
      continue;
    perf::EventAttributes leader;
    leader.type = kRuledType;
    leader.config = rule.leader;
    return RequiredLeader{
        {pmu->name + "/" + rule.leader_name + "/", leader}, rule.refusal, rule.shares_modes};
  }
  return {};
}

bool is_leader(const RequiredLeader& leader, const perf::EventAttributes& event) {
  const perf::EventAttributes& needed = leader.counter.attributes;
  return event.type == needed.type && event.config == needed.config;
}

bool is_in_its_modes(const RequiredLeader& needed, const perf::EventAttributes& leader,
                     const perf::EventAttributes& event) {
  const auto modes_of = [](const perf::EventAttributes& each) {
    return std::tuple{each.exclude_user, each.exclude_kernel, each.exclude_host,
                      each.exclude_guest};
  };
  return !needed.shares_modes || modes_of(leader) == modes_of(event);
}

OpeningOrder leaders_first(const PmuCatalogue& pmus, std::span<const perf::CounterSpec> events) {
  OpeningOrder led;
  const auto take = [&](std::size_t event) {
    const bool is_new = std::find(led.order.begin(), led.order.end(), event) == led.order.end();
    if (is_new) led.order.push_back(event);
  };
  const auto find_leader = [&](const RequiredLeader& needed) {
    const auto found = std::find_if(
        events.begin(), events.end(),
        [&](const perf::CounterSpec& event) { return is_leader(needed, event.attributes); });
    return static_cast<std::size_t>(found - events.begin());
  };
  for (const Rule& rule : kRules) {  // slots must be first of all
    for (std::size_t event = 0; event < events.size(); ++event) {
      const auto needed = required_leader(pmus, events[event].attributes);
      if (!needed || needed->counter.attributes.config != rule.leader) continue;
      const std::size_t leader = find_leader(*needed);
      if (leader == events.size()) continue;
      take(leader);
      take(event);
    }
  }
  led.together = std::max<std::size_t>(led.order.size(), 1);
  for (std::size_t event = 0; event < events.size(); ++event) take(event);
  return led;
}

}  // namespace pex::events
