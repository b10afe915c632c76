#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace pex::perf {

/// The maximum number of requested events in one group.
inline constexpr std::size_t kMaxGroupEvents = 64;
/// The maximum number of members of one group: those, a clock and a reference. Bounds the buffer of
/// a read.
inline constexpr std::size_t kMaxGroupMembers = kMaxGroupEvents + 2;

/// The state of a group at one instant. All numbers are totals since the group was opened, and none
/// ever decreases.
struct GroupReading {
  enum class State {
    kCounting,  ///< the usual case; the other fields are valid
    kOffPmu,    ///< a pinned group lost its place on the PMU: no numbers until enabled again
  };

  State state = State::kCounting;
  std::chrono::nanoseconds time_enabled{};  ///< for a cgroup this advances only while its tasks are
                                            ///< on that CPU
  std::chrono::nanoseconds time_running{};  ///< it had the PMU; never more than time_enabled
  std::vector<std::uint64_t> counts;        ///< raw, in the order the events were opened
  /// By member: the kernel no longer returns its count, which is 0 here. Only after the CPU went
  /// offline.
  std::bitset<kMaxGroupMembers> unreadable;

  /// Cuts the reading to its first members.
  void keep_first(std::size_t members);
};

/// Words of one read of a group of `events`, in the layout of PERF_FORMAT_GROUP | ID |
/// TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING (perf_event_open(2), "Reading results"):
///   [0] n   [1] time_enabled, ns   [2] time_running, ns   then n times: value, id
constexpr std::size_t words_in_reading(std::size_t events) { return 3 + 2 * events; }

/// Fills `reading` with the counts of the events `ids`, in that order; a reading that is used again
/// costs no allocation. Fails with EBADMSG when the words do not describe exactly these events.
Result<> decode_group(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                      GroupReading& reading);

}  // namespace pex::perf
