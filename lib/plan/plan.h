#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/budget.h"
#include "collect/counting_plan.h"
#include "collect/machine_cpus.h"
#include "config/config.h"
#include "events/event_resolver.h"
#include "exposition/metric_names.h"
#include "perf/counter_group.h"
#include "perf/group_trial.h"
#include "perf/perf_kernel.h"
#include "plan/auxiliary_counters.h"
#include "plan/cgroup_selector.h"
#include "plan/cpu_selector.h"

namespace pex::plan {

/// One configured event, and whether this machine can count it.
struct EventAvailability {
  std::string event;  ///< canonical spelling; as it was written when the machine does not know it
  std::string group;
  bool cpu_scope = false;
  bool cgroup_scope = false;
  bool available = true;
  Error reason = {};  ///< when it is not; what was attempted is empty when it was to open the event
  bool tried_in_cgroup = false;  ///< false: not known whether it can be counted in cgroups
};

/// How events that belong together are counted together, as the kernel had it when they were tried.
struct FittingGroup {
  std::string name;  ///< as configured
  std::string pmu;   ///< empty: on no core PMU alone
  perf::GroupMode mode;
  std::vector<perf::CounterSpec> events;
  std::vector<perf::Piece> pieces;  ///< none: it was left out
  Error left_out = {};              ///< then why
};

/// A configuration as it applies to this machine. Without mistakes, it can be counted.
struct Plan {
  collect::CountingPlan counting;  ///< only what is available
  ChosenCgroups cgroups;
  collect::Budget budget;
  std::vector<EventAvailability> events;
  std::vector<FittingGroup> fitting;  ///< for a plan that takes the place of this one
  Reference reference;                ///< by which groups that take turns are scaled up
  std::vector<Error>
      remarks;  ///< groups that had to be split or dropped, or do without what they asked for
  std::vector<Error> mistakes;  ///< what no machine could count, and series that would be double
};

/// Joins what was configured with what this machine knows and what `kernel` can do on the CPUs that
/// are `online`. Each event is tried on its own, for a whole CPU, and for scope cgroup in the root
/// of the cgroups as well: one that is missing costs its group that event, and no other group
/// anything. An event that the kernel counts only behind another one is tried behind it. Then what
/// is left of each group is tried as a group; one that does not fit on the PMU is split, or dropped
/// when it is not weak. Pinned groups come first, and are held open meanwhile: what they take is
/// taken from the others, and each other. `in_force` is the plan of counters of ours that are open
/// meanwhile, and may be in the way of a trial: groups that it has as well are then cut as they are
/// there, and whether others fit is left to the polls. On CPUs that are
/// `left_out` nothing is tried.
Plan make_plan(const config::Config& config, const events::EventResolver& resolver,
               perf::PerfKernel& kernel, const std::vector<int>& online,
               const Plan* in_force = nullptr, const LeftOutCpus& left_out = {});

/// Whether each configured event is counted in every group of the scope that lists it. What is not
/// known, as there is no cgroup to try it in, is not there.
std::map<std::pair<std::string, Scope>, bool> availability(const Plan& plan);

/// Configured events that this machine does not count, for one and the same reason.
struct LeftOut {
  Error reason;
  std::vector<std::string> events;  ///< each once, as are
  std::vector<std::string> groups;  ///< those that they belong to
};
std::vector<LeftOut> by_reason(const Plan& plan);

/// One for each reason why something is left out, naming all that it concerns: the kernel says the
/// same of ten events at once. It also says so when nothing is left.
std::vector<Error> left_out(const Plan& plan);

/// The same, each as one line.
std::vector<std::string> left_out_lines(const Plan& plan, ProgramWords words = library_words);

}  // namespace pex::plan
