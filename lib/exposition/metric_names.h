#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "events/event_spec.h"
#include "targets/counting_plan.h"

namespace pex::exposition {

/// "perf_cpu_task_clock_seconds_total": scope, event, base unit, total. Events of uncore PMUs have
/// no scope: "perf_energy_joules_total".
std::string family_name(Scope scope, const events::EventIdentity& event);
/// Of a sum of cgroups: "perf_workload_task_clock_seconds_total".
std::string family_name(const collect::SumPlan& sum, const events::EventIdentity& event);
/// The part of a family of events that was counted, not extrapolated:
/// "perf_cpu_instructions_observed_total", "perf_imc_read_observed_bytes_total".
std::string observed_family_name(std::string_view family);
/// The squared standard errors of such a family: "perf_cpu_instructions_variance_total",
/// "perf_imc_read_variance_bytes_squared_total".
std::string variance_family_name(std::string_view family);
/// The number of cgroups in a sum: "perf_workload_cgroups".
std::string cgroups_family_name(const collect::SumPlan& sum);

/// The columns that are published under one name, distinguished by their labels.
struct EventFamily {
  struct Member {
    const collect::PublishedEvent* column = nullptr;
    std::string labels;  ///< escaped, without those of the rows: `pmu="cpu_core"`; mostly empty
  };
  std::string name;
  std::string help;  ///< not escaped
  std::vector<Member> columns;
};

/// The families of a scope, in the order of their first columns. Borrows from `plan`.
std::vector<EventFamily> families_of(Scope scope, const collect::CountingPlan& plan);
/// Those of a sum, with the columns of scope cgroup; of SumPlan::is_series, those of that scope.
std::vector<EventFamily> families_of(const collect::SumPlan& sum,
                                     const collect::CountingPlan& plan);
/// "by namespace and container"; empty for a sum of all cgroups.
std::string row_text(const collect::SumPlan& sum);

}  // namespace pex::exposition
