#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/group_reading.h"

namespace pex::perf {

/// What one group did at one target between two readings.
struct GroupInterval {
  std::chrono::nanoseconds enabled{};  ///< for a cgroup: its tasks were on that CPU
  std::chrono::nanoseconds running{};  ///< of it, with the PMU
  std::chrono::nanoseconds lost{};     ///< in addition: the target may have run, and nothing of it
                                       ///< was counted
  std::vector<std::uint64_t> counts;   ///< of each event that is open
  /// By member: the kernel no longer returns its count (GroupReading), which is 0 here.
  std::bitset<kMaxGroupMembers> unreadable;
  /// By member: its total fell, as the kernel set it back. It is 0 here.
  std::bitset<kMaxGroupMembers> fell;
  bool time_fell = false;  ///< the same of a time
};

/// Words of the last reading of a group of so many events: time enabled and running, then counts.
constexpr std::size_t words_of_last_reading(std::size_t events) { return 2 + events; }

/// Fills `since` with what has passed since the reading in `last`, which becomes `now`. All words
/// are 0 when a group is opened. `last` may have more words than the reading has members.
void advance(std::span<std::uint64_t> last, const GroupReading& now, GroupInterval& since);

}  // namespace pex::perf
