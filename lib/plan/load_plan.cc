#include "plan/load_plan.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "cgroup/inventory.h"
#include "cgroup/tree.h"
#include "cgroup/use/cpu_use.h"
#include "config/default_config.h"
#include "count/descriptor_source.h"
#include "host/cpu_list.h"
#include "host/memory.h"
#include "host/self_process.h"
#include "host/topology.h"
#include "host/trusted_path.h"
#include "plan/cgroup_tree.h"
#include "plan/condition.h"
#include "records/record_cost.h"
#include "records/record_source.h"

namespace pex::plan {
namespace {

constexpr const char* kEmbeddedName = "embedded default";

/// Groups that lack a part of an uncore PMU, as a CPU that reads it is excluded.
void warn_of_unread(const collect::MachineCpus& cpus, const collect::CountingPlan& plan,
                    std::vector<Error>& warnings) {
  for (const collect::GroupPlan& group : plan.cpu.groups) {
    const std::vector<int> unread = cpus.unread_on(group.pmu, group.left_out_cpus);
    if (unread.empty()) continue;
    warnings.push_back({0,
                        "group '" + group.name + "' lacks what PMU '" + group.pmu +
                            "' would read on the excluded CPUs " + host::format_cpu_list(unread) +
                            ": sums that contain it have no value",
                        {}});
  }
}

/// Adds labels beyond the path of a cgroup.
cgroup::Describer describer_of(const LoadedPlan& planned) {
  const config::Kubernetes& kubernetes = planned.config.kubernetes;
  std::optional<cgroup::LogLinks> pods;
  if (kubernetes.metadata == config::PodMetadata::kLogLinks) pods.emplace(kubernetes.log_links);
  const std::vector<std::string>& paths = planned.config.cgroups.container_names;
  const bool are_default = paths == config::Cgroups{}.container_names;
  std::vector<cgroup::ContainerNames::Source> sources;
  for (const std::string& path : paths) sources.push_back({path, are_default});
  std::optional<cgroup::ContainerNames> containers;
  if (!sources.empty()) containers.emplace(std::move(sources));
  return cgroup::Describer{planned.plan.cgroups.labels, std::move(pods), std::move(containers),
                           planned.config.limits.label_length};
}

bool has_filter(const config::Config& config) {
  return std::any_of(config.groups.begin(), config.groups.end(), [](const config::Group& group) {
    return std::any_of(group.events.begin(), group.events.end(),
                       [](const config::EventEntry& event) { return event.filter.has_value(); });
  });
}

/// By a filter, a count shows the arguments of the system calls of other users.
bool may_have_filters(const std::string& file) {
  return !host::has_rights_by_its_file() ||
         host::is_trusted_path(std::filesystem::absolute(file).string());
}

Error filters_refused(const std::string& file) {
  return {EPERM,
          "filter events: others than root can change '" + file +
              "', and this program has a capability by its file",
          "remove 'filter', or let root alone write the file and the directories above it"};
}

using PlanResult = Result<LoadedPlan, std::vector<yaml::Diagnostic>>;

/// Errors of its form are reported with errors of its names, and prevent trials.
PlanResult plan_loaded(config::Loaded loaded, const host::HostRoots& roots,
                       perf::PerfKernel& kernel, const Plan* in_force, const Supervision& by) {
  config::Config& config = loaded.config;
  yaml::Diagnostics& diagnostics = loaded.diagnostics;
  const Result<std::vector<int>> online = host::online_cpus(roots);
  if (!online) diagnostics.add(yaml::diagnostic_of(online.error()));
  const Result<events::EventResolver> resolver = resolver_for(roots, config.guests);
  if (!resolver) diagnostics.add(yaml::diagnostic_of(resolver.error()));
  if (!online || !resolver) return diagnostics.errors();

  const Machine whole{*resolver, kernel, *online};
  const auto is_counted = [&](const config::Group& group) { return !unmet(group.when, whole); };
  const auto left_out = select_cpus(config, roots, *online, is_counted);
  if (!left_out) diagnostics.add_all(left_out.error());
  Machine machine{*resolver, kernel, *online, left_out ? *left_out : LeftOutCpus{}};
  machine.max_open_events =
      collect::Budget::open_events_for(host::total_memory(roots), host::memory_limit(roots));
  if (diagnostics.has_errors()) {
    diagnostics.add_all(check_names(config, machine));
    return diagnostics.errors();
  }
  machine.counted = !config.enabled ? Counted::kNothing
                    : by.allow      ? by.allow(loaded)
                                    : Counted::kAll;
  machine.trying = by.trying;
  machine.may_leave_out_guests = config.guests != config::Guests::kCount;
  Result<Plan, std::vector<yaml::Diagnostic>> plan = make_plan(config, machine, in_force);
  if (!plan) return plan.error();

  std::vector<Error> failures;
  const collect::CountingPlan& counting = plan->counting;
  collect::CpuTracker tracker{roots, collect::pmus_of(counting), counting.left_out_cpus};
  std::shared_ptr<const collect::MachineCpus> cpus = tracker.update(failures);
  for (const Error& failure : failures) diagnostics.add(yaml::diagnostic_of(failure));
  if (diagnostics.has_errors()) return diagnostics.errors();
  warn_of_unread(*cpus, counting, plan->warnings);
  return LoadedPlan{std::move(config), std::move(*plan), std::move(cpus)};
}

}  // namespace

Result<events::EventResolver> resolver_for(const host::HostRoots& roots, config::Guests guests) {
  if (guests == config::Guests::kAuto) return events::EventResolver::create(roots);
  return events::EventResolver::create(roots, guests == config::Guests::kCount);
}

PlanResult plan_for_machine(config::Config config, const host::HostRoots& roots,
                            perf::PerfKernel& kernel, const Plan* in_force, const Supervision& by) {
  return plan_loaded({std::move(config), {}}, roots, kernel, in_force, by);
}

Result<config::Loaded> load_config(const std::string& file, config::UnknownKeys unknown) {
  if (!file.empty()) return config::load_file(file, unknown);
  return config::load_text(config::kDefaultConfig, kEmbeddedName);
}

PlanResult load_and_plan(const std::string& file, const host::HostRoots& roots,
                         perf::PerfKernel& kernel, const Plan* in_force,
                         config::UnknownKeys unknown, const Supervision& by) {
  Result<config::Loaded> loaded = load_config(file, unknown);
  if (!loaded) return std::vector{yaml::diagnostic_of(loaded.error())};
  if (has_filter(loaded->config) && !may_have_filters(file)) {
    loaded->diagnostics.add(yaml::diagnostic_of(filters_refused(file)));
  }
  return plan_loaded(std::move(*loaded), roots, kernel, in_force, by);
}

namespace {

/// With fewer cgroups there are few descriptors, and records would take a buffer on each CPU all
/// the same. A switch costs no more by records, however few are counted (docs/cost.md).
constexpr std::size_t kMinCgroupsForRecords = 4;

cgroup::IdleCgroups::CpuTime cpu_time_of(const cgroup::Hierarchy& hierarchy) {
  return [hierarchy](const std::string& path) -> std::optional<std::chrono::nanoseconds> {
    const std::optional<std::uint64_t> use = cgroup::cpu_use(hierarchy, path);
    if (!use) return {};
    return std::chrono::microseconds{*use};
  };
}

cgroup::UncountedUse::Children children_in(const std::string& mount) {
  return [mount](const std::string& path, std::size_t most) {
    std::vector<std::string> paths;
    const auto children = cgroup::child_directories(mount + path, {}, most);
    if (!children) return paths;
    for (const cgroup::ChildDirectory& child : *children) paths.push_back(path + "/" + child.name);
    std::sort(paths.begin(), paths.end());
    return paths;
  };
}

}  // namespace

cgroup::UncountedUse uncounted_use(const cgroup::Hierarchy& hierarchy) {
  return {cpu_time_of(hierarchy), children_in(hierarchy.mount)};
}

bool may_use_records(const LoadedPlan& planned) {
  return planned.config.cgroups.source != config::CgroupSource::kDescriptors &&
         !planned.plan.counting.cgroup.empty();
}

std::size_t min_cgroups_for_records(const config::Cgroups& cgroups) {
  switch (cgroups.source) {
    case config::CgroupSource::kAuto:
      return kMinCgroupsForRecords;
    case config::CgroupSource::kRecords:
      return 0;
    case config::CgroupSource::kDescriptors:
      break;
  }
  return collect::kNeverRecorded;
}

Result<perf::EventAttributes> tracepoint_of_moves(const host::HostRoots& roots) {
  return events::tracepoint_on(roots, "cgroup", "cgroup_attach_task");
}

CollectorBasis basis_of(const LoadedPlan& planned, std::optional<cgroup::Hierarchy> hierarchy) {
  const collect::CountingPlan& plan = planned.plan.counting;
  return {.hierarchy = std::move(hierarchy),
          .left_out_cpus = plan.left_out_cpus,
          .counts_cgroups = !plan.cgroup.empty(),
          .per_cpu = plan.cgroup_per_cpu,
          .records_buffer = planned.config.cgroups.records_buffer,
          .max_directories = planned.plan.budget.max_directories,
          .max_path_bytes = planned.plan.budget.max_path_bytes};
}

collect::CounterSources counter_sources(const CollectorBasis& basis,
                                        const collect::CountingPlan& plan,
                                        const host::HostRoots& roots, perf::PerfKernel& kernel) {
  if (!basis.hierarchy || !basis.counts_cgroups) return collect::descriptor_sources(kernel);
  collect::RecordOptions options;
  options.buffer_bytes = basis.records_buffer;
  options.own_cgroup = cgroup::OwnCgroup(roots, *basis.hierarchy);
  if (const auto moves = tracepoint_of_moves(roots)) options.moves = *moves;
  return collect::record_sources(kernel, std::make_shared<const collect::CountingPlan>(plan),
                                 options);
}

collect::CostFunction counting_cost(const LoadedPlan& planned, std::optional<bool> by_records) {
  const bool is_asked_for = planned.config.cgroups.source == config::CgroupSource::kRecords;
  if (!may_use_records(planned) || !by_records.value_or(is_asked_for)) {
    return collect::descriptor_cost;
  }
  return [](const collect::CountingPlan& plan, const collect::MachineCpus& cpus) {
    return collect::record_cost(plan, cpus, cpus.online.size());
  };
}

collect::Need counting_need(const LoadedPlan& planned, std::optional<bool> by_records) {
  const collect::CountingPlan& plan = planned.plan.counting;
  return collect::need_of(plan, *planned.cpus,
                          counting_cost(planned, by_records)(plan, *planned.cpus));
}

collect::TargetTracker::Changes changes_of(const LoadedPlan& planned) {
  return {.plan = std::make_shared<const collect::CountingPlan>(planned.plan.counting),
          .selection = planned.plan.cgroups.selection,
          .describer = describer_of(planned),
          .linger = planned.config.cgroups.linger,
          .idle = {planned.config.cgroups.close_after, planned.config.cgroups.open_after},
          .budget = planned.plan.budget,
          .min_recorded = min_cgroups_for_records(planned.config.cgroups)};
}

collect::TargetTracker track_targets(const LoadedPlan& planned, const host::HostRoots& roots,
                                     const std::optional<cgroup::Hierarchy>& hierarchy,
                                     collect::CostFunction cost, std::size_t min_recorded) {
  // All that it is made with is in one of these two.
  const CollectorBasis basis = basis_of(planned, hierarchy);
  collect::TargetTracker::Changes rest = changes_of(planned);
  collect::TargetTracker::Cgroups cgroups;
  cgroups.describer = std::move(rest.describer);
  cgroups.linger = rest.linger;
  cgroups.min_recorded = min_recorded;
  if (hierarchy) cgroups.uncounted = uncounted_use(*hierarchy);
  if (hierarchy && basis.counts_cgroups) {
    cgroups.discovery.emplace(*hierarchy, std::move(rest.selection),
                              tree_limits(rest.budget, roots));
    // The CPUs on which a cgroup without counters ran are not known.
    if (!basis.per_cpu) cgroups.idle.emplace(rest.idle, cpu_time_of(*hierarchy));
    cgroups.cpu_time = cpu_time_of(*hierarchy);
  }
  return {roots, std::move(rest.plan), std::move(cgroups), rest.budget, std::move(cost)};
}

}  // namespace pex::plan
