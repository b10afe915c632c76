#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/counter_group.h"
#include "perf/event_spec.h"

namespace pex::collect {

/// What one row of scope cpu stands for; the parts of the machine as sysfs tells (host::CpuPlace).
enum class Aggregation { kCpu, kCore, kDie, kPackage, kNode, kHost };
inline constexpr std::size_t kAggregations = 6;

/// One group to open at every target of a scope.
struct GroupPlan {
  std::string name;  ///< as configured; "core/2" for the second piece of one that had to be split
  std::string pmu;   ///< only on the CPUs of this PMU; empty: on all
  std::vector<perf::CounterSpec> events;  ///< 1 to perf::kMaxGroupEvents
  perf::GroupMode mode;
  Aggregation aggregation = Aggregation::kCpu;  ///< of the scope cpu; a cgroup is always summed
};

/// One event as it is published: the sum of what is counted of it in all its parts.
struct Column {
  /// One event of one group.
  struct Part {
    std::size_t group = 0;  ///< index into ScopePlan::groups
    std::size_t event = 0;  ///< index into its events
  };
  perf::EventIdentity event;
  Aggregation aggregation = Aggregation::kCpu;  ///< that of all its groups
  std::vector<Part> parts;  ///< one; several where PMUs share the work, such as memory channels
};

/// What is opened of one scope, and what is published of it, in their order.
struct ScopePlan {
  std::vector<GroupPlan> groups;
  std::vector<Column> columns;

  bool empty() const { return groups.empty(); }
};

/// What to count, immutable for the life of a collector. Within a scope no two columns are the same
/// series.
struct CountingPlan {
  ScopePlan cpu;     ///< on every CPU
  ScopePlan cgroup;  ///< for every selected cgroup on every CPU
};

/// The PMUs that some group is bound to, each once.
std::vector<std::string> pmus_of(const CountingPlan& plan);

}  // namespace pex::collect
