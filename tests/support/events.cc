#include "support/events.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "events/event_syntax.h"

namespace pex::test {

events::EventSpec event(const std::string& spelling) {
  static const Result<events::EventResolver> nowhere =
      events::EventResolver::create({"/nonexistent", "/nonexistent", {}});
  if (!nowhere) throw std::runtime_error(describe(nowhere.error()));
  const auto parsed = events::parse_events(spelling);
  if (!parsed) throw std::runtime_error(spelling + ": " + parsed.error().what);
  auto specs = nowhere->resolve(parsed->events.front());
  if (!specs) throw std::runtime_error(describe(specs.error().error));
  return specs->front();
}

perf::CounterSpec counter(const std::string& spelling) {
  const events::EventSpec spec = event(spelling);
  return {spec.identity.name, spec.instances.front().attributes};
}

namespace {

collect::GroupId id_of(const GroupOf& group) {
  static std::map<std::string, collect::GroupId> ids;
  std::string identity = group.name + " " + group.pmu + (group.mode.pinned ? " pinned" : "");
  for (const std::string& event : group.events) identity += " " + event;
  constexpr collect::GroupId kFirst = 1'000'000'000;  // those of continue_plan() begin at 1
  return ids.try_emplace(std::move(identity), kFirst + ids.size()).first->second;
}

}  // namespace

collect::ScopePlan scope_plan(const std::vector<GroupOf>& groups) {
  collect::ScopePlan plan;
  for (const GroupOf& group : groups) {
    collect::GroupPlan planned{group.name, group.pmu, {}, group.mode, group.aggregation};
    for (const std::string& spelling : group.events) {
      plan.columns.push_back({event(spelling).identity,
                              group.aggregation,
                              {{plan.groups.size(), planned.events.size()}}});
      planned.events.push_back(counter(spelling));
    }
    planned.id = id_of(group);
    plan.groups.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace pex::test
