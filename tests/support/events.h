#pragma once

#include <string>
#include <vector>

#include "events/event_resolver.h"
#include "targets/counting_plan.h"

namespace pex::test {

/// "cycles", "task-clock:u", ...: what needs no machine to be known.
events::EventSpec event(const std::string& spelling);

perf::CounterSpec counter(const std::string& spelling);

/// One configured group: its name, and the spellings of its events.
struct GroupOf {
  std::string name;
  std::vector<std::string> events;
  perf::GroupMode mode = {};
  std::string pmu = {};
  Aggregation aggregation = Aggregation::kCpu;
};

/// Every event of every group is a column of its own. Groups of the same name, PMU and events have
/// the same id.
collect::ScopePlan scope_plan(const std::vector<GroupOf>& groups);

}  // namespace pex::test
