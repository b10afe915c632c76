#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace pex::daemon {

/// Decides from periodic observations whether a subject is alive: it is while it is idle, and while
/// it makes progress, however slowly.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  /// The subject may stand still for `timeout`: the longest duration of a single step. Call
  /// observe() more often than that.
  explicit Liveness(Clock::duration timeout) : timeout_(timeout) {}

  /// Records the current state. `steps` grows with all progress.
  void observe(Clock::time_point now, bool is_busy, std::uint64_t steps);

  /// As of the last observation; true before the first.
  bool is_alive() const { return is_alive_; }

 private:
  Clock::duration timeout_;
  Clock::time_point moved_{};  ///< when an observation last found it idle, or with more steps
  std::uint64_t steps_ = std::numeric_limits<std::uint64_t>::max();  ///< at the last observation
  bool is_alive_ = true;
};

}  // namespace pex::daemon
