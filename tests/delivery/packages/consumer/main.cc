// Counts two software events on every CPU for a moment, as the daemon does, and prints what a
// registry of prometheus-cpp makes of the totals.
#include <prometheus/text_serializer.h>

#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <vector>

#include "config/load.h"
#include "count/collector.h"
#include "count/counter_sources.h"
#include "exposition/collectable.h"
#include "perf/linux_perf_kernel.h"
#include "plan/load_plan.h"

namespace {

using namespace pex;

constexpr const char* kConfiguration =
    "groups: [{name: consumer, events: ['task-clock,context-switches'], scope: cpu}]\n";

struct Polled {
  collect::PollReport report;
  std::shared_ptr<const collect::Snapshot> snapshot;
};

Polled poll(collect::Collector& collector) {
  std::promise<Polled> polled;
  collector.poll([&](collect::PollReport report, auto snapshot) {
    polled.set_value({std::move(report), std::move(snapshot)});
  });
  return polled.get_future().get();
}

void work() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
  while (std::chrono::steady_clock::now() < end) {
  }
}

int fail(const std::vector<Error>& errors) {
  for (const Error& error : errors) std::cerr << describe(error) << '\n';
  return 1;
}

}  // namespace

int main() {
  config::Loaded loaded = config::load_text(kConfiguration, "consumer");
  if (loaded.diagnostics.has_errors()) return fail(yaml::errors_of(loaded.diagnostics.errors()));
  const host::HostRoots roots;
  perf::LinuxPerfKernel kernel;
  const auto planned = plan::plan_for_machine(std::move(loaded.config), roots, kernel);
  if (!planned) return fail(yaml::errors_of(planned.error()));
  const auto collector = collect::Collector::create(
      collect::descriptor_sources(kernel),
      plan::track_targets(*planned, roots, {}, collect::descriptor_cost), {});
  if (!collector) return fail({collector.error()});

  (void)poll(**collector);  // opens the counters
  work();
  const Polled polled = poll(**collector);
  for (const auto& [cause, failure] : polled.report.failures) fail({failure.first});

  const exposition::SnapshotCollectable collectable{[&] { return polled.snapshot; }};
  prometheus::TextSerializer{}.Serialize(std::cout, collectable.Collect());
  return polled.report.failures.empty() ? 0 : 1;
}
