#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "count/counter_source.h"
#include "count/learning.h"
#include "count/row_set.h"
#include "count/scope_groups.h"
#include "count/target_groups.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"
#include "targets/targets.h"

namespace pex::collect {

/// One CPU's part of every poll: the data path of the program up to increments. Synchronous;
/// knows no threads, timers or sockets. Best run on its CPU, where opening and reading is several
/// times cheaper. Not thread-safe.
class PollCycle {
 public:
  /// The events of a poll, and their consequences for the next one.
  struct Outcome {
    PollReport report;
    PollFeedback feedback;
  };

  PollCycle(std::unique_ptr<CounterSource> source, std::shared_ptr<const CountingPlan> plan,
            int cpu);

  /// Counts what `plan` has from now on: groups that both plans have go on (GroupId), the
  /// others of the plan before are closed without a last reading, as their series end. Those that
  /// are new are opened by the next call of reconcile() or run(), whose targets are new as well
  /// (TargetSet::layout). Returns how many were closed, at all targets.
  std::size_t change(std::shared_ptr<const CountingPlan> plan);
  const std::shared_ptr<const CountingPlan>& plan() const { return plan_; }

  /// Opens new targets and closes ended ones, after their last reading; reads nothing else but
  /// nested cgroups of which one begins or ends. Called between two polls, so that short-lived
  /// cgroups are counted.
  Outcome reconcile(const std::shared_ptr<const TargetSet>& targets, const EventModels& models);

  /// Everything of the last targets is open, and nothing else.
  bool is_reconciled() const { return is_reconciled_; }

  /// One poll. If the CPU is offline, open groups are read for the last time and closed, and the
  /// totals stand still until it is back. `models` are those before this poll.
  Outcome run(const std::shared_ptr<const TargetSet>& targets, const EventModels& models);

  /// From the next run() on, groups that share the PMU leave it to other programs, or take it
  /// again. Their time meanwhile is enabled, without the PMU.
  void set_paused(bool paused) { is_paused_ = paused; }

  /// Set if this CPU skipped rounds since its last part, because it was late: cgroups that came and
  /// ended meanwhile were never open here.
  void set_missed_targets(bool missed) { has_missed_targets_ = missed; }

  int cpu() const { return cpu_; }

  /// Those of the last run() or reconcile(); null before.
  const std::shared_ptr<const TargetSet>& targets() const { return targets_; }
  /// Those of the last run(), in which the states of the groups were reported; null before.
  const std::shared_ptr<const CountingPlan>& polled_plan() const { return polled_plan_; }
  const std::shared_ptr<const TargetSet>& polled_targets() const { return polled_targets_; }

  /// The statistics of the last run() or reconcile() for the models.
  const ModelUpdates& model_updates() const { return update_; }

  /// The last poll found that the CPU had been offline and back since the previous one: everything
  /// was reopened, and a thread pinned to it may have been moved away.
  bool cpu_was_offline() const { return offline_for_.has_value(); }

  /// For what it does between polls. Its progress may be asked for from any thread.
  CounterSource& source() const { return *source_; }

  /// All targets of each group of a scope, in the order of the plan.
  std::span<const TargetGroups> groups_of_cpu() const { return cpu_scope_.groups; }
  std::span<const TargetGroups> groups_of_cgroups() const { return cgroup_scope_.groups; }
  /// What their increments had was added to the ledger.
  void clear_increments();

 private:
  enum class Reading { kOfPoll, kForAnother, kLast };

  PollReport& report() { return outcome_.report; }
  void begin(const std::shared_ptr<const TargetSet>& targets, const EventModels& models);
  void read_nested();
  bool is_of_cpu(const ScopeGroups& scope) const { return &scope == &cpu_scope_; }
  const std::shared_ptr<const cgroup::Cgroup>& place(const ScopeGroups& scope,
                                                     std::size_t target) const;
  bool is_uncounted(const ScopeGroups& scope, std::size_t target) const;
  void align_to(std::shared_ptr<const TargetSet> targets);
  void note_unopened(std::size_t target, const CgroupTarget& before);
  void note_missed(std::size_t target);
  template <typename Step>
  void each_group(Step step);
  template <typename Step>
  void each_target(Step step);
  void set_paused(bool paused, std::chrono::nanoseconds now);
  void find_due();
  bool is_counted_here(const GroupPlan& group) const;
  void find_wanted(ScopeGroups& scope);
  void close_and_open();
  void detect_cpu_offline();
  void account_cpu_offline();
  void close_gone(ScopeGroups& scope, std::size_t target);
  void open_new(ScopeGroups& scope, std::size_t target);
  std::optional<std::chrono::nanoseconds> read_time_on_cpu(ScopeGroups& scope,
                                                           const GroupPlan& plan,
                                                           std::size_t target);
  void collect(ScopeGroups& scope, std::size_t target);
  void collect_group(ScopeGroups& scope, std::size_t target, std::size_t index, Reading which);
  void collect_in_addition(ScopeGroups& scope, std::size_t target, std::size_t index,
                           Reading which);
  void report_unreadable(const TargetGroups& group, std::size_t target);
  void open_again(TargetGroups& group, std::chrono::nanoseconds standstill);

  std::unique_ptr<CounterSource> source_;  ///< first, as groups use it in their destructors
  std::shared_ptr<const CountingPlan> plan_;
  int cpu_;
  ScopeGroups cpu_scope_;
  ScopeGroups cgroup_scope_;
  std::shared_ptr<const TargetSet> targets_;
  std::shared_ptr<const CountingPlan> polled_plan_;
  std::shared_ptr<const TargetSet> polled_targets_;
  RowSet changed_cgroups_;               ///< in the last poll
  RowSet due_cgroups_;                   ///< those to read
  const EventModels* models_ = nullptr;  ///< of this part of a poll, like
  Outcome outcome_;
  ModelUpdates update_;
  perf::GroupInterval interval_;  ///< reused, to allocate nothing, like
  std::vector<estimate::EventIncrement> increments_;
  bool is_reconciled_ = false;
  bool is_paused_ = false;
  bool has_missed_targets_ = false;
  bool online_ = false;
  bool was_online_ = false;    ///< in the round before, as is
  bool was_left_out_ = false;  ///< by the targets
  bool opens_again_ = false;   ///< the source counts in another way from this round on
  std::optional<std::chrono::nanoseconds> offline_for_;  ///< as of the last call
};

}  // namespace pex::collect
