#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/scope.h"
#include "count/snapshot.h"

namespace pex::history {

/// What an event shows about the use of the CPUs.
enum class Role { kOther, kCpuTime, kCycles, kInstructions };

/// An event whose rates are kept: all columns of a plan that count it, such as one for each kind of
/// CPU. Borrows from the plan.
struct Measure {
  Role role = Role::kOther;
  std::vector<const collect::PublishedEvent*> columns;  ///< at least one; with different labels

  const events::EventIdentity& event() const { return columns.front()->event; }
};

/// The events of `plan` whose rates are kept, at most `max`. First come those that CPUs and cgroups
/// are usually compared by, then the others in the order of the plan. Without the clocks of whole
/// CPUs, which run while these are idle.
std::vector<Measure> measures_of(const collect::ScopePlan& plan, Scope scope, std::size_t max);

/// Seconds that a group was enabled, and that it had the PMU.
struct PmuTime {
  double enabled = 0;
  double running = 0;
};
/// Of all groups of a scope. Groups that cannot lose the PMU have none.
using PmuTimes = std::vector<PmuTime>;

/// Totals of the host, of one cgroup or of one sum of cgroups at an instant, summed over its rows.
struct Reading {
  std::uint64_t series = 0;                   ///< identity of a cgroup's or a sum's series
  std::vector<std::optional<double>> totals;  ///< of each measure, in its unit; nothing: not known
  PmuTimes pmu_times;
};

Reading read_host(const collect::Snapshot& snapshot, const std::vector<Measure>& measures);

/// In the order of the targets. A cgroup may have several rows, one for each CPU.
std::vector<Reading> read_cgroups(const collect::Snapshot& snapshot,
                                  const std::vector<Measure>& measures);

/// Of the sums of `table`, in its order, without times. Nothing is known of a sum while it is
/// published as 0.
std::vector<Reading> read_sums(const collect::SumTable& table,
                               const std::vector<Measure>& measures);

}  // namespace pex::history
