#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pex::collect {

/// Counts the workers that a round (one poll or reconciliation) still waits for, like std::latch,
/// and gives the round to exactly one owner: the last worker to arrive, or the caller of close()
/// before that. A worker that arrives after its round was closed changes nothing.
///
///   start() --> release() --> arrive() of all but the last --> the last arrive(): its caller owns
///                  |                    \--> close(): its caller owns the round
///                  \--> true if all have arrived already: the caller keeps the round
///
/// Takes no lock; from any thread.
class RoundLatch {
 public:
  /// No owner before release().
  void start(std::uint32_t round, std::size_t workers) { state_ = of(round) | kHeld | workers; }
  /// Called by the owner, when all workers have been woken. True if all have arrived already.
  bool release() { return (state_.fetch_and(~kHeld) & kWorkers) == 0; }

  /// Called by a worker. True if it owns the round now.
  bool arrive(std::uint32_t round) {
    std::uint64_t now = state_;
    do {
      if ((now & kRound) != of(round) || (now & kWorkers) == 0) return false;
    } while (!state_.compare_exchange_weak(now, now - 1));
    return (now & ~kRound) == 1;
  }
  /// Released, and some workers have not arrived.
  bool is_waiting() const { return is_waiting(state_); }
  /// Ends the wait of `round` for those that have not arrived. True if the caller owns the round
  /// now. False in another round: what the caller knows is not of that.
  bool close(std::uint32_t round) {
    std::uint64_t now = state_;
    do {
      if ((now & kRound) != of(round) || !is_waiting(now)) return false;
    } while (!state_.compare_exchange_weak(now, now & kRound));
    return true;
  }

 private:
  static constexpr std::uint64_t kWorkers = 0x7fff'ffff;
  static constexpr std::uint64_t kHeld = 0x8000'0000;
  static constexpr std::uint64_t kRound = 0xffff'ffff'0000'0000;
  static std::uint64_t of(std::uint32_t round) { return std::uint64_t{round} << 32; }
  static bool is_waiting(std::uint64_t state) {
    return (state & kHeld) == 0 && (state & kWorkers) > 0;
  }

  std::atomic<std::uint64_t> state_ = 0;
};

}  // namespace pex::collect
