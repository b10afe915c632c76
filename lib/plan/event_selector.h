#pragma once

#include <span>
#include <vector>

#include "config/config.h"
#include "events/event_spec.h"
#include "perf/counter_group.h"
#include "plan/condition.h"
#include "plan/event_availability.h"
#include "plan/machine.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// A configured group, with those of its events that this machine can count.
struct SelectedGroup {
  config::Group group;             ///< of one scope only, if the other one counts fewer events
  std::vector<int> left_out_cpus;  ///< in addition to those that all groups leave out
  perf::GroupMode mode;            ///< of the group, and of the modifiers of its events
  std::vector<events::EventSpec> events;
};

struct SelectedEvents {
  std::vector<SelectedGroup> groups;      ///< in the order of the configuration
  std::vector<EventAvailability> events;  ///< all that are configured, without those of
  std::vector<LeftOutGroup> left_out_groups;
  /// What no machine could count, and duplicate series. If there are any, everything else is empty,
  /// and no event was tried.
  std::vector<yaml::Diagnostic> errors;
};

/// The first step of planning, from text to events: parses, resolves, checks the rules, and tries
/// each event alone, or after the one that the kernel requires before it. A group becomes two, one
/// for each scope, if some of its events count on CPUs and not in cgroups.
///
/// `in_force`: the events of the plan that is replaced. Events that it counts stay, even if a
/// permission was revoked since: their open counters go on.
SelectedEvents select_events(const config::Config& config, const Machine& machine,
                             std::span<const EventAvailability> in_force = {});

/// The errors of select_events(), of groups that are left out as well; also for a configuration
/// that was read with errors: its faulty parts cause no further errors.
std::vector<yaml::Diagnostic> check_events(const config::Config& config, const Machine& machine);

}  // namespace pex::plan
