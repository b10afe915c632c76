#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "events/event_resolver.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "plan/event_trial.h"
#include "plan/plan.h"
#include "plan/probe_cpus.h"

namespace pex::plan {

/// A configured group, and those of its events that this machine can count.
struct ChosenGroup {
  config::Group group;             ///< of one scope only, when the other one counts fewer events
  std::vector<int> left_out_cpus;  ///< beside those that all groups leave out
  perf::GroupMode mode;            ///< of the group, and of the modifiers of its events
  std::vector<events::EventSpec> events = {};
  std::vector<std::size_t> availability = {};  ///< of each event, its index in Plan::events
  std::size_t spelled = 0;  ///< events of its entries so far, whether they can be counted or not
};

/// The first half of planning, from text to events: parses, resolves, checks the rules, and tries
/// each event on its own, or behind the one that the kernel wants in front of it. What is wrong
/// goes into the plan's mistakes, what is not here into its events.
class EventSelector {
 public:
  /// All outlive it.
  EventSelector(const events::EventResolver& resolver, perf::PerfKernel& kernel,
                const ProbeCpus& cpus, Plan& plan)
      : resolver_(resolver), trials_(resolver, kernel, cpus), plan_(plan) {}

  /// One; or one for each scope, when some of its events count on CPUs and not in cgroups.
  /// `left_out_cpus` are those that only this group leaves out.
  std::vector<ChosenGroup> choose(const config::Group& group,
                                  const std::vector<int>& left_out_cpus);

 private:
  using Refusals = std::vector<std::optional<Error>>;  ///< one for each event
  void add_mistake(const yaml::Position& at, const std::string& what, const Remedy& remedy);
  void add_entry(const config::EventEntry& entry, ChosenGroup& chosen);
  void add_event(const config::EventEntry& entry, events::ParsedEvent event, ChosenGroup& chosen);
  void add_unresolved(const config::EventEntry& entry, const events::ParsedEvent& event,
                      const events::Unresolved& why, const config::Group& group);
  bool keeps_the_rules(const config::EventEntry& entry, const events::EventSpec& spec,
                       const config::Group& group);
  bool claim_series(Scope scope, const events::EventIdentity& event, const yaml::Position& at);
  bool claim_family(Scope scope, const events::EventIdentity& event, const std::string& family,
                    const yaml::Position& at);
  void refuse_doubles(const ChosenGroup& chosen);
  bool describe(const config::EventEntry& entry, events::EventSpec& spec);
  void add_resolved(events::EventSpec spec, ChosenGroup& chosen);
  std::vector<ChosenGroup> keep_countable(const ChosenGroup& resolved);
  std::vector<ChosenGroup> by_scope(ChosenGroup chosen, const Refusals& in_cgroups);

  const events::EventResolver& resolver_;
  EventTrials trials_;
  Plan& plan_;
  using Series = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;
  std::map<Series, yaml::Position> claimed_;  ///< family and labels, and where they were first
  /// Of each family its scope, and where it was first.
  std::map<std::string, std::pair<Scope, yaml::Position>> families_;
};

}  // namespace pex::plan
