#include "daemon/plan.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "daemon/event_choice.h"
#include "daemon/group_layout.h"
#include "daemon/probe_cpus.h"
#include "perf/open_remedy.h"

namespace pex::daemon {
namespace {

using exposition::Scope;

std::vector<cgroup::Glob> globs(const std::vector<std::string>& patterns) {
  return {patterns.begin(), patterns.end()};
}

/// `layout` behind what is in `scope` already.
void append(collect::ScopePlan& scope, const collect::ScopePlan& layout) {
  const std::size_t first = scope.groups.size();
  scope.groups.insert(scope.groups.end(), layout.groups.begin(), layout.groups.end());
  for (collect::Column column : layout.columns) {
    for (collect::Column::Part& part : column.parts) part.group += first;
    scope.columns.push_back(std::move(column));
  }
}

}  // namespace

bool is_lasting(int code) {
  static constexpr int kLasting[] = {ENOENT, EOPNOTSUPP, EINVAL, EACCES, EPERM, ENOSYS, E2BIG};
  return std::find(std::begin(kLasting), std::end(kLasting), code) != std::end(kLasting);
}

Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event, int cpu) {
  perf::CounterRequest request;
  request.event = event.attributes;
  request.cpu = cpu;
  const Result<perf::OpenCounter> counter = kernel.open(request);
  if (counter) return {};
  const int code = counter.error().code;
  return Error{code, "open event '" + event.name + "'",
               std::string(perf::open_remedy(code, request))};
}

Plan make_plan(const config::Config& config, const perf::EventResolver& resolver,
               perf::PerfKernel& kernel, const std::vector<int>& online, Beside beside) {
  Plan plan;
  plan.selection = {globs(config.cgroups.include), globs(config.cgroups.exclude)};
  plan.budget.max_cgroups = config.cgroups.max;
  plan.budget.max_open_events = config.limits.max_open_events;
  plan.budget.max_series = config.limits.max_series;

  const ProbeCpus cpus{resolver.pmus(), online};
  EventChoice choice{resolver, kernel, cpus, plan};
  std::vector<ChosenGroup> groups;
  groups.reserve(config.groups.size());
  for (const config::Group& group : config.groups) groups.push_back(choice.choose(group));
  if (!plan.mistakes.empty()) return plan;  // nothing will be counted, so nothing need be tried

  GroupLayout layout{resolver.pmus(), kernel, cpus, beside, plan};
  std::vector<collect::ScopePlan> layouts(groups.size());
  for (const bool pinned : {true, false}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].mode.pinned == pinned) layouts[i] = layout.lay_out(groups[i]);
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].group.cpu_scope) append(plan.counting.cpu, layouts[i]);
    if (groups[i].group.cgroup_scope) append(plan.counting.cgroup, layouts[i]);
  }
  return plan;
}

std::map<std::pair<std::string, Scope>, bool> availability(const Plan& plan) {
  std::map<std::pair<std::string, Scope>, bool> everywhere;
  const auto add = [&](const EventAvailability& event, Scope scope) {
    bool& available = everywhere.try_emplace({event.event, scope}, true).first->second;
    available = available && event.available;
  };
  for (const EventAvailability& event : plan.events) {
    if (event.cpu_scope) add(event, Scope::kCpu);
    if (event.cgroup_scope) add(event, Scope::kCgroup);
  }
  return everywhere;
}

std::vector<Error> left_out(const Plan& plan) {
  struct Reason {
    Error error;
    std::vector<std::string> events;
  };
  std::vector<Reason> reasons;
  for (const EventAvailability& event : plan.events) {
    if (event.available) continue;
    auto same = std::find_if(reasons.begin(), reasons.end(),
                             [&](const Reason& reason) { return reason.error == event.reason; });
    if (same == reasons.end()) same = reasons.insert(same, {event.reason, {}});
    if (std::find(same->events.begin(), same->events.end(), event.event) == same->events.end()) {
      same->events.push_back(event.event);
    }
  }
  const bool nothing = plan.counting.cpu.empty() && plan.counting.cgroup.empty();
  const std::string what = nothing ? "nothing is counted here: " : "not counted here: ";
  std::vector<Error> errors;
  for (const auto& [error, events] : reasons) {
    std::string list;
    for (const std::string& event : events) list += (list.empty() ? "" : ", ") + event;
    const std::string why = error.attempted.empty() ? "" : ": " + error.attempted;
    errors.push_back(Error{error.code, std::string(what).append(list).append(why), error.remedy});
  }
  return errors;
}

std::vector<std::string> left_out_lines(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Error& reason : left_out(plan)) lines.push_back(describe(reason));
  return lines;
}

}  // namespace pex::daemon
