#pragma once

#include <chrono>
#include <cstdint>

namespace pex::daemon {

/// The next point of the grid `due`, `due` + period, ... that lies after `now`, and how many points
/// were passed on the way. Points are absolute, so the time a poll takes does not stretch the
/// period; those that passed are skipped and counted, never made up for.
struct NextPoll {
  std::chrono::steady_clock::time_point due;
  std::uint64_t missed = 0;
};
NextPoll next_poll(std::chrono::steady_clock::time_point due,
                   std::chrono::steady_clock::time_point now, std::chrono::nanoseconds period);

/// How long a poll waits for a CPU that shows no sign of life: half of the time to the next poll,
/// so that this one is not held up, but never so short that a CPU with much to do is taken for one
/// that hangs, nor so long that a scrape that waits for the poll is.
std::chrono::nanoseconds late_after(std::chrono::nanoseconds period);

}  // namespace pex::daemon
