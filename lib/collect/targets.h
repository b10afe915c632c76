#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cgroup/discovery.h"
#include "collect/budget.h"
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
  std::vector<int> online_cpus;
  std::vector<CgroupTarget> cgroups;  ///< by rising `series`
  std::size_t present = 0;            ///< of them still exist
  std::size_t left_out = 0;           ///< cgroups that match as well and were too many
  std::string_view left_out_reason;   ///< see Capacity::bound

  bool is_online(int cpu) const;
};

/// Follows the CPUs and cgroups of the machine. Not thread-safe.
class TargetTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without `discovery` no cgroups are counted.
  TargetTracker(host::HostRoots roots, std::optional<cgroup::Discovery> discovery, Budget budget,
                std::chrono::nanoseconds linger);

  /// The targets as of now; the same object as before when nothing changed. Fails when the machine
  /// cannot tell; the targets of before then still hold.
  Result<std::shared_ptr<const TargetSet>> update(Clock::time_point now);

 private:
  std::vector<CgroupTarget> merge(const cgroup::Discovery::Found& found, Clock::time_point now);
  void drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now);

  host::HostRoots roots_;
  std::optional<cgroup::Discovery> discovery_;
  Budget budget_;
  std::chrono::nanoseconds linger_;
  std::shared_ptr<const TargetSet> current_;
  std::shared_ptr<const cgroup::Discovery::Found> found_;
  std::unordered_map<std::uint64_t, Clock::time_point> gone_;  ///< when each lingering series ended
  std::uint64_t next_series_ = 1;
};

}  // namespace pex::collect
