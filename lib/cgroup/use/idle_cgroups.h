#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
///
/// The CPU time of a directory includes that of all below it. So idle cgroups are read from the top
/// of the tree down, and only where their directory has used more than its busy children have.
class IdleCgroups {
 public:
  using Clock = std::chrono::steady_clock;
  using Cgroups = std::vector<std::shared_ptr<const Cgroup>>;
  /// CPU time of the cgroup at a path and of all below it, since it was created; nothing if it
  /// cannot be read, and the cgroup is busy.
  using CpuTime = std::function<std::optional<std::chrono::nanoseconds>(const std::string& path)>;

  struct Rules {
    std::chrono::nanoseconds close_after{};                              ///< 0: never
    std::chrono::nanoseconds open_after = std::chrono::milliseconds{5};  ///< CPU time
  };

  /// A reading takes 8 us (Linux 6.18, 2 CPUs), and more on machines with many CPUs, as the kernel
  /// adds up what they have. So at most so many are made in an update, and one update each half
  /// second: of the busy ones, round-robin, each so often in `close_after`; of the idle ones and
  /// the directories above enough to read 5000 in two updates, if nothing shows which have worked.
  static constexpr std::size_t kMaxReadsOfBusy = 64;
  static constexpr std::size_t kMaxReadsOfIdle = 3000;
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
  static constexpr std::chrono::nanoseconds kUnknown = std::chrono::hours{24 * 365 * 100};
  struct Directory;
  struct Use {
    std::chrono::nanoseconds cpu_time{};  ///< when it became idle, else at the last reading
    std::chrono::nanoseconds close_after{};
    std::chrono::nanoseconds passed_over{};
    Clock::time_point since;  ///< of `cpu_time`
    Clock::time_point read_at{};
    Directory* directory = nullptr;
    bool is_idle = false;
    bool is_present = true;
  };
  /// A directory with some of the cgroups at or below it. Updates are numbered; 0: none.
  struct Directory {
    const std::string* path = nullptr;
    Directory* above = nullptr;  ///< null: the root, which always works, and is not read
    std::vector<Directory*> children = {};
    Use* use = nullptr;    ///< of its own cgroup, if that is one of them
    std::size_t idle = 0;  ///< number of them
    std::size_t busy = 0;
    std::optional<std::chrono::nanoseconds> cpu_time = {};
    std::chrono::nanoseconds growth{};  ///< since the reading before; 0 if that is not known
    std::uint64_t read_in = 0;          ///< update
    std::uint64_t read_before_in = 0;
    /// At most so much has any idle one used since it became idle; any in children without busy
    /// ones.
    std::chrono::nanoseconds used{};
    std::chrono::nanoseconds unexplained = kUnknown;
    std::chrono::nanoseconds unexplained_then{};  ///< when the visit began
    std::uint64_t begun_in = 0;  ///< update: the visit, which the next update goes on with
    std::uint64_t ended_in = 0;  ///< update: the last visit
  };
  void follow(const Cgroups& present, Clock::time_point now);
  Directory& directory_at(const std::string& path);
  bool read(Directory& at);
  bool visit(Directory& at, Clock::time_point now);
  bool may_have_worked(Directory& at);
  std::chrono::nanoseconds wake_if_used(const Directory& at, Clock::time_point now);
  bool becomes_idle(const Cgroup& cgroup, Use& use, Clock::time_point now);
  void wake(Use& use, std::chrono::nanoseconds cpu_time, Clock::time_point now);

  Rules rules_;
  CpuTime cpu_time_;
  std::unordered_map<std::uint64_t, Use> uses_;             ///< by Cgroup::id
  std::unordered_map<std::string, Directory> directories_;  ///< by path
  Clock::time_point read_at_{};
  std::uint64_t update_ = 0;
  std::size_t reads_left_ = 0;  ///< of idle ones in this update
  std::size_t next_ = 0;        ///< of `present`, to be read if it is busy
  std::size_t idle_ = 0;
};

}  // namespace pex::cgroup
