#include "bench/support/synthetic_snapshot.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/boot_clock.h"

namespace pex::bench {
namespace {

constexpr std::size_t kEventsOfAGroup = 10;
constexpr std::uint64_t kSeed = 20261121;

std::string hex(std::mt19937_64& random, std::size_t digits) {
  std::string text;
  while (text.size() < digits) text += "0123456789abcdef"[random() % 16];
  return text;
}

collect::CgroupTarget container(std::size_t number, std::mt19937_64& random) {
  collect::CgroupTarget target;
  const std::string pod = hex(random, 8) + "_" + hex(random, 4) + "_" + hex(random, 4) + "_" +
                          hex(random, 4) + "_" + hex(random, 12);
  const std::string id = hex(random, 64);
  target.series = number + 1;
  target.path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + pod +
                ".slice/cri-containerd-" + id + ".scope";
  target.description = std::make_shared<const cgroup::Description>(
      cgroup::Description{{{"container_id", id}, {"pod_uid", pod}},
                          {{"qos_class", "burstable"}, {"runtime", "containerd"}},
                          id});
  return target;
}

collect::ScopePlan plan_of(std::size_t events) {
  collect::ScopePlan plan;
  for (std::size_t event = 0; event < events; ++event) {
    if (event % kEventsOfAGroup == 0) {
      plan.groups.emplace_back().name = "group" + std::to_string(plan.groups.size());
    }
    plan.groups.back().events.emplace_back();
    collect::PublishedEvent& column = plan.columns.emplace_back();
    column.event.name = "synthetic-event-" + std::to_string(event);
    column.event.metric = "synthetic_event_" + std::to_string(event);
    column.event.help = "Something that happens.";
    column.parts = {{plan.groups.size() - 1, event % kEventsOfAGroup}};
  }
  return plan;
}

collect::GroupTable table_of(const collect::GroupPlan& group, std::size_t rows,
                             std::mt19937_64& random) {
  collect::GroupTable table;
  table.events = group.events.size();
  const std::chrono::nanoseconds running{1'234'567'890'123};
  table.rows.assign(rows, {collect::GroupRow::Value::kKnown, true, {running, running}});
  table.reference_weights.resize(table.events);
  for (std::size_t i = 0; i < rows * table.events; ++i) {
    const std::uint64_t magnitude = i % 2 == 0 ? 1'000'000'000 : 10'000'000'000'000;
    table.totals.push_back({.value = random() % magnitude});
  }
  return table;
}

}  // namespace

collect::Snapshot synthetic_snapshot(const Shape& shape) {
  std::mt19937_64 random{kSeed};
  collect::CountingPlan plan;
  plan.cgroup = plan_of(shape.events);
  plan.cgroup_per_cpu = shape.cpus > 0;
  collect::TargetSet targets;
  collect::Snapshot snapshot;
  for (std::size_t target = 0; target < shape.cgroups; ++target) {
    targets.cgroups.push_back(container(target, random));
    if (shape.cpus == 0) snapshot.cgroup_rows.push_back({target, {}});
    for (std::size_t cpu = 0; cpu < shape.cpus; ++cpu) {
      snapshot.cgroup_rows.push_back({target, static_cast<int>(cpu)});
    }
  }
  targets.present = shape.cgroups;
  for (const collect::GroupPlan& group : plan.cgroup.groups) {
    snapshot.cgroup.push_back(table_of(group, shape.rows(), random));
  }
  snapshot.taken = BootClock::now();
  snapshot.targets = std::make_shared<const collect::TargetSet>(std::move(targets));
  continue_plan({}, plan);
  snapshot.plan = std::make_shared<const collect::CountingPlan>(std::move(plan));
  return snapshot;
}

}  // namespace pex::bench
