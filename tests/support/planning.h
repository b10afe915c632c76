#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "events/event_resolver.h"
#include "host/topology.h"
#include "plan/plan.h"
#include "support/scripted_kernel.h"

namespace pex::test {

/// A machine of tests/unit/events/machines; "" is one that has nothing but the kernel's own events.
/// All have cgroups.
inline host::HostRoots machine(const std::string& name) {
  const std::string machines = PEX_SOURCE_DIR "/tests/unit/events/machines/";
  return {name.empty() ? "/nonexistent" : machines + name + "/sys", "/nonexistent",
          machines + "cgroup"};
}

/// A plan, or why there is none: then the rest is empty.
struct PlanOrErrors : plan::Plan {
  std::vector<yaml::Diagnostic> errors;
};

inline PlanOrErrors plan_of(const config::Config& config, const host::HostRoots& roots,
                            perf::PerfKernel& kernel, const plan::Plan* in_force = nullptr) {
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  const Result<std::vector<int>> online = host::online_cpus(roots);
  const plan::Machine machine{*resolver, kernel, online ? *online : std::vector{0}};
  Result<plan::Plan, std::vector<yaml::Diagnostic>> plan =
      plan::make_plan(config, machine, in_force);
  if (!plan) return {{}, std::move(plan.error())};
  return {std::move(*plan), {}};
}

/// Of a configuration "c.yaml" whose second line is the first one of `groups`.
inline PlanOrErrors plan_on(const host::HostRoots& roots, const std::string& groups,
                            perf::PerfKernel& kernel, const plan::Plan* in_force = nullptr) {
  config::Loaded loaded = config::load_text("groups:\n" + groups, "c.yaml");
  if (loaded.diagnostics.has_errors()) return {{}, loaded.diagnostics.errors()};
  return plan_of(loaded.config, roots, kernel, in_force);
}
inline PlanOrErrors plan_on(const std::string& machine_name, const std::string& groups,
                            perf::PerfKernel& kernel, const plan::Plan* in_force = nullptr) {
  return plan_on(machine(machine_name), groups, kernel, in_force);
}

/// The same with a kernel that refuses nothing.
inline PlanOrErrors plan_on(const std::string& machine_name, const std::string& groups) {
  ScriptedKernel kernel{machine("").cgroupfs};
  return plan_on(machine_name, groups, kernel);
}

/// One group "core" of scope cpu, perhaps with more keys.
inline std::string group_of(const std::string& events, const std::string& keys = {}) {
  return "  - {name: core, scope: cpu, events: [" + events + "]" + (keys.empty() ? "" : ", ") +
         keys + "}\n";
}

/// "core on cpu_atom: cycles, instructions": those that are published, without their auxiliary.
inline std::vector<std::string> groups_of(const collect::ScopePlan& plan) {
  std::vector<std::string> groups;
  for (const collect::GroupPlan& group : plan.groups) {
    if (!group.is_published) continue;
    std::string text = group.name + (group.pmu.empty() ? "" : " on " + group.pmu) + ":";
    for (const perf::CounterSpec& event : std::span(group.events).first(group.estimated())) {
      text += (text.ends_with(':') ? " " : ", ") + event.name;
    }
    groups.push_back(text);
  }
  return groups;
}

/// "cycles pmu=cpu_atom by cpu: 0.0 + 1.2": the events of the published groups that it is the sum
/// of.
inline std::vector<std::string> columns_of(const collect::ScopePlan& plan) {
  static constexpr const char* kAggregations[] = {"cpu",     "core",      "die",
                                                  "package", "numa_node", "host"};
  const auto first = std::find_if(plan.groups.begin(), plan.groups.end(),
                                  [](const auto& group) { return group.is_published; });
  const auto auxiliary = static_cast<std::size_t>(first - plan.groups.begin());
  std::vector<std::string> columns;
  for (const collect::PublishedEvent& column : plan.columns) {
    std::string text = column.event.name;
    for (const auto& [name, value] : column.event.labels) text += " " + name + "=" + value;
    text += std::string(" by ") + kAggregations[static_cast<std::size_t>(column.aggregation)] + ":";
    for (const auto& [group, event] : column.parts) {
      text += (text.ends_with(':') ? " " : " + ") + std::to_string(group - auxiliary) + "." +
              std::to_string(event);
    }
    columns.push_back(text);
  }
  return columns;
}

/// One line for each error.
inline std::vector<std::string> errors_of(const PlanOrErrors& plan) {
  std::vector<std::string> errors;
  for (const yaml::Diagnostic& error : plan.errors) errors.push_back(describe(error));
  return errors;
}

}  // namespace pex::test
