#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aggregation.h"
#include "base/cgroup_evidence.h"
#include "base/duty_cycle.h"
#include "events/event_spec.h"
#include "perf/counter_group.h"

namespace pex::collect {

/// One event of one group of a scope.
struct EventAt {
  std::size_t group = 0;  ///< index into ScopePlan::groups
  std::size_t event = 0;  ///< index into its events

  bool operator==(const EventAt&) const = default;
};

/// The auxiliary counters of a group, which show how well it was counted. Most of them only concern
/// groups that can lose the PMU to others; software events always count.
struct AuxiliaryCounters {
  std::optional<std::size_t> clock;      ///< index of a member: a software clock, in ns
  std::optional<std::size_t> reference;  ///< index of a member: the activity reference
  std::optional<std::size_t> always_on;  ///< index of a group of the scope that never loses the PMU
  std::optional<EventAt> reference_always;  ///< the same reference, counted all the time

  bool operator==(const AuxiliaryCounters&) const = default;
};

/// A group from plan to plan: it is counted with the same counters, and its totals go on, as long
/// as each plan has it. Never reused. See continue_plan().
using GroupId = std::uint64_t;
inline constexpr GroupId kNoGroup = 0;  ///< not given yet: of no other plan

/// One kernel group to open at every target of a scope.
struct GroupPlan {
  std::string name;  ///< as configured; "core/2" for the second piece of one that was split
  std::string pmu;   ///< only on the CPUs of this PMU; empty: on all
  std::vector<perf::CounterSpec> events;  ///< 1 to perf::kMaxGroupMembers
  perf::GroupMode mode = {};
  Aggregation aggregation = Aggregation::kCpu;  ///< of the scope cpu
  std::vector<int> left_out_cpus = {};          ///< in addition to those of the CountingPlan;
                                                ///< rising
  std::size_t optional_events =
      0;  ///< the last of its events, without which it is still worth opening
  std::size_t auxiliary_events = 0;  ///< the last of its events only serve to estimate others
  bool is_published = true;          ///< false: it only serves to estimate other groups
  bool shares_pmu = false;           ///< can lose the PMU, to other groups or other programs
  bool refuses_impossible = false;   ///< an interval with impossible counts is unmeasured
  bool needs_its_leader = false;     ///< some of its events count only behind its first event
                                     ///< (events/required_leader.h)
  std::chrono::nanoseconds mux_interval =
      std::chrono::milliseconds{4};  ///< perf_event_mux_interval_ms
  /// Of a group that shares the PMU: it leaves it to other programs for the rest of the time.
  std::optional<DutyCycle> duty_cycle = {};
  AuxiliaryCounters auxiliary = {};
  GroupId id = kNoGroup;

  /// The number of events whose counts are estimated; they come first.
  std::size_t estimated() const { return events.size() - auxiliary_events; }
  /// It shares the PMU, or it is pinned, and may be refused its place.
  bool can_lose_pmu() const { return shares_pmu || mode.pinned; }
  /// Shares the PMU with others, without a guaranteed place.
  bool is_multiplexed() const { return shares_pmu && !mode.pinned; }

  bool operator==(const GroupPlan&) const = default;
};

/// One published event: the sum of its counts in all its parts.
struct PublishedEvent {
  using Part = EventAt;
  events::EventIdentity event;
  Aggregation aggregation = Aggregation::kCpu;  ///< that of all its groups
  std::vector<Part> parts;  ///< one; several where PMUs share the work, such as memory channels

  bool operator==(const PublishedEvent&) const = default;
};

/// The groups and published events of one scope, in order.
struct ScopePlan {
  std::vector<GroupPlan> groups;
  std::vector<PublishedEvent> columns;

  bool empty() const { return groups.empty(); }
  bool operator==(const ScopePlan&) const = default;
};

/// How much evidence is published, as it takes many series.
struct Evidence {
  bool variance = false;   ///< of each estimated event
  bool reference = false;  ///< both totals of the reference, for each group that has one
  CgroupEvidence cgroups = CgroupEvidence::kEach;
  bool created = false;  ///< of each counter its start time, which is a series as well

