#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "cgroup/description.h"
#include "count/snapshot.h"
#include "count/totals.h"
#include "targets/counting_plan.h"

namespace pex::collect {

/// A sum over the cgroups that have the same values of its labels.
struct LabelSum {
  using Clock = std::chrono::steady_clock;

  struct Group {
    GroupSum sum;
    GroupRow state;  ///< of all its cgroups, without times; a value that was known once stays

    void forget_states() {
      if (state.value != GroupRow::Value::kKnown) state.value = GroupRow::Value::kNotHere;
      state.wanted_on = state.counted_on = 0;
    }
    /// One with a value is enough: kKnown is the greatest.
    void add_state(const GroupRow& row) {
      state.value = std::max(state.value, row.value);
      state.has_times = state.has_times || row.has_times;
      state.wanted_on += row.wanted_on;
      state.counted_on += row.counted_on;
    }
  };

  explicit LabelSum(const ScopePlan& plan, std::string of_share = {})
      : groups(plan.groups.size()), share(std::move(of_share)) {}

  static constexpr Clock::time_point kNotYet = Clock::time_point::max();

  std::vector<Group> groups;           ///< as plan->cgroup.groups
  Clock::time_point begun = kNotYet;   ///< the first snapshot that has it
  Clock::time_point last_member = {};  ///< the last one in which it had a cgroup
  BootClock::time_point since = BootClock::now();
  std::string share;  ///< its path in the shares of its plan; empty: it is the rest
  std::shared_ptr<const cgroup::Description> of_series = {};  ///< SumRow::of_series
  std::size_t cgroups = 0;
  bool is_new = true;  ///< published as 0
};

/// Those of one SumPlan, by the values of its labels. Each stays where it is in memory.
using LabelSumsByValues = std::map<std::vector<std::string>, LabelSum>;

}  // namespace pex::collect
