#include "cgroup/hierarchy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace pex::cgroup {
namespace {

std::optional<Hierarchy::Version> version_carrying_perf_event(const host::Mount& mount) {
  if (mount.fs_type == "cgroup" && mount.has_option("perf_event")) return Hierarchy::Version::kV1;
  if (mount.fs_type == "cgroup2") return Hierarchy::Version::kV2;
  return {};
}

/// v1 before v2, the whole tree before a part of it.
int rank(const host::Mount& mount, Hierarchy::Version version) {
  return (version == Hierarchy::Version::kV1 ? 2 : 0) + (mount.root == "/" ? 1 : 0);
}

/// Every v2 directory has this file, no v1 directory does.
Result<Hierarchy> hierarchy_at(const std::string& directory) {
  const UniqueFd opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened) {
    return Error{errno, "open cgroup directory '" + directory + "'",
                 "say with --path.cgroupfs where the hierarchy that carries perf_event is mounted"};
  }
  const bool v2 = ::faccessat(opened.get(), "cgroup.controllers", F_OK, 0) == 0;
  return Hierarchy{directory, v2 ? Hierarchy::Version::kV2 : Hierarchy::Version::kV1};
}

}  // namespace

std::optional<Hierarchy> choose_hierarchy(const std::vector<host::Mount>& mounts) {
  std::optional<Hierarchy> best;
  int best_rank = -1;
  for (const host::Mount& mount : mounts) {
    const std::optional<Hierarchy::Version> version = version_carrying_perf_event(mount);
    if (!version || rank(mount, *version) <= best_rank) continue;
    best_rank = rank(mount, *version);
    best = Hierarchy{mount.point, *version};
  }
  return best;
}

Result<std::optional<Hierarchy>> find_hierarchy(const host::HostRoots& roots) {
  if (!roots.cgroupfs.empty()) {
    Result<Hierarchy> given = hierarchy_at(roots.cgroupfs);
    if (!given) return given.error();
    return std::optional<Hierarchy>{std::move(*given)};
  }
  const Result<std::vector<host::Mount>> mounts = host::read_mounts(roots);
  if (!mounts) return mounts.error();
  return choose_hierarchy(*mounts);
}

}  // namespace pex::cgroup
