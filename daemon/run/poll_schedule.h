#pragma once

#include <chrono>
#include <cstdint>

namespace pex::daemon {

/// When the next poll is due. Polls follow each other by a period:
///
///   - One that the timer begins leaves the grid as it is, `due`, `due` + period, ...: neither a
///     late timer nor a long poll stretches the period. Points that have passed are skipped and
///     counted, never made up for.
///   - One that somebody asks for in between takes the place of the next one, and begins a new
///     grid. So a scrape at every period that has the counts read costs one poll, not two.
///
/// Between the beginnings of two polls there is at most one period.
class PollSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// From now on the next poll is due one `period` after `now`.
  void restart(Clock::time_point now, std::chrono::nanoseconds period);
  /// The next poll is due at `now`.
  void start(Clock::time_point now) { due_ = now; }

  Clock::time_point due() const { return due_; }

  /// The timer fired at `now`: moves on to the next point, and gives how many were passed.
  std::uint64_t advance(Clock::time_point now);
  /// A poll was asked for and begins at `now`.
  void begin_early(Clock::time_point now) { due_ = now + period_; }

 private:
  Clock::time_point due_;
  std::chrono::nanoseconds period_{};
};

/// How long a poll waits for a CPU that shows no sign of life: half of the time to the next poll,
/// so that this one is not held up, but never so short that a CPU with much to do is taken for one
/// that hangs, nor so long that a scrape that waits for the poll is.
std::chrono::nanoseconds late_after(std::chrono::nanoseconds period);

}  // namespace pex::daemon
