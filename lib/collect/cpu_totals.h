#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/poll_cycle.h"
#include "collect/targets.h"
#include "collect/totals.h"

namespace pex::collect {

/// What is known of one group at one target on one CPU, beside its totals. Says of the group what
/// TargetGroup and GroupTotals say under these names.
struct GroupState {
  GroupTimes times = {};
  bool is_wanted = false;
  bool is_open = false;
  bool has_failed = false;
  bool measured = false;
  bool counted = false;
  bool wanted = false;
  bool is_unreadable = false;
  bool lacks_the_pmu = false;
  bool was_on_pmu = false;
  unsigned polls_wanted = 0;
  unsigned polls_counted = 0;
};

/// One group at one target in a CpuTotals.
struct GroupView {
  const GroupState& state;
  std::span<const EventTotal> totals;  ///< one for each event that is estimated; empty: none known
};

/// All totals of one CPU as they were at the end of its part of a poll. Flat and without pointers
/// into the PollCycle, so that it can be read while the CPU's thread already changes that, or hangs
/// in the middle of it.
class CpuTotals {
 public:
  CpuTotals(const CountingPlan& plan, int cpu);

  /// Copies what `cycle` has counted, after a poll with `targets`. Allocates only when there are
  /// more targets than ever.
  void copy(const PollCycle& cycle, const TargetSet& targets);

  int cpu() const { return cpu_; }
  /// False until the first copy().
  bool is_known() const { return is_known_; }
  /// The cgroups that there are totals of, rising.
  std::span<const std::uint64_t> series() const { return series_; }

  /// Only when is_known(). `group` as in the plan's scope.
  GroupView cpu_group(std::size_t group) const { return whole_cpu_.at(0, group); }
  /// The same of the `target`-th of series().
  GroupView cgroup_group(std::size_t target, std::size_t group) const {
    return cgroups_.at(target, group);
  }

 private:
  struct Scope {
    std::vector<std::size_t> first;  ///< of each group's totals in those of a target; then how many
    std::vector<GroupState> states;  ///< [target * groups + group]
    std::vector<EventTotal> totals;  ///< [target * first.back() + first[group] + event]

    explicit Scope(const ScopePlan& plan);
    void resize(std::size_t targets);
    void copy(std::size_t target, std::span<const TargetGroup> groups);
    GroupView at(std::size_t target, std::size_t group) const {
      const std::size_t begin = target * first.back() + first[group];
      return {states[target * (first.size() - 1) + group],
              std::span(totals).subspan(begin, first[group + 1] - first[group])};
    }
  };

  int cpu_;
  bool is_known_ = false;
  std::vector<std::uint64_t> series_;
  Scope whole_cpu_;
  Scope cgroups_;
};

}  // namespace pex::collect
