#include "daemon/run/poll_schedule.h"

#include <algorithm>

namespace pex::daemon {

NextPoll next_poll(std::chrono::steady_clock::time_point due,
                   std::chrono::steady_clock::time_point now, std::chrono::nanoseconds period) {
  const auto passed = now > due ? (now - due) / period : 0;
  return {due + (passed + 1) * period, static_cast<std::uint64_t>(passed)};
}

std::chrono::nanoseconds late_after(std::chrono::nanoseconds period) {
  constexpr std::chrono::nanoseconds kLeast = std::chrono::milliseconds{100};
  constexpr std::chrono::nanoseconds kMost = std::chrono::seconds{2};  // as ScrapeCache waits
  return std::clamp(period / 2, kLeast, kMost);
}

}  // namespace pex::daemon