  bool operator==(const Evidence&) const = default;
};

/// Sums over the cgroups that have the same values of some labels. What a cgroup has counted stays
/// in its sum when the cgroup ends. See LabelSums.
struct SumPlan {
  std::string name;                 ///< in metrics: "workload" in perf_workload_cycles_total
  std::vector<std::string> labels;  ///< of cgroups; one that lacks any of them is in no sum;
                                    ///< none: all cgroups are in the one sum
  std::size_t max = 256;            ///< number of sums
  std::chrono::nanoseconds idle = std::chrono::hours{1};  ///< without a cgroup, until a sum ends
  std::chrono::nanoseconds zero_for = std::chrono::minutes{1};  ///< a new sum is published as 0
  bool is_series = false;  ///< published as one cgroup, which each of its cgroups is then not

  bool operator==(const SumPlan&) const = default;
};

/// Over the cgroups that have a Description::series_path in common. It lasts as long as the series
/// of any of them would.
SumPlan sum_of_shared_series();

/// What is counted. Within a scope no two columns are the same series. Before it is used, each
/// group has an id (continue_plan()).
struct CountingPlan {
  ScopePlan cpu;     ///< on every CPU
  ScopePlan cgroup;  ///< for every selected cgroup on every CPU
  Evidence evidence = {};
  bool cgroup_per_cpu = false;          ///< a cgroup has a row for each CPU, instead of their sum
  bool publishes_cgroups = true;        ///< else cgroups only have sums
  bool cgroups_nest = true;             ///< one that is counted may contain others that are
  std::vector<SumPlan> sums = {};       ///< of cgroups; sum_of_shared_series() is the last
  std::vector<int> left_out_cpus = {};  ///< on which nothing is counted; rising

  bool operator==(const CountingPlan&) const = default;
};

/// A probe in a program's file belongs to the file that existed when it was opened.
bool has_probe_in_file(const GroupPlan& group);

/// Gives each group of `plan` an id: that of the same group in `before`, or a new one. Groups are
/// the same if all but their duty cycle (and what they refuse) is, such as name, events, mode, PMU
/// and CPUs, and if the groups that they are estimated by are. Never one with a probe in a
/// program's file (has_probe_in_file()). A published event goes on as a whole or not at all: if one
/// of its groups is new, is gone, or counts in another scale, all of its groups are new, as the sum
/// of old and new counts would fall.
void continue_plan(const CountingPlan& before, CountingPlan& plan);

/// The place of the group with this id; nothing: the scope does not have it.
std::optional<std::size_t> find_group(const ScopePlan& scope, GroupId id);

/// `values`, of the groups of `before`, become those of the groups of `now`: of a group that both
/// have the value stays, of others it is `blank(group)`.
template <typename T, typename Blank>
void follow_groups(const ScopePlan& before, const ScopePlan& now, std::vector<T>& values,
                   Blank blank) {
  std::vector<T> next;
  next.reserve(now.groups.size());
  for (const GroupPlan& group : now.groups) {
    const std::optional<std::size_t> place = find_group(before, group.id);
    place ? next.push_back(std::move(values[*place])) : next.push_back(blank(group));
  }
  values = std::move(next);
}

/// Names of the auxiliary groups; no configured group can have them.
inline constexpr std::string_view kClockGroup = "(clock)";
inline constexpr std::string_view kReferenceGroup = "(reference)";

/// The configured group that a group is, or is a piece of: "core" for "core/2".
std::string_view configured_name(std::string_view group);
std::string_view configured_name(const GroupPlan& group);

/// Whether a column is counted by groups that can lose the PMU, so that it always has evidence in
/// addition to its value. Others have it once they lack something (GroupTable::is_estimated).
bool is_estimated(const PublishedEvent& column, const ScopePlan& plan);

/// What rows of a snapshot belong to.
enum class RowKind { kCpu, kCgroup, kSum };

/// Whether such rows have evidence.
bool has_evidence(RowKind rows, const Evidence& evidence);

/// The number of series of each row of a group: its times.
std::size_t series_of_group(RowKind rows, const GroupPlan& group, const Evidence& evidence,
                            bool is_estimated);
/// The number of series of each row of a column: its value, and its evidence.
std::size_t series_of_column(RowKind rows, const Evidence& evidence, bool is_estimated);

/// The PMUs that groups are bound to, each once.
std::vector<std::string> pmus_of(const CountingPlan& plan);

}  // namespace pex::collect
