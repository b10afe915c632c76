#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "plan/auxiliary_counters.h"
#include "plan/cgroup_selector.h"
#include "plan/condition.h"
#include "plan/event_availability.h"
#include "plan/group_fitter.h"
#include "plan/lying_events.h"
#include "plan/machine.h"
#include "targets/budget.h"
#include "targets/counting_plan.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// Why hardware events do not count what virtual machines of this host do, though no modifier says
/// so.
enum class GuestsLeftOut { kNot, kConfigured, kMediatedPmu, kRefused };

/// A configuration applied to this machine: what can be counted, and why the rest cannot.
struct Plan {
  collect::CountingPlan counting;  ///< only what is available
  SelectedCgroups cgroups;
  collect::Budget budget;
  std::vector<EventAvailability> events;  ///< all configured ones, in order, without those of
  std::vector<LeftOutGroup> left_out_groups;
  Checked checked;                      ///< with `truth_check`, against known work
  Counted counted = Counted::kAll;      ///< as Machine
  std::vector<GroupFit> fits;           ///< for a plan that replaces this one
  Reference reference;                  ///< for scaling multiplexed groups
  std::optional<bool> knows_cpu_clock;  ///< as Machine, for a plan that replaces this one
  bool counts_guests = true;            ///< EventResolver::counts_guests()
  GuestsLeftOut guests_left_out = GuestsLeftOut::kNot;
  /// Groups that were split, or lack what they requested.
  std::vector<Error> warnings;
};

/// Combines the configuration with what `machine` knows and its kernel accepts. Fails with what no
/// machine could count, and with duplicate series. There are four
/// steps; each returns the input of the next one:
///   select_events()     tries each event alone, on a whole CPU, and for scope cgroup also in the
///                       root cgroup. A missing event is left out, without effect on others.
///   check_events()      counts known work by what is left; events that lie are left out as well.
///   fit_groups()        tries the rest of each group as a group. One that does not fit on the PMU
///                       is split, or dropped if it is not weak.
///   select_reference()  chooses how multiplexed groups are scaled; the reference is counted with
///                       them (auxiliary_counters.h).
///
/// `in_force` is the plan of our counters that are open meanwhile, and may disturb a trial: groups
/// that it contains are split as there, and the polls find out whether others fit. Its events stay
/// if only a right is missing.
Result<Plan, std::vector<yaml::Diagnostic>> make_plan(const config::Config& config,
                                                      const Machine& machine,
                                                      const Plan* in_force = nullptr);

/// All errors of the names in a configuration: of events, cgroups and labels. Opens nothing, and
/// reports nothing about a part that had an error when it was read.
std::vector<yaml::Diagnostic> check_names(const config::Config& config, const Machine& machine);

}  // namespace pex::plan
