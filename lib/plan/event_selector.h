#pragma once

#include <vector>

#include "config/config.h"
#include "events/event_spec.h"
#include "perf/counter_group.h"
#include "plan/event_availability.h"
#include "plan/machine.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// A configured group, and those of its events that this machine can count.
struct SelectedGroup {
  config::Group group;             ///< of one scope only, when the other one counts fewer events
  std::vector<int> left_out_cpus;  ///< next to those that all groups leave out
  perf::GroupMode mode;            ///< of the group, and of the modifiers of its events
  std::vector<events::EventSpec> events;
};

struct SelectedEvents {
  std::vector<SelectedGroup> groups;      ///< in the order of the configuration
  std::vector<EventAvailability> events;  ///< all that are configured
  /// What no machine could count, and series that are double. Then there is nothing else, and no
  /// event was tried.
  std::vector<yaml::Diagnostic> errors;
};

/// The first step of planning, from text to events: parses, resolves, checks the rules, and tries
/// each event on its own, or behind the one that the kernel requires in front of it. A group
/// becomes two, one for each scope, when some of its events count on CPUs and not in cgroups.
SelectedEvents select_events(const config::Config& config, const Machine& machine);

/// The errors of select_events(), also of a configuration that was not read without errors: what is
/// wrong in it already brings no other errors.
std::vector<yaml::Diagnostic> check_events(const config::Config& config, const Machine& machine);

}  // namespace pex::plan
