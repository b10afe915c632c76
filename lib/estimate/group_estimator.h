#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pex::estimate {

/// How much of an interval the PMU saw.
enum class Coverage {
  kComplete,  ///< had the PMU whenever it wanted it: the value is exact, and may be zero
  kScaled,    ///< shared the PMU: the value is an estimate
  kNone,      ///< wanted the PMU and never had it: there is no value, which is not zero
};

/// Events over one interval.
struct Estimate {
  std::uint64_t observed = 0;  ///< counted while the group had the PMU: exact
  double extrapolated = 0;     ///< for the rest of the time; never negative
  Coverage coverage = Coverage::kComplete;
};

/// All three arguments are increments over the interval, not totals: scaled totals can fall, and a
/// counter must not. `enabled` = 0 is an exact zero (a cgroup none of whose tasks was on the CPU).
/// The extrapolated part is raw * (enabled - running) / running in floating point, which no
/// interval can overflow; integers overflow 64 bits after 4 s at 4 GHz.
Estimate scale(std::uint64_t raw, std::chrono::nanoseconds enabled,
               std::chrono::nanoseconds running);

/// Turns the kernel's totals for one group on one CPU into increments that add up to a monotonic
/// estimate: observed counts exactly, the extrapolated part with its fraction carried to the next
/// interval. No allocation after construction.
///
/// States of an interval:
///   complete, scaled   increments are given and the next interval starts here
///   none               no increments; the interval stays open and joins the next one, so that what
///                      was counted in it is never lost
/// Hostile input (counts or times that fall) yields zero, never a fall and never a wild value.
class GroupEstimator {
 public:
  explicit GroupEstimator(std::size_t events);

  /// `counts` and `increments` have one element for each event, `enabled` and `running` are totals
  /// in the sense of perf::GroupReading. `increments` is written in any case.
  Coverage advance(std::chrono::nanoseconds enabled, std::chrono::nanoseconds running,
                   std::span<const std::uint64_t> counts, std::span<std::uint64_t> increments);

 private:
  std::chrono::nanoseconds enabled_{};  ///< totals at the start of the open interval
  std::chrono::nanoseconds running_{};
  struct Event {
    std::uint64_t count = 0;  ///< total at the start of the open interval
    double fraction = 0;      ///< of an event, carried from earlier intervals; 0 <= fraction < 1
  };
  std::vector<Event> events_;
};

}  // namespace pex::estimate
