#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/tree.h"

namespace pex::cgroup {

/// Converts the paths of new cgroups that the kernel reports (PERF_RECORD_CGROUP) to those below
/// the mount. Not thread-safe.
///
/// The path in a record begins at the root of the hierarchy (cgroup_path()), not at that of a
/// cgroup namespace as in /proc/pid/cgroup. A mount may show a part of the hierarchy only: in a
/// cgroup namespace, or if a part of it was bound. What is above that part is known if the inode
/// number of its root is 1, which is the id of each hierarchy's root: nothing. Otherwise it is
/// learned from the first report of a cgroup that the tree knows; until then reports wait, a minute
/// at most.
class ReportedPaths {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kMaxWait{60};

  /// `reported` is what the kernel has reported since the last call, on any CPU and in any order;
  /// what is not a path as the kernel writes it is ignored, and so is what is outside of the mount.
  /// Returns these reports, and those that have waited, with the paths that Cgroup has. If the
  /// kernel has cut a path off, it is that of the directory above, with a '/' at its end.
  std::vector<NamedCgroup> take(std::span<const NamedCgroup> reported, Tree& tree,
                                Clock::time_point now);

 private:
  /// A report that waits for the path above the mount.
  struct Waiting {
    NamedCgroup cgroup;
    Clock::time_point since;
  };

  void learn_path_above(const NamedCgroup& reported, const CgroupNames& names);
  std::optional<std::string> below_mount(std::string_view path) const;
  std::vector<NamedCgroup> place();

  std::deque<Waiting> waiting_;
  std::optional<std::string> above_;  ///< the mount's root in the hierarchy; empty: the same one
  std::optional<std::uint64_t> root_id_;
};

}  // namespace pex::cgroup
