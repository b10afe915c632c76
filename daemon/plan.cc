#include "daemon/plan.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "config/load.h"
#include "exposition/metric_names.h"
#include "perf/counter_group.h"
#include "perf/open_remedy.h"

namespace pex::daemon {
namespace {

using exposition::Scope;

/// Whether trying again later would be refused again. What the machine lacks for a moment
/// (descriptors, memory, a free PMU) is tried again by the polls.
bool is_lasting(int code) {
  static constexpr int kLasting[] = {ENOENT, EOPNOTSUPP, EINVAL, EACCES, EPERM, ENOSYS, E2BIG};
  return std::find(std::begin(kLasting), std::end(kLasting), code) != std::end(kLasting);
}

/// What is filled in while the groups of a configuration are gone through.
class Planner {
 public:
  Planner(perf::PerfKernel& kernel, int probe_cpu) : kernel_(kernel), probe_cpu_(probe_cpu) {}

  void add_group(const config::Group& group) {
    collect::GroupPlan planned{group.name, {}, group.pinned};
    for (const config::EventEntry& entry : group.events) {
      Result<perf::EventSpec> event = perf::parse_event(entry.spelling);
      if (!event) {
        add_mistake(entry.at, event.error().attempted, event.error().remedy);
        continue;
      }
      if (group.cpu_scope) claim_family(Scope::kCpu, *event, entry.at);
      if (group.cgroup_scope) claim_family(Scope::kCgroup, *event, entry.at);
      if (is_available(*event, group.name)) planned.events.push_back(std::move(*event));
    }
    if (planned.events.empty() || !fits(planned)) return;
    if (group.cpu_scope) plan_.counting.cpu.push_back(planned);
    if (group.cgroup_scope) plan_.counting.cgroup.push_back(std::move(planned));
  }

  Plan take() { return std::move(plan_); }

 private:
  void add_mistake(const config::Position& at, const std::string& what, const std::string& remedy) {
    plan_.mistakes.push_back(config::mistake(at, what, remedy));
  }

  /// Two events in one family would be two samples of one series.
  void claim_family(Scope scope, const perf::EventSpec& event, const config::Position& at) {
    const std::string family = exposition::family_name(scope, event);
    const auto [first, is_new] = claimed_.try_emplace(family, at);
    if (is_new) return;
    const config::Position& other = first->second;
    add_mistake(at,
                "'" + event.name + "' would be a second " + family + "; the first is " + other.key +
                    " in line " + std::to_string(other.line),
                "count it in one group only");
  }

  bool is_available(const perf::EventSpec& event, const std::string& group) {
    auto [known, is_new] = tried_.try_emplace(event.name);
    if (is_new) {
      const Result<> tried = try_event(kernel_, event, probe_cpu_);
      if (!tried && is_lasting(tried.error().code)) known->second = tried.error();
    }
    const std::optional<Error>& refused = known->second;
    plan_.events.push_back({event.name, group, !refused, refused.value_or(Error{})});
    return !refused;
  }

  /// Events that open one by one may still be too many for the PMU at once, which the kernel says
  /// when they are opened as a group. Then none of them is available in it.
  bool fits(const collect::GroupPlan& group) {
    const auto opened =
        perf::CounterGroup::open(kernel_, group.events, {probe_cpu_, -1, {}}, group.pinned);
    if (opened || !is_lasting(opened.error().error.code)) return true;
    for (EventAvailability& event : plan_.events) {
      if (event.group != group.name || !event.available) continue;
      event.available = false;
      event.reason = opened.error().error;
    }
    return false;
  }

  perf::PerfKernel& kernel_;
  int probe_cpu_;
  Plan plan_;
  std::map<std::string, config::Position> claimed_;    ///< by family, where it was first
  std::map<std::string, std::optional<Error>> tried_;  ///< by event, why it was refused
};

std::vector<cgroup::Glob> globs(const std::vector<std::string>& patterns) {
  return {patterns.begin(), patterns.end()};
}

}  // namespace

Result<> try_event(perf::PerfKernel& kernel, const perf::EventSpec& event, int cpu) {
  perf::CounterRequest request;
  request.event = event.attributes;
  request.cpu = cpu;
  const Result<perf::OpenCounter> counter = kernel.open(request);
  if (counter) return {};
  const int code = counter.error().code;
  return Error{code, "open event '" + event.name + "'",
               std::string(perf::open_remedy(code, request))};
}

Plan make_plan(const config::Config& config, perf::PerfKernel& kernel, int probe_cpu) {
  Planner planner{kernel, probe_cpu};
  for (const config::Group& group : config.groups) planner.add_group(group);

  Plan plan = planner.take();
  plan.selection = {globs(config.cgroups.include), globs(config.cgroups.exclude)};
  plan.budget.max_cgroups = config.cgroups.max;
  plan.budget.max_open_events = config.limits.max_open_events;
  plan.budget.max_series = config.limits.max_series;
  plan.budget.cpu_events = collect::events_in(plan.counting.cpu);
  plan.budget.cgroup_events = collect::events_in(plan.counting.cgroup);
  plan.budget.cpu_series = collect::series_in(plan.counting.cpu);
  plan.budget.cgroup_series = collect::series_in(plan.counting.cgroup);
  return plan;
}

std::map<std::string, bool> availability(const Plan& plan) {
  std::map<std::string, bool> everywhere;
  for (const EventAvailability& event : plan.events) {
    bool& available = everywhere.try_emplace(event.event, true).first->second;
    available = available && event.available;
  }
  return everywhere;
}

std::vector<std::string> left_out_lines(const Plan& plan) {
  std::map<std::pair<int, std::string>, std::vector<std::string>> by_reason;
  for (const EventAvailability& event : plan.events) {
    if (event.available) continue;
    std::vector<std::string>& names = by_reason[{event.reason.code, event.reason.remedy}];
    if (std::find(names.begin(), names.end(), event.event) == names.end()) {
      names.push_back(event.event);
    }
  }
  const bool nothing = plan.counting.cpu.empty() && plan.counting.cgroup.empty();
  const std::string what = nothing ? "nothing is counted here: " : "not counted here: ";
  std::vector<std::string> lines;
  for (const auto& [reason, names] : by_reason) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    lines.push_back(describe(Error{reason.first, what + list, reason.second}));
  }
  return lines;
}

}  // namespace pex::daemon
