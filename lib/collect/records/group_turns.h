#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace pex::collect {

/// Which groups of a CPU count, where not all of them fit on the PMU: as many as fit, in turns of
/// some 20 ms. The kernel would rotate them too, at any instant. As records show what a group has
/// counted only at switches, what a cgroup did around a rotation is then lost, so more is counted
/// of cgroups that switch often. A turn ends where all groups have just been read, in a switch.
///
///   all count --one is kept off the PMU--> one less in each turn, and so on
///   so many count in each turn --kTriesAgain--> one more
///
/// A thread has to wake up for each turn, so turns get longer while the CPU is idle.
///
/// Groups that lose the PMU also alone have to share it with those of other programs. Turns differ
/// in length, so that no rhythm of a load follows them.
///
/// Takes plain values: knows no kernel. Not thread-safe.
class GroupTurns {
 public:
  /// On average, on a CPU that is busy, and at most on one that is idle.
  static constexpr std::chrono::nanoseconds kTurn = std::chrono::milliseconds{20};
  static constexpr std::chrono::nanoseconds kMaxTurn = std::chrono::milliseconds{200};
  static constexpr std::chrono::nanoseconds kTriesAgain = std::chrono::minutes{1};
  /// A group has lost the PMU if it was off it for a larger part of the time.
  static constexpr int kMaxOffPmuPercent = 2;
  /// The CPU is idle if cgroups had it for a smaller part of the time.
  static constexpr int kMinBusyPercent = 2;

  /// A group that can lose the PMU, and is not paused.
  struct Member {
    std::size_t group = 0;  ///< its number
    bool is_enabled = false;
    std::chrono::nanoseconds off_pmu{};  ///< while it was enabled, since it was opened
  };

  /// Turns with the same seed have the same lengths.
  explicit GroupTurns(unsigned seed) : random_(seed + 1) {}

  /// Called when a turn ends, or at any time while all groups count: those that count from `now`
  /// on. `members` in ascending order; `busy`: for how long cgroups have had the CPU, in all.
  std::vector<std::size_t> next(std::span<const Member> members, std::chrono::nanoseconds now,
                                std::chrono::nanoseconds busy);

  /// The members have changed: another turn begins at once.
  void end_at(std::chrono::nanoseconds now) { end_ = now; }

  /// When the turn ends; nothing while all groups count.
  std::optional<std::chrono::nanoseconds> end() const { return end_; }

 private:
  struct Seen {
    std::size_t group = 0;
    std::chrono::nanoseconds off_pmu{};
  };

  bool any_lost(std::span<const Member> members, std::chrono::nanoseconds passed) const;
  std::chrono::nanoseconds random_length();

  std::minstd_rand random_;
  std::size_t together_ = std::numeric_limits<std::size_t>::max();  ///< at most, in one turn
  std::chrono::nanoseconds changed_at_{};                           ///< together_
  std::size_t first_ = 0;                                           ///< of the groups in this turn
  std::optional<std::chrono::nanoseconds> end_;
  std::chrono::nanoseconds length_ = kTurn;  ///< on average
  std::chrono::nanoseconds seen_at_{};
  std::chrono::nanoseconds busy_{};
  std::vector<Seen> seen_;  ///< those that were enabled then
};

}  // namespace pex::collect
