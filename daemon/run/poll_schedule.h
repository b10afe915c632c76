#pragma once

#include <chrono>
#include <cstdint>

namespace pex::daemon {

/// When the next poll is due. Polls follow each other by a period:
///
///   - A poll that the timer begins leaves the grid unchanged (`due`, `due` + period, ...). Neither
///     a late timer nor a long poll stretches the period. Points that have passed are skipped and
///     counted, never made up for.
///   - A poll that is requested in between replaces the next one, and begins a new grid. So a
///     scrape at every period that triggers a read costs one poll, not two. If the loop was held
///     up, a request may be handled before the timer: the points that have passed are counted then
///     as well.
///
/// Between the beginnings of two polls there is at most one period.
class PollSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// The next poll is due one `period` after `now`. Returns how many were skipped until now.
  std::uint64_t restart(Clock::time_point now, std::chrono::nanoseconds period);
  /// The next poll is due at `now`.
  void start(Clock::time_point now) { due_ = now; }

  Clock::time_point due() const { return due_; }

  /// The timer fired at `now`: moves on to the next point, and returns how many were skipped.
  std::uint64_t advance(Clock::time_point now);
  /// A requested poll begins at `now`; returns how many were skipped.
  std::uint64_t begin_early(Clock::time_point now) { return restart(now, period_); }

 private:
  std::uint64_t passed(Clock::time_point now) const;

  Clock::time_point due_;
  std::chrono::nanoseconds period_{};
};

/// How long a poll waits for a CPU that shows no sign of life: half of the time to the next poll,
/// so that the next one is not delayed. Bounded below, so that a busy CPU is not taken for one that
/// hangs, and above, so that a scrape that waits for the poll is not delayed too long.
std::chrono::nanoseconds late_after(std::chrono::nanoseconds period);

}  // namespace pex::daemon
