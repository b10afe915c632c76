#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "count/increments.h"
#include "count/pmu_absence.h"
#include "count/row_set.h"
#include "count/wanted_time.h"
#include "estimate/group_estimator.h"
#include "perf/group_interval.h"
#include "perf/possible_counts.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// The values of a target's groups that never lose the PMU, at one instant; totals that never fall.
struct AlwaysOn {
  struct Reference {
    std::uint64_t total = 0;
    std::chrono::nanoseconds enabled{};  ///< for which it was counted
  };
  std::optional<std::chrono::nanoseconds> clock;  ///< for which the target was on the CPU
  std::chrono::nanoseconds clock_counted{};  ///< by the cpu-clock meanwhile, with what it misses
  std::optional<Reference> reference;
};

/// What a group counted, in the form of the estimator, which refers to it. It has at least the
/// estimated events of `plan`.
estimate::Interval interval_of(const perf::GroupInterval& since, const GroupPlan& plan,
                               const AlwaysOn& always_on);

/// What a group has counted at each target since its series began, and for how long: only of a
/// group by which others are estimated.
class KeptTotals {
 public:
  explicit KeptTotals(std::size_t events) : events_(events) {}

  void begin(std::size_t targets) {
    is_kept_ = true;
    resize(targets);
  }
  void resize(std::size_t targets) {
    if (!is_kept_) return;
    counts_.resize(targets * events_);
    times_.resize(targets);
  }
  void forget(std::size_t target) {
    if (!is_kept_) return;
    std::fill_n(counts_.data() + target * events_, events_, 0);
    times_[target] = {};
  }

  // Only if they are kept.

  bool is_kept() const { return is_kept_; }
  void add_count(std::size_t target, std::size_t event, std::uint64_t count) {
    counts_[target * events_ + event] += count;
  }
  void add_time(std::size_t target, std::chrono::nanoseconds time) { times_[target] += time; }

  std::uint64_t count(std::size_t target, std::size_t event) const {
    return counts_[target * events_ + event];
  }
  /// Enabled, and not unmeasured.
  std::chrono::nanoseconds time(std::size_t target) const { return times_[target]; }

 private:
  std::size_t events_;
  bool is_kept_ = false;
  std::vector<std::uint64_t> counts_;  ///< [target * events + event]
  std::vector<std::chrono::nanoseconds> times_;
};

/// Estimates what one group has missed at each of its targets on one CPU: intervals become the
/// increments that the ledger takes. Everything is in flat arrays with an element for each target,
/// and groups that never lose the PMU, which are most of those of cgroups, have none of the state
/// that only the others need.
class Estimation {
 public:
  /// The inputs of an estimate in addition to the interval, and its scratch memory.
  struct Learning {
    std::span<const estimate::EventModel> models;
    std::span<estimate::ModelUpdate> updates;
    std::span<estimate::EventIncrement> increments;
    bool& kernel_mistimes;  ///< as estimate::Interval has it; set if this one proves it
    bool& has_learned;      ///< set when the updates are written
  };
  /// How the exporter itself keeps the group off the PMU at a target.
  struct Held {
    bool is_rotated = false;  ///< manual rotation: it may have been stopped meanwhile
    bool is_stopped = false;  ///< by that, now
    bool is_paused = false;
  };
  struct Faults {
    bool anomaly = false;   ///< a total fell, or rose impossibly
    bool mistimed = false;  ///< the kernel accounted time to the wrong group
  };
  /// What is known of a target.
  struct Known {
    bool measured : 1 = false;  ///< as in GroupState, like
    bool counted : 1 = false;
    bool wanted : 1 = false;
    bool was_on_pmu : 1 = false;
    bool was_wanted : 1 = false;  ///< enabled in the last interval
    unsigned first_counted = 0;   ///< number of the poll; 0: never yet
  };

  explicit Estimation(const GroupPlan& plan)
      : increments_(plan.estimated()), kept_(plan.estimated()) {
    use(plan);
  }

  /// For an equal group of another plan from now on, which outlives it.
  void use(const GroupPlan& plan);
  void resize(std::size_t targets);
  /// The target is blank from now on.
  void forget(std::size_t target);

  /// What was counted since clear(), and at the end of a poll the changes of state.
  Increments& increments() { return increments_; }
  const Increments& increments() const { return increments_; }

  /// Others are estimated by it: it keeps its totals, of which the differences count.
  void keep_totals() { kept_.begin(known_.size()); }
  const KeptTotals& kept() const { return kept_; }

