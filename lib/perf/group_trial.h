#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// The result of opening a group and letting it count for a moment.
struct Trial {
  enum class Outcome {
    kCounts,
    kRefused,         ///< `failure` has the refused event and the reason
    kNeverScheduled,  ///< opened, and never scheduled on the PMU: it does not fit, or others hold
                      ///< it
  };
  Outcome outcome = Outcome::kCounts;
  std::optional<OpenFailure> failure;
  std::optional<CounterGroup> group;  ///< is counting; closed with the trial, unless taken
};

/// How long a group may wait to be scheduled; the kernel rotates every perf_event_mux_interval_ms,
/// 4 ms by default, so this is enough even with a dozen other groups.
inline constexpr std::chrono::milliseconds kTrialTimeout{100};

Trial try_group(PerfKernel& kernel, std::span<const CounterSpec> events, const Place& place,
                GroupMode mode);

/// Consecutive events of a group, from the end of the previous piece.
struct Piece {
  std::size_t events = 0;
  bool counts = true;  ///< false: an indivisible part was refused or never scheduled even alone

  bool operator==(const Piece&) const = default;
};

/// Splits a group that does not fit on the PMU into pieces that do, each as large as possible.
/// Tries on the kernel, as only the kernel knows which events exclude each other and which counters
/// are taken. The first `together` events, at least one, are never separated (required_leader.h).
std::vector<Piece> split_to_fit(PerfKernel& kernel, std::span<const CounterSpec> events,
                                const Place& place, GroupMode mode, std::size_t together = 1);

}  // namespace pex::perf
