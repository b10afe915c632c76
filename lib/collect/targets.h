#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cgroup/discovery.h"
#include "collect/budget.h"
#include "collect/machine_cpus.h"
#include "collect/poll_report.h"
#include "host/roots.h"

namespace pex::collect {

/// One exported cgroup. A cgroup made anew under the path of one that lingers continues its series:
/// there are never two samples of one path, and what was counted stays counted.
struct CgroupTarget {
  std::uint64_t series = 0;  ///< identity of the series; never used again
  std::string path;
  std::shared_ptr<const cgroup::Cgroup> cgroup;  ///< null while it lingers after its end
};

/// Where to count: immutable, shared by all CPUs of one poll.
struct TargetSet {
  std::shared_ptr<const MachineCpus> cpus = std::make_shared<const MachineCpus>();
  std::vector<CgroupTarget> cgroups;  ///< by rising `series`
  std::size_t present = 0;            ///< of them still exist
  std::size_t left_out = 0;           ///< cgroups that match as well and were too many
  std::string_view left_out_reason;   ///< see Capacity::bound
  std::size_t unreadable = 0;         ///< cgroup directories that cannot be read
};

/// Follows the CPUs and cgroups of the machine. Not thread-safe.
class TargetTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without `discovery` no cgroups are counted.
  TargetTracker(const host::HostRoots& roots, std::shared_ptr<const CountingPlan> plan,
                std::optional<cgroup::Discovery> discovery, Budget budget,
                std::chrono::nanoseconds linger);

  /// The targets as of now: the same object as before when nothing changed. Where the machine
  /// cannot tell its CPUs or its cgroups, those of before still hold; each fails on its own, into
  /// the report.
  std::shared_ptr<const TargetSet> update(Clock::time_point now, PollReport& report);

 private:
  using Found = cgroup::Discovery::Found;

  std::shared_ptr<const MachineCpus> find_cpus(PollReport& report);
  std::shared_ptr<const Found> find_cgroups(std::size_t capacity, Clock::time_point now,
                                            PollReport& report);
  bool any_expired(Clock::time_point now) const;
  std::vector<CgroupTarget> merge(const Found& found, Clock::time_point now);
  void drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now);
  void drop_surplus(std::vector<CgroupTarget>& targets);

  std::shared_ptr<const CountingPlan> plan_;
  CpuTracker cpus_;
  std::optional<cgroup::Discovery> discovery_;
  Budget budget_;
  Need need_;  ///< with the CPUs of current_
  std::chrono::nanoseconds linger_;
  std::shared_ptr<const TargetSet> current_;
  std::shared_ptr<const Found> found_;                         ///< what current_ was made of
  std::unordered_map<std::uint64_t, Clock::time_point> gone_;  ///< when each lingering series ended
  std::uint64_t next_series_ = 1;
};

}  // namespace pex::collect
