#include "plan/event_trial.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "cgroup/hierarchy.h"
#include "events/event_table.h"
#include "events/required_leader.h"
#include "host/kernel_faults.h"
#include "perf/group_trial.h"
#include "perf/open_remedy.h"

namespace pex::plan {
namespace {

/// Events that only general counters count. Some PMUs count the last one on a fixed counter too,
/// which is then taken for a general one; a rough answer is better than none.
constexpr std::string_view kGeneralEvents[] = {"branch-misses", "cache-misses", "instructions"};

std::optional<perf::CounterSpec> find_leader(const events::RequiredLeader& needed,
                                             std::span<const events::EventSpec> group) {
  for (const events::EventSpec& event : group) {
    for (const events::EventInstance& instance : event.instances) {
      if (events::is_leader(needed, instance.attributes)) {
        return perf::CounterSpec{event.identity.name, instance.attributes};
      }
    }
  }
  return {};
}

/// The refusal of an event that lacks a required leader in its group.
Error lacks_leader(const events::RequiredLeader& needed) {
  const std::string& leader = needed.counter.name;
  return Error{needed.refusal, "the kernel counts it only after '" + leader + "' in its group",
               "add " + leader + " to the group"};
}

/// The refusal of an event whose modes are not those of its leader, which the kernel counts it in.
Error has_other_modes(const std::string& leader) {
  return Error{0, "it is counted in the modes of '" + leader + "', whatever its own modifiers are",
               "write the same modifiers after both"};
}

Error counts_no_tasks() {
  return Error{EINVAL, "its PMU counts a part of the package, and does not distinguish processes",
               "count it with 'scope: cpu'"};
}

bool is_cpu_clock(const events::EventInstance& instance) {
  const perf::EventAttributes clock = events::generic_counter("cpu-clock").attributes;
  return instance.attributes.type == clock.type && instance.attributes.config == clock.config;
}

Error stands_still() {
  return Error{0, "this kernel does not count it for cgroups and tasks",
               "count task-clock, or run " + std::string(host::kDeadCpuClock.fixed_in)};
}

/// What no kernel counts by cgroup, or for the wrong one.
std::optional<Error> refusal_in_cgroups(const events::EventIdentity& event) {
  if (event.is_uncore) {
    return Error{0, "it is counted by a part of the package, which does not distinguish cgroups",
                 "write scope: cpu"};
  }
  if (!event.is_of_another_task) return {};
  return Error{0,
               "it is counted while another task runs than the one that it belongs to: the cgroup "
               "would be the wrong one",
               "write scope: cpu"};
}

UniqueFd open_root_cgroup(const host::HostRoots& roots) {
  const auto hierarchy = cgroup::find_hierarchy(roots);
  if (!hierarchy || !*hierarchy) return {};
  return UniqueFd{::open((*hierarchy)->mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

}  // namespace

bool is_lasting(int code) {
  // All others are about the event or its place, which do not change: of probes alone the kernel
  // returns EILSEQ, ENOEXEC, EIO, EADDRNOTAVAIL and ENOTSUPP.
  static constexpr int kTemporary[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR,
                                       EBUSY,  ENOSPC, ENODEV, ESRCH};
  return std::find(std::begin(kTemporary), std::end(kTemporary), code) == std::end(kTemporary);
}

bool may_be_about_guests(const events::PmuCatalogue& pmus, const perf::EventAttributes& event,
                         int code) {
  return (code == EOPNOTSUPP || code == EINVAL) && !event.exclude_guest && !event.exclude_host &&
         !pmus.always_counts(event.type);
}

bool is_about_rights(int code) { return code == EACCES || code == EPERM; }

Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event,
                   const perf::Place& place, const perf::CounterSpec* leader) {
  perf::CounterRequest request;
  request.cpu = place.cpu;
  request.cgroup_fd = place.cgroup_fd;
  request.pid = place.pid;
  UniqueFd first;
  for (const perf::CounterSpec* each : {leader, &event}) {
    if (each == nullptr) continue;
    request.event = each->attributes;
    Result<perf::OpenCounter> counter = kernel.open(request);
    if (!counter) {
      const int code = counter.error().code;
      return perf::open_error(code, "open event '" + each->name + "'", request);
    }
    first = std::move(counter->fd);
    request.leader_fd = first.get();
  }
  return {};
}

/// The first that opens, even if it then gets no counter.
std::optional<perf::CounterSpec> general_event(perf::PerfKernel& kernel,
                                               const events::EventResolver& resolver,
                                               const events::Pmu& core, const perf::Place& place) {
  for (const std::string_view name : kGeneralEvents) {
    std::optional<perf::CounterSpec> event = events::counter_on(resolver, name, core.name);
    if (!event) continue;
    const perf::Trial trial = perf::try_group(kernel, {&*event, 1}, place, {.pinned = true});
    if (trial.outcome != perf::Trial::Outcome::kRefused) return event;
  }
  return {};
}

EventTrial EventTrials::of(const events::EventSpec& event, std::span<const events::EventSpec> group,
                           bool in_cgroup, const std::vector<int>& left_out_cpus) {
  EventTrial trial;
  if (in_cgroup) trial.refused_in_cgroup = refusal_in_cgroups(event.identity);
  trial.tried_in_cgroup = in_cgroup && root_cgroup();
  const auto is_left_out = [&](const events::EventInstance& instance) {
    return machine_.probe_cpus.leave_out(instance.pmu, left_out_cpus);
  };
  if (machine_.counts_tasks && event.identity.is_uncore) {
    trial.refused = counts_no_tasks();
    return trial;
  }
  const std::vector<events::EventInstance>& instances = event.instances;
  const bool is_dead = is_cpu_clock(instances.front()) && (in_cgroup || machine_.counts_tasks) &&
                       !machine_.counts_cpu_clock();
  if (is_dead && machine_.counts_tasks) {
    trial.refused = stands_still();
    return trial;
  }
  if (std::all_of(instances.begin(), instances.end(), is_left_out)) {
    trial.refused = Error{0, "all CPUs of PMU '" + instances.front().pmu + "' are left out",
                          "exclude fewer CPUs with 'cpus.exclude'"};
    return trial;
  }
  for (const events::EventInstance& instance : instances) {
    if (is_left_out(instance)) continue;
    if (machine_.is_waiting(instance.pmu)) continue;  // expected to count, in both scopes
    perf::CounterSpec counter{event.identity.name, instance.attributes};
    counter.attributes.exclude_guest |= trial.is_without_guests;
    const perf::Place place = machine_.trial_place(instance.pmu, left_out_cpus, {&counter, 1});
    std::optional<perf::CounterSpec> leader;
    try_at(place, counter, group, trial, leader);
    if (trial.refused && machine_.may_leave_out_guests &&
        may_be_about_guests(machine_.pmus(), counter.attributes, trial.refused->code)) {
      counter.attributes.exclude_guest = true;
      const auto needed = events::required_leader(machine_.pmus(), counter.attributes);
      if (needed) leader = find_leader(*needed, group);
      if (leader) leader->attributes.exclude_guest = true;
      if (try_event(machine_.kernel, counter, place, leader ? &*leader : nullptr)) {
        trial.refused.reset();
        trial.is_without_guests = true;
      }
    }
    if (trial.refused) return trial;
    if (trial.tried_in_cgroup && !trial.refused_in_cgroup) {
      try_in_cgroup(counter, place.cpu, leader ? &*leader : nullptr, trial);
    }
  }
  if (is_dead && trial.tried_in_cgroup) trial.refused_in_cgroup = stands_still();
  return trial;
}

/// Leaves in `leader` what must be opened before the event.
void EventTrials::try_at(const perf::Place& place, const perf::CounterSpec& event,
                         std::span<const events::EventSpec> group, EventTrial& trial,
                         std::optional<perf::CounterSpec>& leader) {
  Result<> tried = try_event(machine_.kernel, event, place);
  const auto needed = events::required_leader(machine_.pmus(), event.attributes);
  if (!tried && needed && needed->refusal == tried.error().code) {
    leader = find_leader(*needed, group);
    if (!leader) {
      trial.refused = lacks_leader(*needed);
      return;
    }
    if (!events::is_in_its_modes(*needed, leader->attributes, event.attributes)) {
      trial.refused = has_other_modes(leader->name);
      return;
    }
    tried = try_event(machine_.kernel, event, place, &*leader);
  }
  if (!tried && is_lasting(tried.error().code)) {
    trial.refused = Error{tried.error().code, {}, tried.error().remedy, tried.error().cause};
  }
}

/// For an event that opens on whole CPUs, these errors mean that its PMU cannot count by cgroup
/// (perf_event_open, kernel/events/core.c); others are about the cgroup.
void EventTrials::try_in_cgroup(const perf::CounterSpec& event, int cpu,
                                const perf::CounterSpec* leader, EventTrial& trial) {
  const Result<> tried = try_event(machine_.kernel, event, {cpu, root_cgroup().get(), "/"}, leader);
  if (tried) return;
  const int code = tried.error().code;
  if (code != EINVAL && code != EOPNOTSUPP) {
    trial.tried_in_cgroup = false;
    return;
  }
  trial.refused_in_cgroup =
      Error{code, "its PMU counts whole CPUs only, so it cannot be counted by cgroup",
            "write 'scope: cpu' for it"};
}

const UniqueFd& EventTrials::root_cgroup() {
  if (!root_cgroup_) root_cgroup_ = open_root_cgroup(machine_.resolver.roots());
  return *root_cgroup_;
}

}  // namespace pex::plan
