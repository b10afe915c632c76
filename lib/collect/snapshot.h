#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/poll_cycle.h"
#include "collect/targets.h"

namespace pex::collect {

/// The totals of one group at one row (a CPU, or a cgroup summed over all CPUs).
struct GroupRow {
  bool has_value = false;  ///< false: never had the PMU, or a part cannot be counted; not zero
  bool has_times = false;  ///< false: never read, so the times are not known either
  std::chrono::nanoseconds enabled{};
  std::chrono::nanoseconds running{};
};

/// The totals of one scope: `rows` x groups, and `rows` x events of all groups in turn.
struct ScopeTable {
  std::size_t rows = 0;
  std::size_t groups = 0;
  std::size_t events = 0;
  std::vector<GroupRow> group_rows;   ///< [row * groups + group]
  std::vector<std::uint64_t> totals;  ///< [row * events + event]; 0 where the row has no value

  const GroupRow& group_row(std::size_t row, std::size_t group) const {
    return group_rows[row * groups + group];
  }
  std::uint64_t total(std::size_t row, std::size_t event) const {
    return totals[row * events + event];
  }
};

/// All totals of one poll. Immutable once published.
struct Snapshot {
  std::chrono::system_clock::time_point taken;
  std::shared_ptr<const CountingPlan> plan;
  std::shared_ptr<const TargetSet> targets;  ///< the rows of `cgroup` are its cgroups, in order
  std::vector<int> cpus;                     ///< the rows of `cpu`, rising
  ScopeTable cpu;
  ScopeTable cgroup;
};

/// Joins the parts of all CPUs after they have run with the same `targets`. A row has a value when
/// no CPU fails to count it, and
///   - at least one had the PMU for it: what a starved CPU counts joins once it has the PMU; or
///   - it was read and has never run anywhere, which is an exact zero.
Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              std::span<const PollCycle* const> cycles);

}  // namespace pex::collect
