#include "plan/machine/free_counters.h"

#include <string_view>

#include "host/topology.h"
#include "perf/group_trial.h"
#include "plan/cpu_selector.h"
#include "plan/event_trial.h"
#include "plan/probe_cpus.h"

namespace pex::plan {
namespace {

/// Events that PMUs have fixed counters for.
constexpr std::string_view kFixedEvents[] = {"cycles", "instructions", "ref-cycles"};

/// Pinned: takes the counters that unpinned events only borrow, and is refused those that are held.
constexpr perf::GroupMode kPinned{.pinned = true, .exclusive = false};

/// A group that grows as long as it fits on the PMU.
class GrowingGroup {
 public:
  GrowingGroup(perf::PerfKernel& kernel, perf::Place place)
      : kernel_(kernel), place_(std::move(place)) {}

  /// True if the group still fits with `event` added; otherwise the group is unchanged.
  bool add(const perf::CounterSpec& event) {
    events_.push_back(event);
    const perf::Trial trial = try_group(kernel_, events_, place_, kPinned);
    if (trial.outcome == perf::Trial::Outcome::kCounts) return true;
    events_.pop_back();
    return false;
  }

 private:
  perf::PerfKernel& kernel_;
  perf::Place place_;
  std::vector<perf::CounterSpec> events_;
};

}  // namespace

std::optional<FreeCounters> count_free_counters(perf::PerfKernel& kernel,
                                                const events::EventResolver& resolver,
                                                const events::Pmu& core, int cpu) {
  const perf::Place place{cpu, -1, {}};
  const std::optional<perf::CounterSpec> general = general_event(kernel, resolver, core, place);
  if (!general) return {};

  FreeCounters free{.general_event = *general};
  GrowingGroup group{kernel, place};
  while (free.general < kMaxGeneralCounters && group.add(*general)) ++free.general;
  for (const std::string_view name : kFixedEvents) {
    const std::optional<perf::CounterSpec> event = counter_on(resolver, name, core.name);
    if (event && group.add(*event)) ++free.fixed;
  }
  return free;
}

std::map<std::string, FreeCounters> count_free_counters(perf::PerfKernel& kernel,
                                                        const host::HostRoots& roots,
                                                        const std::vector<int>& left_out_cpus) {
  std::map<std::string, FreeCounters> all;
  const Result<std::vector<int>> online = host::online_cpus(roots);
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  if (!online || !resolver) return all;
  const std::vector<int> counted = without(*online, left_out_cpus);
  if (counted.empty()) return all;
  const ProbeCpus cpus{*resolver, counted, left_out_cpus};
  for (const events::Pmu* const core : resolver->pmus().core_pmus()) {
    if (cpus.leave_out(core->name, {})) continue;
    const auto free = count_free_counters(kernel, *resolver, *core, cpus.of(core->name));
    if (free) all.emplace(core->name, *free);
  }
  return all;
}

}  // namespace pex::plan
