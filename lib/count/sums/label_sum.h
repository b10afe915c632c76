#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "count/sums/sum_totals.h"

namespace pex::collect {

/// A sum over the cgroups that have the same values of its labels.
struct LabelSum {
  using Clock = std::chrono::steady_clock;

  /// The state of one group, of all its cgroups.
  struct State {
    bool is_known = false;   ///< of any cgroup, ever
    bool has_times = false;  ///< the same
    bool lacks_value = false;
    std::size_t wanted_on = 0;
    std::size_t counted_on = 0;

    void add(const GroupRow& row) {
      is_known = is_known || row.value == GroupRow::Value::kKnown;
      lacks_value = lacks_value || row.value == GroupRow::Value::kNone;
      has_times = has_times || row.has_times;
      wanted_on += row.wanted_on;
      counted_on += row.counted_on;
    }
  };

  LabelSum(const CountingPlan& plan, Clock::time_point now, std::string of_share = {})
      : totals(plan),
        states(plan.cgroup.groups.size()),
        begun(now),
        last_member(now),
        share(std::move(of_share)) {}

  void follow(const ScopePlan& before, const ScopePlan& now) {
    totals.follow(before, now);
    follow_groups(before, now, states, [](const GroupPlan&) { return State{}; });
  }
  /// Of what is counted now.
  void forget_states() {
    for (State& state : states) state = {.is_known = state.is_known, .has_times = state.has_times};
  }
  /// Those of one cgroup.
  void add_states(const Snapshot& snapshot, RowRange rows) {
    for (std::size_t group = 0; group < states.size(); ++group) {
      for (std::size_t row = rows.first; row < rows.end; ++row) {
        states[group].add(snapshot.cgroup[group].rows[row]);
      }
    }
  }

  SumTotals totals;
  std::vector<State> states;
  Clock::time_point begun;
  Clock::time_point last_member;
  BootClock::time_point since = BootClock::now();
  std::string share;  ///< its path in the shares of its plan; empty: it is the rest
  std::size_t cgroups = 0;
  bool is_new = true;  ///< published as 0
};

/// Those of one SumPlan, by the values of its labels. Each stays where it is in memory.
using LabelSumsByValues = std::map<std::vector<std::string>, LabelSum>;

}  // namespace pex::collect
