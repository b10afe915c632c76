#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "count/poll_cycle.h"

namespace pex::test {

/// What one group has counted at one target.
struct CountedTotals {
  std::vector<collect::EventTotal> events;
  collect::GroupTimes group_times;
  bool is_estimated = false;
  collect::GroupState state;  ///< now

  std::size_t size() const { return events.size(); }
  const collect::EventTotal& operator[](std::size_t event) const { return events[event]; }
  const collect::GroupTimes& times() const { return group_times; }
  bool measured() const { return state.measured; }
  bool counted() const { return state.counted; }
  bool wanted() const { return state.wanted; }
};

/// A PollCycle, and the sums of its increments.
class CountedCycle : public collect::PollCycle {
 public:
  using Targets = std::shared_ptr<const collect::TargetSet>;

  using PollCycle::PollCycle;

  std::size_t change(std::shared_ptr<const collect::CountingPlan> plan) {
    const auto blank = [](const collect::GroupPlan&) { return std::vector<CountedTotals>{}; };
    follow_groups(this->plan()->cpu, plan->cpu, cpu_, blank);
    follow_groups(this->plan()->cgroup, plan->cgroup, cgroup_, blank);
    return PollCycle::change(std::move(plan));
  }
  Outcome run(const Targets& targets, const collect::EventModels& models) {
    return added(targets, &CountedCycle::PollCycle::run, models);
  }
  Outcome reconcile(const Targets& targets, const collect::EventModels& models) {
    return added(targets, &CountedCycle::PollCycle::reconcile, models);
  }

  /// One group at one target.
  struct Group {
    const collect::TargetGroups& all;
    std::size_t target;
    CountedTotals counted;

    CountedTotals totals() const { return counted; }
    bool is_open() const { return all.is_open(target); }
    bool has_failed() const { return all.has_failed(target); }
    std::size_t open_events() const { return all.open_events(target); }
  };
  /// Those of one target, in the order of the plan.
  struct Groups {
    std::span<const collect::TargetGroups> all;
    const std::vector<std::vector<CountedTotals>>& counted;
    std::size_t target;

    std::size_t size() const { return all.size(); }
    Group operator[](std::size_t group) const {
      CountedTotals totals;
      if (group < counted.size() && target < counted[group].size()) totals = counted[group][target];
      totals.events.resize(all[group].plan().estimated());
      totals.state = all[group].state(target);
      return {all[group], target, std::move(totals)};
    }
  };
  /// Not all of this group of scope cgroup was observed.
  bool is_estimated(std::size_t group) const {
    return std::any_of(cgroup_[group].begin(), cgroup_[group].end(),
                       [](const CountedTotals& at) { return at.is_estimated; });
  }
  Groups cpu_groups() const { return {groups_of_cpu(), cpu_, 0}; }
  Groups cgroup_groups(std::size_t target) const { return {groups_of_cgroups(), cgroup_, target}; }

 private:
  struct Sink {
    std::vector<CountedTotals>& counted;

    CountedTotals& at(std::size_t slot, std::size_t events) const {
      if (slot >= counted.size()) counted.resize(slot + 1);
      counted[slot].events.resize(std::max(events, counted[slot].events.size()));
      return counted[slot];
    }
    void add_exact(std::size_t slot, std::chrono::nanoseconds enabled,
                   std::span<const std::uint64_t> counts) const {
      CountedTotals& to = at(slot, counts.size());
      to.group_times.add({.enabled = enabled, .running = enabled});
      for (std::size_t i = 0; i < counts.size(); ++i) to.events[i].add({counts[i], counts[i], 0});
    }
    void add(std::size_t slot, const collect::GroupTimes& times,
             std::span<const collect::EventTotal> totals) const {
      CountedTotals& to = at(slot, totals.size());
      to.is_estimated = true;
      to.group_times.add(times);
      for (std::size_t i = 0; i < totals.size(); ++i) to.events[i].add(totals[i]);
    }
    /// As if the kernel had no account of CPU time (collect::Losses).
    void add_lost(std::size_t slot, std::chrono::nanoseconds time) const {
      add(slot, {.enabled = time, .unmeasured = time}, {});
    }
    void change_state(std::size_t, const collect::GroupState&, const collect::GroupState&) const {}
  };

  template <typename Part>
  Outcome added(const Targets& now, Part part, const collect::EventModels& models) {
    const Targets before = targets();
    Outcome outcome = (this->*part)(now, models);
    for (std::vector<CountedTotals>& group : cgroup_) {
      for (std::size_t slot = 0; before && slot < group.size(); ++slot) {
        if (!now->has_series_of(*before, slot)) group[slot] = {};
      }
    }
    add(groups_of_cpu(), cpu_);
    add(groups_of_cgroups(), cgroup_);
    clear_increments();
    return outcome;
  }
  static void add(std::span<const collect::TargetGroups> groups,
                  std::vector<std::vector<CountedTotals>>& counted) {
    counted.resize(groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
      constexpr collect::SlotRange kAll{0, std::size_t{1} << 32};
      groups[group].increments().for_each(kAll, Sink{counted[group]});
    }
  }

  std::vector<std::vector<CountedTotals>> cpu_;     ///< [group][0]
  std::vector<std::vector<CountedTotals>> cgroup_;  ///< [group][slot]
};

}  // namespace pex::test
