#pragma once

#include <algorithm>
#include <cstdint>

namespace pex::collect {

/// The state of one group at one target on one CPU.
struct GroupState {
  bool is_wanted : 1 = false;  ///< it should be counted there now
  bool is_open : 1 = false;
  bool has_failed : 1 = false;     ///< could not be opened, or its cgroup disappeared before
  bool is_unreadable : 1 = false;  ///< it is open, and the last read failed
  bool measured : 1 = false;       ///< has been read at least once
  bool counted : 1 = false;        ///< has had the PMU at least once
  bool wanted : 1 = false;         ///< has been enabled on a running task at least once
  bool was_on_pmu : 1 = false;     ///< between the last two readings
  /// It has been without the PMU for longer than estimate::kMaxImputed while it was enabled, the
  /// last time not longer ago than that. So its totals stand still for lack of measurements.
  bool lacks_the_pmu : 1 = false;

  bool operator==(const GroupState&) const = default;
};

/// A target that a late CPU has not polled yet, or has missed: a sum would lack it.
inline constexpr GroupState kUnopened{.is_wanted = true, .has_failed = true};
inline constexpr GroupState kMissed{.is_wanted = false, .has_failed = true};

/// Of the states of a group on several CPUs: how many there are of each kind.
struct StateCounts {
  std::uint16_t wanted_on = 0;   ///< should be counted there now
  std::uint16_t counted_on = 0;  ///< those of them where it is open and readable
  std::uint16_t failed = 0;
  std::uint16_t unreadable = 0;
  std::uint16_t measured = 0;
  std::uint16_t counted = 0;
  std::uint16_t wanted = 0;
  std::uint16_t on_pmu = 0;
  std::uint16_t lack_the_pmu = 0;

  void add(const GroupState& state) { add(state, 1); }
  void remove(const GroupState& state) { add(state, -1); }

 private:
  void add(const GroupState& state, int by) {
    const auto count = [by](std::uint16_t& of, bool is_so) {
      of = static_cast<std::uint16_t>(of + (is_so ? by : 0));
    };
    count(wanted_on, state.is_wanted);
    count(counted_on, state.is_wanted && state.is_open && !state.is_unreadable);
    count(failed, state.has_failed);
    count(unreadable, state.is_unreadable);
    count(measured, state.measured);
    count(counted, state.counted);
    count(wanted, state.wanted);
    count(on_pmu, state.was_on_pmu);
    count(lack_the_pmu, state.lacks_the_pmu);
  }
};

/// The state of one group at a row of scope cpu: that of all its CPUs.
struct RowState {
  StateCounts cpus;
  bool never_counted = false;  ///< on some CPU
  unsigned polls_counted = 0;  ///< since the first one was
  unsigned polls_waited = 0;   ///< by the one that has waited longest for the PMU

  void add(const GroupState& state, unsigned polls_wanted, unsigned polls_since_counted) {
    cpus.add(state);
    polls_counted = std::max(polls_counted, polls_since_counted);
    if ((state.measured || state.wanted) && !state.counted) {
      never_counted = true;
      polls_waited = std::max(polls_waited, polls_wanted);
    }
  }
  /// A CPU that appears when others are counted already joins later.
  bool is_counted() const {
    const bool waits_from_the_start = never_counted && polls_waited >= polls_counted;
    return !waits_from_the_start && cpus.lack_the_pmu == 0;
  }
};

}  // namespace pex::collect
