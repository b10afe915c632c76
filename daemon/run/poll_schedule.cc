#include "daemon/run/poll_schedule.h"

#include <algorithm>

namespace pex::daemon {

void PollSchedule::restart(Clock::time_point now, std::chrono::nanoseconds period) {
  due_ = now + period;
  period_ = period;
}

std::uint64_t PollSchedule::advance(Clock::time_point now) {
  const auto passed = now > due_ ? (now - due_) / period_ : 0;
  due_ += (passed + 1) * period_;
  return static_cast<std::uint64_t>(passed);
}

std::chrono::nanoseconds late_after(std::chrono::nanoseconds period) {
  constexpr std::chrono::nanoseconds kMin = std::chrono::milliseconds{100};
  constexpr std::chrono::nanoseconds kMax = std::chrono::seconds{2};  // as ScrapeCache waits
  return std::clamp(period / 2, kMin, kMax);
}

}  // namespace pex::daemon
