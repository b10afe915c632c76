#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/cpu_presence.h"
#include "collect/poll_report.h"
#include "collect/target_group.h"
#include "collect/targets.h"
#include "perf/perf_kernel.h"

namespace pex::collect {

/// The part of every poll that concerns one CPU: the data path of the whole program, as far as
/// accumulation. Synchronous; knows no threads, timers or sockets. Best run on its CPU, where
/// opening and reading is several times cheaper. Not thread-safe.
class PollCycle {
 public:
  /// `kernel` outlives it.
  PollCycle(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan, int cpu);

  /// One poll. When the CPU is offline, what is open is read for the last time and closed, and the
  /// totals stand until it is back.
  PollReport run(const std::shared_ptr<const TargetSet>& targets);

  int cpu() const { return cpu_; }

  /// The last poll found that the CPU had been offline and back since the one before: everything
  /// was opened anew, and a thread pinned to it may have been moved away.
  bool cpu_was_away() const { return cpu_was_away_; }

  /// The groups of the CPU itself, in the order of the plan.
  std::span<const TargetGroup> cpu_groups() const;
  /// The groups of the `target`-th cgroup of the last poll's targets, in the order of the plan.
  std::span<const TargetGroup> cgroup_groups(std::size_t target) const;

 private:
  /// Where the targets want one group.
  struct Wish {
    bool wanted = false;                                            ///< on this CPU now
    const std::shared_ptr<const cgroup::Cgroup>* cgroup = nullptr;  ///< none: the CPU itself
  };

  void align_to(std::shared_ptr<const TargetSet> targets);
  void notice_absence(PollReport& report);
  void close_gone(PollReport& report);
  void open_new(PollReport& report);
  void collect(TargetGroup& group, PollReport& report);
  void find_wishes();
  bool wanted_where_it_is(std::size_t index) const;

  perf::PerfKernel& kernel_;
  std::shared_ptr<const CountingPlan> plan_;
  int cpu_;
  CpuPresence presence_;
  std::shared_ptr<const TargetSet> targets_;
  std::vector<TargetGroup> groups_;  ///< those of the CPU, then those of each cgroup in turn
  std::vector<Wish> wishes_;         ///< of groups_; borrowed from targets_
  perf::GroupReading reading_;       ///< used again, to allocate nothing
  bool online_ = false;
  bool cpu_was_away_ = false;
};

}  // namespace pex::collect