  /// It is opened; the history is kept. `on_cpu`: for how long the target has been on the CPU by
  /// then, if that is known. What it does from then on is enabled.
  void begin(std::size_t target);
  void set_opened_at(std::size_t target, std::optional<std::chrono::nanoseconds> on_cpu) {
    if (plan_->can_lose_pmu()) shared_[target].wanted.open(on_cpu);
  }
  /// It is closed, after its last interval.
  void end(std::size_t target);

  /// An interval has ended.
  Faults add(std::size_t target, const perf::GroupInterval& since, const AlwaysOn& always_on,
             Held held, const Learning& learning);
  /// The same, if nothing happened. Idempotent.
  void mark_unchanged(std::size_t target);

  // Of a pinned group; `on_cpu` as above.

  /// It is without its place since its last reading.
  void detect_loss(std::size_t target) {
    if (plan_->can_lose_pmu()) shared_[target].wanted.detect_loss();
  }
  /// The same, and the time up to now is unmeasured.
  void add_loss(std::size_t target, std::optional<std::chrono::nanoseconds> on_cpu);
  /// It is closed, and no count is available any more.
  void end_loss(std::size_t target, std::optional<std::chrono::nanoseconds> on_cpu);

  /// Adds time that the target was enabled, if that is known, and nothing of it was counted.
  void add_unmeasured(std::size_t target, std::optional<std::chrono::nanoseconds> wanted);
  /// Adds time in which the target may have run, and nothing was counted.
  void add_lost(std::size_t target, std::chrono::nanoseconds time);

  /// The number of consecutive polls in which its target had been on the CPU, and the group hardly
  /// ever on the PMU.
  unsigned starved_polls(std::size_t target) const { return shared_[target].starved_polls; }
  void forget_starving(std::size_t target) { shared_[target].starved_polls = 0; }
  /// Nearly all the time up to the last poll.
  bool had_the_pmu(std::size_t target) const { return shared_[target].had_the_pmu; }

  const Known& known(std::size_t target) const { return known_[target]; }
  bool lacks_the_pmu(std::size_t target) const { return absence_.lacks(target); }

  /// The state of the group at this target may have changed.
  void note_change(std::size_t target) { changed_.add(target); }
  /// Ends a poll, at this time of CounterSource::now(). Calls `step(target)` for each target at
  /// which the state, or what is known, may have changed since the last one.
  template <typename Step>
  void end_poll(std::chrono::nanoseconds now, Step step) {
    ++polls_;
    absence_.end_poll(now, changed_);
    changed_.for_each(step);
    changed_.clear();
  }
  unsigned polls() const { return polls_; }  ///< that have ended

  /// It is needed soon: its memory is loaded meanwhile.
  void prefetch(std::size_t target) const {
    if (!plan_->can_lose_pmu()) return;
    __builtin_prefetch(&shared_[target], 1);
    __builtin_prefetch(&estimators_[target], 1);
  }

 private:
  /// The state of a group that can lose the PMU.
  struct Shared {
    WantedTime wanted;
    unsigned starved_polls = 0;
    bool had_the_pmu = false;
  };

  estimate::GroupEstimator* find_estimator(std::size_t target);
  estimate::GroupEstimator& estimator(std::size_t target);
  void add_exactly(std::size_t target, const perf::GroupInterval& since);
  Faults add_estimate(std::size_t target, const perf::GroupInterval& since,
                      const AlwaysOn& always_on, Held held, const Learning& learning);
  void note_wanted(std::size_t target, std::chrono::nanoseconds wanted, bool had_the_pmu);
  void note_counted(std::size_t target);
  void add_times(std::size_t target, const GroupTimes& times);

  const GroupPlan* plan_ = nullptr;
  perf::PossibleCounts possible_;
  Increments increments_;
  KeptTotals kept_;
  std::vector<Known> known_;
  PmuAbsence absence_;
  RowSet changed_;  ///< since the end of the last poll
  unsigned polls_ = 0;
  /// Of a group that cannot lose the PMU, for the targets at which it turned out not to have had
  /// it; empty while there is none.
  std::vector<std::unique_ptr<estimate::GroupEstimator>> inexact_;
  // Of a group that can.
  std::vector<estimate::GroupEstimator> estimators_;
  std::vector<Shared> shared_;
};

}  // namespace pex::collect
