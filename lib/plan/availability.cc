#include "plan/availability.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace pex::plan {
namespace {

void add_once(const std::string& text, std::vector<std::string>& texts) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

}  // namespace

std::map<std::pair<std::string, Scope>, Available> availability(const Plan& plan) {
  std::map<std::pair<std::string, Scope>, Available> available;
  const auto add = [&](const EventAvailability& event, Scope scope) {
    if (event.available && scope == Scope::kCgroup && !event.tried_in_cgroup) return;
    if (event.is_expected_lack()) return;
    Available& known = available[{event.event, scope}];
    if (event.available || !known.everywhere) return;
    known = {false, event.reason, event.truth};
  };
  for (const EventAvailability& event : plan.events) {
    if (event.cpu_scope) add(event, Scope::kCpu);
    if (event.cgroup_scope) add(event, Scope::kCgroup);
  }
  return available;
}

std::vector<LeftOut> by_reason(const Plan& plan) {
  std::vector<LeftOut> reasons;
  for (const EventAvailability& event : plan.events) {
    if (event.available || event.is_expected_lack()) continue;
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
    std::string message = what + join(events);
    if (!error.attempted.empty()) message.append(": ").append(error.attempted);
    errors.push_back(Error{error.code, std::move(message), error.remedy, error.cause});
  }
  if (nothing && errors.empty() && plan.counted == Counted::kAll) {
    errors.push_back(Error{0,
                           what + "each group is left out by its 'when', or all its events are "
                                  "optional and missing",
                           "add a group for machines of this kind"});
  }
  return errors;
}

std::vector<std::string> left_out_lines(const Plan& plan, ProgramWords words) {
  std::vector<std::string> lines;
  for (const Error& reason : left_out(plan)) lines.push_back(describe(reason, words));
  return lines;
}

}  // namespace pex::plan
