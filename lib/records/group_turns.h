#pragma once

#include <chrono>
#include <cstddef>
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
///   one counts in each turn --it is kept off the PMU--> left to the kernel --kTriesAgain--> all
///
/// A group that is kept off the PMU although it counts alone shares it with groups that have no
/// turns: those of other programs, and those that are counted by descriptors. With the kernel's
/// rotation all of them have the same part of the time.
///
/// A thread has to wake up for each turn, so turns are longer while the CPU is idle. They differ in
/// length, so that no rhythm of a load follows them.
///
/// Takes plain values: knows no kernel. Not thread-safe.
class GroupTurns {
 public:
  /// On average, on a CPU that is busy, and at most on one that is idle.
  static constexpr std::chrono::nanoseconds kTurn = std::chrono::milliseconds{20};
  static constexpr std::chrono::nanoseconds kMaxTurn = std::chrono::milliseconds{60};
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

  /// Called when a turn ends, or at any time while there are no turns: those that count from `now`
  /// on. `members` in ascending order; `busy`: for how long cgroups have had the CPU, in all.
  std::vector<std::size_t> next(std::span<const Member> members, std::chrono::nanoseconds now,
                                std::chrono::nanoseconds busy);

  /// Another one is enabled: the next turn begins at once.
  void add_member(std::chrono::nanoseconds now);
  /// All are enabled, until next() is called: no turn can begin where the caller is.
  void interrupt();

  /// When the turn ends; nothing while all groups count.
  std::optional<std::chrono::nanoseconds> end() const { return end_; }

 private:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  bool any_lost(std::span<const Member> members, std::chrono::nanoseconds passed) const;
  void see(std::span<const Member> members, std::span<const Member> chosen);
  void decide(std::size_t all, bool is_lost, std::chrono::nanoseconds now);
  std::chrono::nanoseconds random_length();

  std::minstd_rand random_;
  std::size_t together_ = kAll;            ///< at most, in one turn
  std::chrono::nanoseconds changed_at_{};  ///< together_
  bool is_left_to_kernel_ = false;
  bool is_trial_ = false;  ///< it is not known yet whether all that count fit
  std::size_t first_ = 0;  ///< of the groups in this turn
  std::optional<std::chrono::nanoseconds> end_;
  std::chrono::nanoseconds length_ = kTurn;  ///< on average
  std::chrono::nanoseconds begun_{};
  std::chrono::nanoseconds busy_{};
  std::vector<Member> seen_;  ///< those that count, when the turn began; empty: it is not judged
};

}  // namespace pex::collect
