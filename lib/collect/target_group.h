#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cgroup/cgroup.h"
#include "collect/counting_plan.h"
#include "collect/poll_report.h"
#include "collect/totals.h"
#include "estimate/group_estimator.h"
#include "perf/counter_group.h"

namespace pex::collect {

/// One group at one target on one CPU for as long as its series live: opened and closed as CPU and
/// cgroup come and go, while the totals go on.
///
///   closed --open()--> open --close()--> closed
///      \--open() fails--> failed --open(), less and less often--> open
class TargetGroup {
 public:
  /// `plan` outlives it.
  explicit TargetGroup(const GroupPlan& plan) : plan_(&plan), totals_(plan.events.size()) {}

  const GroupPlan& plan() const { return *plan_; }
  const GroupTotals& totals() const { return totals_; }
  GroupTotals& totals() { return totals_; }
  bool is_open() const { return counters_.has_value(); }
  bool has_failed() const { return failures_ > 0; }

  /// The cgroup in which it is open; null for a whole CPU.
  const std::shared_ptr<const cgroup::Cgroup>& cgroup() const { return cgroup_; }

  /// Opens it on `cpu`, in `cgroup` or, when that is null, for the whole CPU. A failure goes into
  /// the report; after it, calls are answered by doing nothing for 1, 2, 4, ... 16 polls. A cgroup
  /// or CPU that has gone meanwhile is no failure.
  void open(perf::PerfKernel& kernel, int cpu, std::shared_ptr<const cgroup::Cgroup> cgroup,
            PollReport& report);
  void close(PollReport& report);

  /// Not wanted here for now (the CPU is offline, or not of its PMU), so it cannot be failing
  /// either.
  void forget_failures() { failures_ = polls_to_wait_ = 0; }

  /// Only when open, as is enable(). `cpu` is the one it is open on.
  Result<> read(perf::PerfKernel& kernel, int cpu, perf::GroupReading& reading) const;
  Result<> enable(perf::PerfKernel& kernel) const { return counters_->enable(kernel); }

  /// The events since the reading before, or since opening. `buffer` holds the numbers that the
  /// increment shows.
  using Buffer = std::array<std::uint64_t, perf::kMaxGroupEvents>;
  Increment advance_to(const perf::GroupReading& reading, Buffer& buffer);

 private:
  const GroupPlan* plan_;
  GroupTotals totals_;
  std::optional<perf::CounterGroup> counters_;
  std::optional<estimate::GroupEstimator> estimator_;  ///< lives as long as counters_
  std::shared_ptr<const cgroup::Cgroup> cgroup_;
  std::chrono::nanoseconds enabled_{};  ///< at the last reading of counters_
  std::chrono::nanoseconds running_{};
  unsigned failures_ = 0;       ///< in a row
  unsigned polls_to_wait_ = 0;  ///< before the next try
};

}  // namespace pex::collect
