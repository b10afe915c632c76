#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cgroup/use/idle_cgroups.h"
#include "count/row_set.h"
#include "count/snapshot.h"
#include "estimate/group_estimator.h"
#include "estimate/missing_time.h"
#include "targets/counting_plan.h"
#include "targets/targets.h"

namespace pex::collect {

/// Time in which cgroups may have run while nothing of them was counted: records of switches were
/// lost, or a CPU was away. At the end of a poll the kernel's account of their CPU time shows how
/// much of it they did run, and what they did then is estimated by what they did otherwise. Nothing
/// is read until the first loss of any cgroup, which is unmeasured, as is what cannot be known; but
/// no cgroup ran for longer than the account has of all its life. From then on each cgroup is read
/// at one of kPollsOfATurn polls, and at each after a loss of its own.
/// Not thread-safe, but for add() with slots in different ranges of Ledger::kSlotsOfARange.
class Losses {
 public:
  using CpuTime = cgroup::IdleCgroups::CpuTime;
  /// Adds this to the totals of a group at a slot.
  using Add = std::function<void(std::size_t slot, std::size_t group, const GroupSum& more)>;

  /// A reading takes 8 us (Linux 6.18, 2 CPUs), and more with many CPUs: the time of further
  /// cgroups that lack something in a poll is unmeasured.
  static constexpr std::size_t kMaxReads = 1000;
  static constexpr std::size_t kPollsOfATurn = 30;

  explicit Losses(std::size_t groups) : groups_(groups) {}

  /// Another plan has so many groups. What was not settled is dropped.
  void follow(std::size_t groups);
  void resize(std::size_t slots);
  void forget(std::size_t slot);

  void add(std::size_t slot, std::size_t group, std::chrono::nanoseconds time) {
    lossy_.add(slot);
    lost_[slot * groups_ + group] += time;
  }

  /// `tables`: of each group of scope cgroup, with a row for each slot. `is_whole`: they have what
  /// all CPUs counted up to now.
  void settle(const ScopePlan& plan, const TargetSet& targets, std::span<GroupTable* const> tables,
              bool is_whole, const CpuTime& cpu_time, const Add& add);

 private:
  struct OfGroup {
    GroupSum before;  ///< up to the last settle()
    estimate::GroupEstimator estimator;
    bool has_counted = false;  ///< so that the estimator has a history
  };
  /// As of the last reading.
  struct Account {
    std::uint64_t cgroup = 0;  ///< Cgroup::id
    std::size_t group = 0;     ///< whose counted time is compared: one that all CPUs count
    std::chrono::nanoseconds used{};
    std::chrono::nanoseconds counted{};
    estimate::MissingTime missing;
    std::vector<OfGroup> groups;  ///< for a while after a loss; empty: nothing is estimated
  };
  class Settling;

  std::size_t groups_;
  RowSet lossy_;                                       ///< slots
  std::vector<std::chrono::nanoseconds> lost_;         ///< [slot * groups + group]
  std::unordered_map<std::size_t, Account> accounts_;  ///< by slot
  bool has_lost_ = false;
  std::size_t polls_ = 0;
  std::size_t last_loss_ = 0;  ///< poll
};

}  // namespace pex::collect
