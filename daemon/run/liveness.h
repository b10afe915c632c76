#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace pex::daemon {

/// Tells whether something works, from what can be seen of it now and then: it lives while it has
/// nothing to do, and while what it does goes on. It may take as long as it likes.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  /// It may stand still for that long: the longest that a single step can take. To be looked at
  /// more often.
  explicit Liveness(Clock::duration patience) : patience_(patience) {}

  /// What is seen now. `steps` grows with everything it does.
  void look(Clock::time_point now, bool is_busy, std::uint64_t steps);

  /// As of the last look; true before the first.
  bool is_alive() const { return is_alive_; }

 private:
  Clock::duration patience_;
  Clock::time_point moved_{};  ///< when a look last saw it idle, or further than before
  std::uint64_t steps_ = std::numeric_limits<std::uint64_t>::max();  ///< at the last look
  bool is_alive_ = true;
};

}  // namespace pex::daemon
