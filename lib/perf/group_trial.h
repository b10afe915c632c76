#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "perf/counter_group.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// What came of opening a group and letting it count for a moment.
struct Trial {
  enum class Outcome {
    kCounts,
    kRefused,         ///< `failure` says by which event and why
    kNeverScheduled,  ///< opened, and had no turn on the PMU: it does not fit, or others hold it
  };
  Outcome outcome = Outcome::kCounts;
  std::optional<OpenFailure> failure;
  std::optional<CounterGroup> group;  ///< that counts; closed with the trial, unless taken
};

/// How long a group may wait for its first turn; turns change every perf_event_mux_interval_ms, 4
/// ms by default, so even a dozen other groups had theirs.
inline constexpr std::chrono::milliseconds kTrialPatience{100};

Trial try_group(PerfKernel& kernel, std::span<const CounterSpec> events, const Place& place,
                GroupMode mode);

/// Some events of a group in their order, from where the piece before it ends.
struct Piece {
  std::size_t events = 0;
  bool counts = true;  ///< false: what cannot be cut was refused or had no turn even alone

  bool operator==(const Piece&) const = default;
};

/// Cuts a group that does not fit on the PMU into pieces that do, each as large as it can be. Asks
/// the kernel, who alone knows which events exclude each other and what is taken. The first
/// `together` events, one at least, are never cut apart (required_leader.h).
std::vector<Piece> split_to_fit(PerfKernel& kernel, std::span<const CounterSpec> events,
                                const Place& place, GroupMode mode, std::size_t together = 1);

}  // namespace pex::perf
