#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/aggregation.h"
#include "events/event_spec.h"
#include "perf/counter_group.h"

namespace pex::collect {

/// One event of one group of a scope.
struct EventAt {
  std::size_t group = 0;  ///< index into ScopePlan::groups
  std::size_t event = 0;  ///< index into its events

  bool operator==(const EventAt&) const = default;
};

/// What tells how well a group was counted. Most of it only concerns groups that can lose the PMU
/// to others; software events always count.
struct AuxiliaryCounters {
  std::optional<std::size_t> clock;      ///< index of a member: a software clock, in ns
  std::optional<std::size_t> reference;  ///< index of a member: the activity reference
  std::optional<std::size_t> always_on;  ///< index of a group of the scope that never loses the PMU
  std::optional<EventAt> reference_always;  ///< the same reference, counted all the time

  bool operator==(const AuxiliaryCounters&) const = default;
};

/// One group to open at every target of a scope.
struct GroupPlan {
  std::string name;  ///< as configured; "core/2" for the second piece of one that had to be split
  std::string pmu;   ///< only on the CPUs of this PMU; empty: on all
  std::vector<perf::CounterSpec> events;  ///< 1 to perf::kMaxGroupMembers
  perf::GroupMode mode = {};
  Aggregation aggregation = Aggregation::kCpu;  ///< of the scope cpu
  std::vector<int> left_out_cpus = {};          ///< beside those of the CountingPlan; rising
  std::size_t optional_events =
      0;  ///< the last of its events, without which it is still worth opening
  std::size_t auxiliary_events = 0;  ///< the last of its events are there for the others' sake
  bool is_published = true;          ///< false: it is there for the other groups' sake
  bool shares_pmu = false;           ///< can lose the PMU, to other groups or other programs
  std::chrono::nanoseconds mux_interval =
      std::chrono::milliseconds{4};  ///< perf_event_mux_interval_ms
  AuxiliaryCounters auxiliary = {};

  /// Those of its events that counts are estimated of; they come first.
  std::size_t estimated() const { return events.size() - auxiliary_events; }
  /// Takes turns with others on the PMU, and is not guaranteed its place.
  bool is_multiplexed() const { return shares_pmu && !mode.pinned; }

  bool operator==(const GroupPlan&) const = default;
};

/// One event as it is published: the sum of what is counted of it in all its parts.
struct PublishedEvent {
  using Part = EventAt;
  events::EventIdentity event;
  Aggregation aggregation = Aggregation::kCpu;  ///< that of all its groups
  std::vector<Part> parts;  ///< one; several where PMUs share the work, such as memory channels

  bool operator==(const PublishedEvent&) const = default;
};

/// What is opened of one scope, and what is published of it, in their order.
struct ScopePlan {
  std::vector<GroupPlan> groups;
  std::vector<PublishedEvent> columns;

  bool empty() const { return groups.empty(); }
  bool operator==(const ScopePlan&) const = default;
};

/// Evidence that is published only when asked for, as it takes many series.
struct Evidence {
  bool variance = false;   ///< of each event that is estimated
  bool reference = false;  ///< both totals of the reference, for each group that has one

  bool operator==(const Evidence&) const = default;
};

/// What to count, immutable for the life of a collector. Within a scope no two columns are the same
/// series.
struct CountingPlan {
  ScopePlan cpu;     ///< on every CPU
  ScopePlan cgroup;  ///< for every selected cgroup on every CPU
  Evidence evidence = {};
  bool cgroup_per_cpu = false;          ///< a cgroup has a row for each CPU, in place of their sum
  std::vector<int> left_out_cpus = {};  ///< on which nothing is counted; rising

  bool operator==(const CountingPlan&) const = default;
};

/// Names of the groups that are there for the others' sake; no configured group can have them.
inline constexpr std::string_view kClockGroup = "(clock)";
inline constexpr std::string_view kReferenceGroup = "(reference)";

/// The configured group that a group is, or is a piece of: "core" for "core/2".
std::string_view configured_name(std::string_view group);
std::string_view configured_name(const GroupPlan& group);

/// Whether a column is counted by groups that can lose the PMU, so that there is more to say of it
/// than its value.
bool is_estimated(const PublishedEvent& column, const ScopePlan& plan);

/// Series that each row of a group is published as: its times.
std::size_t series_of_group(const GroupPlan& group, const Evidence& evidence);
/// Series that each row of a column is published as: its value, and its evidence.
std::size_t series_of_column(const PublishedEvent& column, const ScopePlan& plan,
                             const Evidence& evidence);

/// The PMUs that some group is bound to, each once.
std::vector<std::string> pmus_of(const CountingPlan& plan);

}  // namespace pex::collect
