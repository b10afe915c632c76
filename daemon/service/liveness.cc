#include "daemon/service/liveness.h"

namespace pex::daemon {

void Liveness::observe(Clock::time_point now, bool is_busy, std::uint64_t steps) {
  if (!is_busy || steps != steps_) moved_ = now;
  steps_ = steps;
  is_alive_ = now - moved_ < timeout_;
}

}  // namespace pex::daemon
