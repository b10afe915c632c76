#include "daemon/poll_schedule.h"

namespace pex::daemon {

NextPoll next_poll(std::chrono::steady_clock::time_point due,
                   std::chrono::steady_clock::time_point now, std::chrono::nanoseconds period) {
  const auto passed = now > due ? (now - due) / period : 0;
  return {due + (passed + 1) * period, static_cast<std::uint64_t>(passed)};
}

}  // namespace pex::daemon
