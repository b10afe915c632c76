#include "daemon/run/poll_schedule.h"

#include <algorithm>

namespace pex::daemon {

std::uint64_t PollSchedule::restart(Clock::time_point now, std::chrono::nanoseconds period) {
  const std::uint64_t skipped = passed(now);
  due_ = now + period;
  period_ = period;
  return skipped;
}

std::uint64_t PollSchedule::advance(Clock::time_point now) {
  const std::uint64_t skipped = passed(now);
  due_ += (skipped + 1) * period_;
  return skipped;
}

/// Whole periods since the poll that is due now.
std::uint64_t PollSchedule::passed(Clock::time_point now) const {
  const bool is_late = period_.count() > 0 && now > due_;  // none before the first use
  return is_late ? static_cast<std::uint64_t>((now - due_) / period_) : 0;
}

std::chrono::nanoseconds late_after(std::chrono::nanoseconds period) {
  constexpr std::chrono::nanoseconds kMin = std::chrono::milliseconds{100};
  constexpr std::chrono::nanoseconds kMax = std::chrono::seconds{2};  // as ScrapeCache waits
  return std::clamp(period / 2, kMin, kMax);
}

}  // namespace pex::daemon
