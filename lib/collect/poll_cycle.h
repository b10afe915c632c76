#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/cpu_presence.h"
#include "collect/learning.h"
#include "collect/poll_report.h"
#include "collect/target_group.h"
#include "collect/targets.h"
#include "collect/turns.h"
#include "perf/perf_kernel.h"

namespace pex::collect {

/// The part of every poll that concerns one CPU: the data path of the whole program, as far as
/// accumulation. Synchronous; knows no threads, timers or sockets. Best run on its CPU, where
/// opening and reading is several times cheaper. Not thread-safe.
class PollCycle {
 public:
  /// `kernel` outlives it.
  PollCycle(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan, int cpu);

  /// Opens what is new and closes what has gone, after its last reading; reads nothing else.
  /// Between two polls, so that what lives shorter than that is counted.
  PollReport settle(const std::shared_ptr<const TargetSet>& targets, const EventModels& models);

  /// All that is wanted of the last targets is open, and nothing else.
  bool is_settled() const { return is_settled_; }

  /// One poll. When the CPU is offline, what is open is read for the last time and closed, and the
  /// totals stand until it is back. `models` are what was known before this poll.
  PollReport run(const std::shared_ptr<const TargetSet>& targets, const EventModels& models);

  int cpu() const { return cpu_; }

  /// What the last poll taught.
  const PollLessons& lessons() const { return lessons_; }

  /// The last poll found that the CPU had been offline and back since the one before: everything
  /// was opened anew, and a thread pinned to it may have been moved away.
  bool cpu_was_away() const { return absence_.has_value(); }

  /// The groups of the CPU itself, in the order of the plan.
  std::span<const TargetGroup> cpu_groups() const { return whole_cpu_.groups; }
  /// The groups of the `target`-th cgroup of the last poll's targets, in the order of the plan.
  std::span<const TargetGroup> cgroup_groups(std::size_t target) const {
    return cgroups_[target].groups;
  }

 private:
  /// All groups of one target on this CPU.
  struct Target {
    std::vector<TargetGroup> groups;
    const std::shared_ptr<const cgroup::Cgroup>* cgroup = nullptr;  ///< borrowed; null: the CPU
    Turns turns;

    explicit Target(const ScopePlan& plan) : groups(plan.groups.begin(), plan.groups.end()) {}
    std::shared_ptr<const cgroup::Cgroup> place() const { return cgroup ? *cgroup : nullptr; }
    bool is_gone() const { return cgroup && !*cgroup; }
  };
  enum class Reading { kOneOfMany, kLast };
  /// What the groups of a scope have in common on this CPU.
  struct Scope {
    const ScopePlan& plan;
    PerEvent<estimate::EventModel> EventModels::*models;
    PerEvent<estimate::ModelUpdate> PollLessons::*lessons;
    std::vector<std::size_t> opening_order;
    bool takes_turns = false;  ///< some group does
  };

  void align_to(std::shared_ptr<const TargetSet> targets, PollReport& report);
  static void note_unopened(Target& target, const CgroupTarget& before,
                            const std::shared_ptr<const cgroup::Cgroup>& now, PollReport& report);
  template <typename Step>
  void each_target(Step step);
  void find_wishes();
  void notice_absence(PollReport& report);
  void book_absence(PollReport& report);
  void close_gone(Target& target, const Scope& scope, const EventModels& models,
                  PollReport& report);
  void open_new(Target& target, const Scope& scope, PollReport& report);
  void collect(Target& target, const Scope& scope, const EventModels& models, PollReport& report);
  void collect_group(Target& target, std::size_t index, Reading which, const Scope& scope,
                     const EventModels& models, PollReport& report);
  void report_unreadable(const TargetGroup& group, PollReport& report) const;
  void open_again(TargetGroup& group, std::chrono::nanoseconds standstill, PollReport& report);

  perf::PerfKernel& kernel_;
  std::shared_ptr<const CountingPlan> plan_;
  int cpu_;
  Scope cpu_scope_;
  Scope cgroup_scope_;
  CpuPresence presence_;
  std::shared_ptr<const TargetSet> targets_;
  Target whole_cpu_;
  std::vector<Target> cgroups_;  ///< as those of targets_
  PollLessons lessons_;
  perf::GroupReading reading_;  ///< used again, to allocate nothing, as is
  std::vector<estimate::EventIncrement> increments_;
  bool is_settled_ = false;
  bool online_ = false;
  std::optional<std::chrono::nanoseconds> absence_;  ///< that the last poll or look found
};

}  // namespace pex::collect
