#include "daemon/commands/stat_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "events/event_resolver.h"
#include "host/topology.h"
#include "plan/load_plan.h"

namespace pex::daemon {
namespace {

/// Each -e is what the `events` of a group are.
std::vector<config::Group> groups_of(const std::vector<std::string>& events) {
  std::vector<config::Group> groups;
  for (const std::string& text : events) {
    config::Group group;
    group.name = std::to_string(groups.size() + 1);
    group.events.emplace_back().spelling = text;
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<config::Group>, StatFailure> configured_groups(const Options& options,
                                                                  config::Guests& guests) {
  Result<config::Loaded> loaded = plan::load_config(options.config_file, options.unknown_keys);
  if (!loaded) return StatFailure{{loaded.error()}};
  if (loaded->diagnostics.has_errors()) {
    return StatFailure{yaml::errors_of(loaded->diagnostics.errors())};
  }
  guests = loaded->config.guests;
  std::vector<config::Group> groups = std::move(loaded->config.groups);
  std::erase_if(groups, [](const config::Group& group) { return !group.cgroup_scope; });
  if (!groups.empty()) return groups;
  return StatFailure{
      {Error{0, name_of_config(options) + " counts nothing by cgroup", "name the events with -e"}}};
}

/// The core PMUs that are not on all CPUs: those of a hybrid machine.
std::map<std::string, std::vector<int>> partial_pmus(const events::PmuCatalogue& pmus,
                                                     const std::vector<int>& online) {
  std::map<std::string, std::vector<int>> partial;
  const std::vector<const events::Pmu*> cores = pmus.core_pmus();
  if (cores.size() < 2) return partial;
  for (const events::Pmu* pmu : cores) {
    std::vector<int> cpus;
    std::set_intersection(pmu->cpus.begin(), pmu->cpus.end(), online.begin(), online.end(),
                          std::back_inserter(cpus));
    if (!cpus.empty()) partial[pmu->name] = std::move(cpus);
  }
  return partial;
}

}  // namespace

Result<StatPlan, StatFailure> plan_stat(const Options& options, perf::PerfKernel& kernel) {
  const bool is_asked = !options.stat_events.empty();
  config::Guests guests = config::Guests::kAuto;
  Result<std::vector<config::Group>, StatFailure> groups =
      is_asked ? groups_of(options.stat_events) : configured_groups(options, guests);
  if (!groups) return groups.error();
  const Result<std::vector<int>> online = host::online_cpus(options.roots);
  if (!online) return StatFailure{{online.error()}};
  const Result<events::EventResolver> resolver = plan::resolver_for(options.roots, guests);
  if (!resolver) return StatFailure{{resolver.error()}};
  plan::Machine machine{*resolver, kernel, *online, plan::LeftOutCpus{}};
  machine.counts_tasks = true;
  machine.may_leave_out_guests = guests != config::Guests::kCount;
  Result<plan::TaskPlan, std::vector<yaml::Diagnostic>> plan =
      plan::plan_tasks(*std::move(groups), machine);
  if (!plan) return StatFailure{yaml::errors_of(plan.error()), is_asked ? kUsage : kFailed};
  StatGroups layout{*plan, partial_pmus(resolver->pmus(), *online)};
  return StatPlan{*std::move(plan), std::move(layout)};
}

}  // namespace pex::daemon
