#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cgroup/cgroup.h"

namespace pex::cgroup {

/// Which cgroups do nothing, so that their counters can be closed, by their CPU time:
///
///   busy --no CPU time for close_after--> idle --CPU time of open_after--> busy
///
/// Each time that a cgroup turns out to be busy after all, close_after is twice as long for it: one
/// that works now and then soon keeps its counters. Not thread-safe.
class IdleCgroups {
 public:
  using Clock = std::chrono::steady_clock;
  using Cgroups = std::vector<std::shared_ptr<const Cgroup>>;
  /// CPU time since a cgroup was created; nothing if it cannot be read, and the cgroup is busy.
  using CpuTime = std::function<std::optional<std::chrono::nanoseconds>(const Cgroup& cgroup)>;

  struct Rules {
    std::chrono::nanoseconds close_after{};                              ///< 0: never
    std::chrono::nanoseconds open_after = std::chrono::milliseconds{5};  ///< CPU time
  };

  /// Each read takes some microseconds, and more on machines with many CPUs, as the kernel adds up
  /// what they have. So at most so many are read in an update, round-robin, and in one update each
  /// half second: all that are idle, and those that are busy so often in `close_after`.
  static constexpr std::size_t kMaxReads = 64;
  static constexpr std::chrono::milliseconds kBetweenReads{500};
  static constexpr int kReadsOfBusy = 16;

  IdleCgroups(Rules rules, CpuTime cpu_time) : rules_(rules), cpu_time_(std::move(cpu_time)) {}

  /// From now on; longer times that cgroups had (close_after) end.
  void set_rules(Rules rules);

  /// Follows `present`. True if some have become idle or busy.
  bool update(const Cgroups& present, Clock::time_point now);

  /// All are busy from now on. True if some were idle.
  bool wake_all(const Cgroups& present, Clock::time_point now);

  bool is_idle(const Cgroup& cgroup) const;
  std::size_t idle() const { return idle_; }

  /// The CPU time that a cgroup has used while it was idle, once it is busy, and only once.
  std::chrono::nanoseconds take_passed_over(const Cgroup& cgroup);

 private:
  struct Use {
    std::chrono::nanoseconds cpu_time{};  ///< when it became idle, else at the last reading
    std::chrono::nanoseconds close_after{};
    std::chrono::nanoseconds passed_over{};
    Clock::time_point since;  ///< of `cpu_time`
    Clock::time_point read_at{};
    bool is_idle = false;
    bool is_present = true;
  };
  void follow(const Cgroups& present, Clock::time_point now);
  bool is_due(const Use& use, Clock::time_point now) const;
  bool update(const Cgroup& cgroup, Use& use, Clock::time_point now);
  void wake(Use& use, std::chrono::nanoseconds cpu_time, Clock::time_point now);

  Rules rules_;
  CpuTime cpu_time_;
  std::unordered_map<std::uint64_t, Use> uses_;  ///< by Cgroup::id
  Clock::time_point read_at_{};
  std::size_t next_ = 0;  ///< of `present`, to be read
  std::size_t idle_ = 0;
};

}  // namespace pex::cgroup
