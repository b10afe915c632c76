#include "daemon/run/readiness.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "exposition/self_families.h"

namespace pex::daemon {
namespace {

/// The targets of published groups.
struct Targets {
  std::size_t groups = 0;
  std::size_t wanted = 0;
  std::size_t counted = 0;
};

void add(const collect::ScopePlan& plan, std::span<const collect::GroupTable> tables,
         Targets& targets) {
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    if (!plan.groups[i].is_published) continue;
    ++targets.groups;
    for (const collect::GroupRow& row : tables[i].rows) {
      targets.wanted += row.wanted_on;
      targets.counted += row.counted_on;
    }
  }
}

}  // namespace

std::string_view why_not_ready(const collect::Snapshot* snapshot, bool needs_events) {
  if (snapshot == nullptr) return "the first poll is not complete";
  if (!needs_events) return {};
  Targets targets;
  add(snapshot->plan->cpu, snapshot->cpu, targets);
  add(snapshot->plan->cgroup, snapshot->cgroup, targets);
  if (targets.groups == 0) return "this machine can count none of the configured events";
  if (targets.wanted > 0 && targets.counted == 0) return "no configured event is counted anywhere";
  return {};
}

std::vector<prometheus::MetricFamily> Counting::Collect() const {
  const collect::Snapshot* const snapshot = polls_.snapshot().get();
  if (snapshot == nullptr) return {};
  const std::vector<Reduction> reductions = reductions_();
  const bool counts = why_not_ready(snapshot, true).empty() &&
                      std::ranges::none_of(reductions, [](const Reduction& each) {
                        return each.to == Counted::kNothing;
                      });
  std::vector<prometheus::MetricFamily> families = {exposition::collected(
      exposition::self_family("perf_event_exporter_counting"), counts ? 1 : 0)};
  if (reductions.empty()) return families;
  families.push_back(
      exposition::collected(exposition::self_family("perf_event_exporter_reduced_info")));
  for (const auto& [to, reason] : reductions) {
    exposition::add_sample(families.back(),
                           {{"counted", name_of(to)}, {"reason", std::string(reason)}}, 1);
  }
  return families;
}

}  // namespace pex::daemon
