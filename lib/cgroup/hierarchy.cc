#include "cgroup/hierarchy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"

namespace pex::cgroup {
namespace {

std::optional<Hierarchy::Version> version_carrying_perf_event(const host::Mount& mount) {
  if (mount.fs_type == "cgroup" && mount.has_option("perf_event")) return Hierarchy::Version::kV1;
  if (mount.fs_type == "cgroup2") return Hierarchy::Version::kV2;
  return {};
}

/// How much of the tree a mount shows. In a cgroup namespace the root of a mount is relative to our
/// own cgroup: "/" is our part, "/.." the one above it, and so on up to the whole tree of the host.
/// Any other root is a part that somebody chose.
std::size_t reach(const host::Mount& mount) {
  if (mount.root == "/") return 1;
  const std::vector<std::string_view> above = split(std::string_view(mount.root).substr(1), '/');
  const bool only_above =
      std::all_of(above.begin(), above.end(), [](std::string_view part) { return part == ".."; });
  return only_above ? 1 + above.size() : 0;
}

/// The v1 hierarchy with the CPU time, with most of the tree; empty if there is none.
std::string accounting(const std::vector<host::Mount>& mounts) {
  std::string best;
  std::size_t best_reach = 0;
  for (const host::Mount& mount : mounts) {
    if (mount.fs_type != "cgroup" || !mount.has_option("cpuacct")) continue;
    if (reach(mount) <= best_reach) continue;
    best_reach = reach(mount);
    best = mount.point;
  }
  return best;
}

/// Every v2 directory has this file, no v1 directory does.
Result<Hierarchy> hierarchy_at(const host::HostRoots& roots) {
  const std::string& directory = roots.cgroupfs;
  const UniqueFd opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened) {
    return Error{errno, "open cgroup directory '" + directory + "'",
                 "set " + ProgramTerm::kCgroupfs +
                     " to the mount of the hierarchy with the perf_event controller"};
  }
  const bool v2 = ::faccessat(opened.get(), "cgroup.controllers", F_OK, 0) == 0;
  return Hierarchy{directory, v2 ? Hierarchy::Version::kV2 : Hierarchy::Version::kV1};
}

}  // namespace

std::optional<Hierarchy> choose_hierarchy(const std::vector<host::Mount>& mounts) {
  std::optional<Hierarchy> best;
  std::pair<bool, std::size_t> best_rank;
  for (const host::Mount& mount : mounts) {
    const std::optional<Hierarchy::Version> version = version_carrying_perf_event(mount);
    if (!version) continue;
    const std::pair rank{*version == Hierarchy::Version::kV1, reach(mount)};
    if (best && rank <= best_rank) continue;
    best_rank = rank;
    best = Hierarchy{mount.point, *version};
  }
  if (best && best->version == Hierarchy::Version::kV1) best->accounting = accounting(mounts);
  return best;
}

Result<std::optional<Hierarchy>> find_hierarchy(const host::HostRoots& roots) {
  if (!roots.cgroupfs.empty()) {
    Result<Hierarchy> given = hierarchy_at(roots);
    if (!given) return given.error();
    return std::optional<Hierarchy>{std::move(*given)};
  }
  const Result<std::vector<host::Mount>> mounts = host::read_mounts(roots);
  if (!mounts) return mounts.error();
  return choose_hierarchy(*mounts);
}

}  // namespace pex::cgroup
