#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/event_spec.h"

namespace pex::collect {

/// One group to count at every target of a scope. Its events are known to open on this machine.
struct GroupPlan {
  std::string name;
  std::vector<perf::EventSpec> events;  ///< 1 to perf::kMaxGroupEvents
  bool pinned = false;
};

/// The groups of one scope, in the order they are opened and published.
using ScopePlan = std::vector<GroupPlan>;

/// Number of events of all groups: descriptors that one target needs on one CPU.
std::size_t events_in(const ScopePlan& groups);

/// Series that one row of the scope is published as: one for each event, and for each group the
/// seconds enabled and running.
std::size_t series_in(const ScopePlan& groups);

/// What to count, immutable for the life of a collector. Within a scope no two events share a
/// metric.
struct CountingPlan {
  ScopePlan cpu;     ///< on every CPU
  ScopePlan cgroup;  ///< for every selected cgroup on every CPU
};

}  // namespace pex::collect
