#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "perf/counter_group.h"
#include "perf/group_trial.h"
#include "plan/event_availability.h"
#include "plan/event_selector.h"
#include "plan/machine.h"
#include "plan/planned_group.h"

namespace pex::plan {

/// The kernel groups at each target: which counters, of which PMU, and how they share it. Groups of
/// two plans with the same identity, scope and targets are counted by the same counters, regardless
/// of their names and of other groups.
struct GroupIdentity {
  std::string pmu;  ///< only on the CPUs of this PMU; empty: on all
  perf::GroupMode mode;
  std::vector<perf::CounterSpec> events;  ///< in the order in which they are opened
  std::size_t reserve = 0;                ///< config::Pmu

  bool operator==(const GroupIdentity&) const = default;
};

/// How events fit on the PMU together, according to the trials.
struct GroupFit {
  std::string name;  ///< as configured
  GroupIdentity identity;
  std::vector<perf::Piece> pieces;  ///< none: it was dropped
  /// It is whole because no trial could show whether it fits, so that the next plan tries it again.
  bool is_assumed = false;
  Error dropped = {};  ///< then why
};

/// A selected group that is not counted in its scopes.
struct DroppedGroup {
  std::string name;
  bool cpu_scope = false;
  bool cgroup_scope = false;
  Error reason;
};

struct FittedGroups {
  std::vector<PlannedGroup> plans;  ///< in the order of the selected groups
  std::vector<DroppedGroup> dropped;
  std::vector<GroupFit> fits;   ///< for a plan that replaces this one
  std::vector<Error> warnings;  ///< groups that had to be split
};

/// The second step of planning, from events to kernel groups: one for each PMU, in as few pieces as
/// fit on it. `in_force` are the fits of the plan whose counters are open meanwhile, as for
/// make_plan(); null: none are. With a `reserve` (config::Pmu), groups fit at the same time, and
/// are not split.
FittedGroups fit_groups(std::span<const SelectedGroup> groups, const Machine& machine,
                        const std::vector<GroupFit>* in_force = nullptr, std::size_t reserve = 0);

/// The events of a dropped group are unavailable, with the reason of the drop.
std::vector<EventAvailability> without_dropped(std::vector<EventAvailability> events,
                                               std::span<const DroppedGroup> dropped);

}  // namespace pex::plan
