#include "plan/plan.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "plan/auxiliary_counters.h"
#include "plan/event_selector.h"
#include "plan/group_fitter.h"
#include "plan/probe_cpus.h"
#include "plan/reference_selector.h"

namespace pex::plan {
namespace {

collect::Budget budget_of(const config::Config& config) {
  return {.max_cgroups = config.cgroups.max,
          .max_open_events = config.limits.max_open_events,
          .max_series = config.limits.max_series,
          .opens_per_second = config.limits.opens_per_second,
          .max_directories = config.limits.max_cgroup_directories};
}

/// A group that asked for a reference and has none is scaled by time, which has to be said.
void remark_on_missing(const Reference& reference, const std::vector<LaidOut>& groups,
                       const events::PmuCatalogue& pmus, Plan& plan) {
  for (const LaidOut& of : groups) {
    if (of.group->estimator != config::Estimator::kReference) continue;
    const auto has_one = [&](const collect::GroupPlan& group) {
      return takes_reference(group, *of.group, reference, Scope::kCpu, pmus);
    };
    const std::vector<collect::GroupPlan>& parts = of.layout.groups;
    if (std::all_of(parts.begin(), parts.end(), has_one)) continue;  // or left out, which was said
    const bool never_scaled = std::none_of(parts.begin(), parts.end(),
                                           [](const auto& group) { return group.takes_turns(); });
    plan.remarks.push_back(
        never_scaled
            ? Error{0,
                    "group '" + of.group->name + "' has no use for a reference: it always counts",
                    "remove its 'estimator'"}
            : Error{0, "group '" + of.group->name + "' is scaled by time, as it has no reference",
                    "leave a counter free for cycles, with fewer events in each group; none where "
                    "the CPU does not count them, and for what is not counted by CPUs"});
  }
}

void add_once(const std::string& text, std::vector<std::string>& texts) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

}  // namespace

Plan make_plan(const config::Config& config, const events::EventResolver& resolver,
               perf::PerfKernel& kernel, const std::vector<int>& online, const Plan* in_force,
               const LeftOutCpus& left_out) {
  Plan plan;
  plan.budget = budget_of(config);
  Result<ChosenCgroups, std::vector<Error>> cgroups = choose_cgroups(config.cgroups);

  const ProbeCpus cpus{resolver.pmus(), without(online, left_out.everywhere), left_out.everywhere};
  EventSelector choice{resolver, kernel, cpus, plan};
  std::vector<ChosenGroup> groups;
  for (const config::Group& group : config.groups) {
    for (ChosenGroup& chosen : choice.choose(group, left_out.of(group.name))) {
      groups.push_back(std::move(chosen));
    }
  }
  if (cgroups) {
    plan.cgroups = std::move(*cgroups);
  } else {
    plan.mistakes.insert(plan.mistakes.end(), cgroups.error().begin(), cgroups.error().end());
  }
  if (!plan.mistakes.empty()) return plan;  // nothing will be counted, so nothing need be tried

  GroupFitter layout{resolver.pmus(), kernel, cpus, in_force, plan};
  std::vector<LaidOut> laid_out(groups.size());
  for (const bool pinned : {true, false}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].mode.pinned == pinned) {
        laid_out[i] = {&groups[i].group, layout.lay_out(groups[i])};
      }
    }
  }
  layout.release_pinned();

  plan.reference = choose_reference(resolver, kernel, cpus, laid_out,
                                    in_force == nullptr ? nullptr : &in_force->reference);
  remark_on_missing(plan.reference, laid_out, resolver.pmus(), plan);
  plan.counting.cpu =
      with_auxiliary_counters(laid_out, Scope::kCpu, plan.reference, resolver.pmus());
  plan.counting.cgroup =
      with_auxiliary_counters(laid_out, Scope::kCgroup, plan.reference, resolver.pmus());
  plan.counting.evidence = {config.evidence.variance, config.evidence.reference};
  plan.counting.cgroup_per_cpu = config.cgroups.per_cpu;
  plan.counting.left_out_cpus = left_out.everywhere;
  return plan;
}

std::map<std::pair<std::string, Scope>, bool> availability(const Plan& plan) {
  std::map<std::pair<std::string, Scope>, bool> everywhere;
  const auto add = [&](const EventAvailability& event, Scope scope) {
    if (event.available && scope == Scope::kCgroup && !event.tried_in_cgroup) return;
    bool& available = everywhere.try_emplace({event.event, scope}, true).first->second;
    available = available && event.available;
  };
  for (const EventAvailability& event : plan.events) {
    if (event.cpu_scope) add(event, Scope::kCpu);
    if (event.cgroup_scope) add(event, Scope::kCgroup);
  }
  return everywhere;
}

std::vector<LeftOut> by_reason(const Plan& plan) {
  std::vector<LeftOut> reasons;
  for (const EventAvailability& event : plan.events) {
    if (event.available) continue;
    auto same = std::find_if(reasons.begin(), reasons.end(),
                             [&](const LeftOut& other) { return other.reason == event.reason; });
    if (same == reasons.end()) same = reasons.insert(same, {event.reason, {}, {}});
    add_once(event.event, same->events);
    add_once(event.group, same->groups);
  }
  return reasons;
}

std::vector<Error> left_out(const Plan& plan) {
  const bool nothing = plan.counting.cpu.empty() && plan.counting.cgroup.empty();
  const std::string what = nothing ? "nothing is counted here: " : "not counted here: ";
  std::vector<Error> errors;
  for (const auto& [error, events, groups] : by_reason(plan)) {
    std::string list;
    for (const std::string& event : events) list += (list.empty() ? "" : ", ") + event;
    const std::string why = error.attempted.empty() ? "" : ": " + error.attempted;
    errors.push_back(Error{error.code, std::string(what).append(list).append(why), error.remedy});
  }
  return errors;
}

std::vector<std::string> left_out_lines(const Plan& plan, ProgramWords words) {
  std::vector<std::string> lines;
  for (const Error& reason : left_out(plan)) lines.push_back(describe(reason, words));
  return lines;
}

}  // namespace pex::plan
