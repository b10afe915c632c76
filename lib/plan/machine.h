#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counted.h"
#include "events/event_resolver.h"
#include "host/boot_id.h"
#include "host/machine_info.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "plan/clock_trial.h"
#include "plan/cpu_selector.h"
#include "plan/probe_cpus.h"
#include "targets/budget.h"

namespace pex::plan {

/// The machine of a plan, with its kernel. Refers to objects that outlive it.
struct Machine {
  const events::EventResolver& resolver;
  perf::PerfKernel& kernel;
  std::vector<int> online_cpus;     ///< rising, at least one that is not left out
  LeftOutCpus left_out_cpus = {};   ///< nothing is counted or tried on them
  Counted counted = Counted::kAll;  ///< other groups are left out, and not tried
  /// Unless null, called before the events of each group are tried, and with "" after the last.
  std::function<void(const std::string& group)> trying = {};
  ProbeCpus probe_cpus = {resolver, without(online_cpus, left_out_cpus.everywhere),
                          left_out_cpus.everywhere};
  bool may_leave_out_guests = true;  ///< of an event that the kernel counts in no other way
  /// Everything is tried in the calling thread instead of on whole CPUs: to be counted in tasks,
  /// which needs fewer rights, and which events of uncore PMUs cannot be.
  bool counts_tasks = false;
  /// Nothing: it is tried when it is needed.
  mutable std::optional<bool> knows_cpu_clock = {};
  /// Limit on open counters where the configuration has none (Budget::open_events_for).
  std::size_t max_open_events = collect::Budget::open_events_for({}, {});
  host::MachineInfo info = host::machine_info(resolver.roots());  ///< for conditions of groups
  /// DutyCycle::shift: another one on each machine, and the same for all programs on one.
  double duty_cycle_shift = host::boot_fraction(resolver.roots());

  /// Where `events` of `pmu` are tried (empty: of any). Not on the CPUs of `left_out_too`.
  perf::Place trial_place(const std::string& pmu, const std::vector<int>& left_out_too,
                          std::span<const perf::CounterSpec> events) const {
    if (counts_tasks) return {.cpu = -1, .cgroup_path = {}, .pid = 0};
    return {probe_cpus.where_it_opens(kernel, pmu, events, left_out_too), -1, {}};
  }

  /// See ProbeCpus. A task may run on any CPU.
  bool is_waiting(const std::string& pmu) const {
    return !counts_tasks && probe_cpus.is_waiting(pmu);
  }

  const events::PmuCatalogue& pmus() const { return resolver.pmus(); }

  /// Of cgroups and tasks. Else task-clock is counted where a clock is needed.
  bool counts_cpu_clock() const {
    if (!knows_cpu_clock) knows_cpu_clock = plan::counts_cpu_clock(kernel);
    return *knows_cpu_clock;
  }
};

}  // namespace pex::plan
