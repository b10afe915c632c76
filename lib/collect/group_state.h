#pragma once

namespace pex::collect {

/// What is known of one group at one target on one CPU, in addition to its totals.
struct GroupState {
  bool is_wanted : 1 = false;  ///< it is to be counted there now
  bool is_open : 1 = false;
  bool has_failed : 1 = false;     ///< could not be opened, or its cgroup went before it was
  bool is_unreadable : 1 = false;  ///< it is open, and the last try to read it failed
  bool measured : 1 = false;       ///< has been read at least once
  bool counted : 1 = false;        ///< has had the PMU at least once
  bool wanted : 1 = false;         ///< has wanted it at least once
  bool was_on_pmu : 1 = false;     ///< between the last two readings
  /// It has wanted the PMU for more than estimate::kMaxImputed and has not had it, the last time
  /// not longer ago than that. So its totals stand still, and not because nothing happens.
  bool lacks_the_pmu : 1 = false;
  unsigned polls_wanted = 0;   ///< since it was first wanted
  unsigned polls_counted = 0;  ///< since it first had the PMU
};

}  // namespace pex::collect
