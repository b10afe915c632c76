#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pex::collect {

/// Counts the workers that a round (one poll or reconciliation) still waits for, like std::latch.
/// A worker that arrives after its round was closed changes nothing. Takes no lock; from any
/// thread.
class RoundLatch {
 public:
  /// `round` waits for so many workers from now on.
  void start(std::uint32_t round, std::size_t workers) { state_ = of(round) | workers; }

  /// Called by a worker. True for the last one that `round` waits for.
  bool arrive(std::uint32_t round) {
    std::uint64_t now = state_;
    do {
      if ((now & kRound) != of(round) || !is_waiting(now)) return false;
    } while (!state_.compare_exchange_weak(now, now - 1));
    return !is_waiting(now - 1);
  }
  /// Some workers have not arrived.
  bool is_waiting() const { return is_waiting(state_); }
  /// The round no longer waits for those.
  void close() { state_ &= kRound; }

 private:
  static constexpr std::uint64_t kRound = 0xffff'ffff'0000'0000;
  static std::uint64_t of(std::uint32_t round) { return std::uint64_t{round} << 32; }
  static bool is_waiting(std::uint64_t state) { return (state & ~kRound) != 0; }

  std::atomic<std::uint64_t> state_ = 0;
};

}  // namespace pex::collect
