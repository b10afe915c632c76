// Counts two software events on every CPU for a moment, as the daemon does, and prints what a
// registry of prometheus-cpp makes of the totals.
#include <prometheus/text_serializer.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "collect/poll_cycle.h"
#include "collect/snapshot.h"
#include "collect/targets.h"
#include "events/event_resolver.h"
#include "exposition/collectable.h"
#include "perf/linux_perf_kernel.h"

namespace {

using namespace pex;

/// One group of events on every CPU, each published under its own name. Empty when this machine
/// does not know one of them.
collect::ScopePlan plan_of(const std::string& spellings) {
  const auto resolver = events::EventResolver::create({});
  const auto parsed = events::parse_events(spellings);
  if (!resolver || !parsed) return {};
  collect::ScopePlan plan;
  collect::GroupPlan group{.name = "consumer", .pmu = {}, .events = {}};
  for (const events::ParsedEvent& event : parsed->events) {
    const auto specs = resolver->resolve(event);
    if (!specs) return {};
    const events::EventSpec& spec = specs->front();
    plan.columns.push_back({spec.identity, Aggregation::kCpu, {{0, group.events.size()}}});
    group.events.push_back({spec.identity.name, spec.instances.front().attributes});
  }
  plan.groups.push_back(std::move(group));
  return plan;
}

void work() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main() {
  collect::CountingPlan counting;
  counting.cpu = plan_of("task-clock,context-switches");
  const auto plan = std::make_shared<const collect::CountingPlan>(std::move(counting));
  collect::TargetTracker tracker{{}, plan, {}, {}};
  collect::PollReport report;
  const auto targets = tracker.update(std::chrono::steady_clock::now(), report);

  perf::LinuxPerfKernel kernel;
  const collect::EventModels models{*plan};
  std::vector<std::unique_ptr<collect::PollCycle>> cycles;
  for (const int cpu : targets->cpus->online) {
    cycles.push_back(std::make_unique<collect::PollCycle>(kernel, plan, cpu));
    report.merge(cycles.back()->run(targets, models));  // opens
  }
  work();
  for (const auto& cycle : cycles) report.merge(cycle->run(targets, models));
  for (const auto& [cause, failure] : report.failures) {
    std::cerr << describe(failure.first) << '\n';
  }

  std::vector<collect::CpuTotals> totals;
  for (const auto& cycle : cycles) totals.emplace_back(*plan, cycle->cpu()).copy(*cycle, *targets);
  std::vector<const collect::CpuTotals*> parts;
  for (const collect::CpuTotals& each : totals) parts.push_back(&each);
  const auto snapshot =
      std::make_shared<const collect::Snapshot>(collect::join(plan, targets, models, parts));
  const exposition::SnapshotCollectable collectable{[&] { return snapshot; }};
  prometheus::TextSerializer{}.Serialize(std::cout, collectable.Collect());
  return report.failures.empty() ? 0 : 1;
}
