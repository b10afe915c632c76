#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cgroup/selection.h"

namespace pex::cgroup {

/// The CPU time of the machine that is in no counted cgroup: that of the root, less that of the
/// outermost counted cgroups; and the cgroups that have most of it. Not thread-safe.
///
/// The kernel's account is exact for cgroups. That of the root of version 2 is sampled at each
/// tick, and has interrupts and kernel threads.
class UncountedUse {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = std::chrono::nanoseconds;
  /// CPU time of the cgroup at a path and of all below it, since it was created; "" is the root.
  using CpuTime = std::function<std::optional<Time>(const std::string& path)>;
  /// The paths of the cgroups in the one at a path, `most` of them.
  using Children =
      std::function<std::vector<std::string>(const std::string& path, std::size_t most)>;

  /// A cgroup that was counted at the last poll.
  struct Counted {
    enum class State { kBusy, kIdle, kEnded };
    std::string path;
    /// CPU time since the first reading of its counters, as these know it: one that did nothing is
    /// not read. Nothing: there are no counters.
    std::optional<Time> counted = {};
    State state = State::kBusy;
    bool is_new = false;  ///< all that is counted came since the last update
  };

  /// Since the update before.
  struct Rate {
    double cpus = 0;   ///< CPU seconds per second
    double share = 0;  ///< of the CPU time of the machine
  };
  struct Part {
    std::string path;  ///< "/": kernel threads, interrupts, and processes in the root
    Rate rate = {};
    bool is_of_all_below = false;  ///< else without the cgroups in it

    /// The path, with "/**" behind it if it is of all below.
    std::string text() const;
  };
  struct Use {
    Time total{};    ///< since the first update; never falls
    Time machine{};  ///< the same of the whole machine
    std::optional<Rate> rate = {};
    std::vector<Part> largest =
        {};  ///< at most kMaxParts with 1 % of the machine, in falling order
  };

  static constexpr std::size_t kMaxParts = 5;
  /// A reading takes 8 us (Linux 6.18, 2 CPUs): so 0.2 % of a CPU.
  static constexpr double kReadsPerSecond = 250;
  static constexpr std::chrono::milliseconds kMinBetween{900};
  /// In one update, in search of the largest.
  static constexpr std::size_t kMaxReadsOfUncounted = 128;
  /// A directory with more children that are not counted is one part.
  static constexpr std::size_t kMaxChildren = 100;

  UncountedUse(CpuTime cpu_time, Children children)
      : cpu_time_(std::move(cpu_time)), children_(std::move(children)) {}

  bool is_due(Clock::time_point now) const { return now >= due_; }
  /// Nothing while the CPU time of the root cannot be read.
  std::optional<Use> update(const std::vector<Counted>& counted, Clock::time_point now);

 private:
  struct Known {
    std::optional<Time> used;
    std::optional<Time> counted;
  };
  struct Node {
    std::string path;
    std::optional<Time> part;  ///< of its growth, in no counted cgroup; nothing: not known yet
    Time at_most{};
    bool operator<(const Node& other) const { return at_most < other.at_most; }
  };
  using Times = std::unordered_map<std::string, Time>;

  std::optional<Time> read(const std::string& path);
  Time growth_of(const Counted& cgroup);
  Time add_counted(const std::vector<Counted>& counted);
  std::vector<Part> find_largest(Node root, Time machine);
  std::vector<Node> children_of(const Node& node, const std::vector<std::string>& paths);

  CpuTime cpu_time_;
  Children children_;
  std::unordered_map<std::string, Known> known_;  ///< counted cgroups, by path
  Times inside_;   ///< growth of the counted ones in each directory above one, and of themselves
  Times read_;     ///< uncounted directories that the last update has read
  Times reading_;  ///< that this one has read
  std::optional<Time> root_;
  Time sum_{};  ///< of the differences
  Use use_;
  std::size_t reads_ = 0;  ///< in this update
  Clock::time_point updated_at_;
  Clock::time_point due_;
};

/// "/slurm/uid_1000/job_77" -> "/slurm/uid_*/job_*": a pattern for cgroups.include that matches the
/// path, and others that differ in numbers and ids.
std::string pattern_for(std::string_view path);

/// "kernel threads, interrupts, and processes in no cgroup; groups of scope cpu count them": why it
/// is not counted, and what to do, if anything. Never empty.
std::string why_uncounted(const UncountedUse::Part& part, const Selection& selection);

}  // namespace pex::cgroup
