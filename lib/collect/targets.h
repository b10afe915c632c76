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
#include "host/topology.h"

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
  std::size_t unreadable = 0;         ///< cgroup directories that cannot be read

  bool is_online(int cpu) const;
};

/// Follows the CPUs and cgroups of the machine. Not thread-safe.
class TargetTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without `discovery` no cgroups are counted.
  TargetTracker(const host::HostRoots& roots, std::optional<cgroup::Discovery> discovery,
                Budget budget, std::chrono::nanoseconds linger);

  /// The targets as of now, and what could not be found out. Where the machine cannot tell its CPUs
  /// or its cgroups, those of before still hold; each fails on its own.
  struct Update {
    std::shared_ptr<const TargetSet> targets;  ///< the same object as before when nothing changed
    std::vector<Error> failures;
  };
  Update update(Clock::time_point now);

 private:
  using Found = cgroup::Discovery::Found;

  std::vector<int> find_cpus(std::vector<Error>& failures);
  std::shared_ptr<const Found> find_cgroups(std::size_t capacity, Clock::time_point now,
                                            std::vector<Error>& failures);
  bool any_expired(Clock::time_point now) const;
  std::vector<CgroupTarget> merge(const Found& found, Clock::time_point now);
  void drop_expired(std::vector<CgroupTarget>& targets, Clock::time_point now);
  void drop_surplus(std::vector<CgroupTarget>& targets, std::size_t cpus);

  host::OnlineCpus online_cpus_;
  std::optional<cgroup::Discovery> discovery_;
  Budget budget_;
  std::chrono::nanoseconds linger_;
  std::shared_ptr<const TargetSet> current_;
  std::shared_ptr<const Found> found_;                         ///< what current_ was made of
  std::unordered_map<std::uint64_t, Clock::time_point> gone_;  ///< when each lingering series ended
  std::uint64_t next_series_ = 1;
};

}  // namespace pex::collect
