#include "cgroup/hierarchy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cgroup/inventory.h"
#include "host/self_process.h"

namespace pex::cgroup {
namespace {

/// Of the list of a cgroup's threads: half a million of them.
constexpr std::size_t kMaxThreadList = 4 * 1024 * 1024;

/// What the kernel shows of each directory above our cgroup namespace.
constexpr std::string_view kAbove = "/..";

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

bool begins_above(std::string_view path) {
  return path.starts_with(kAbove) && (path.size() == kAbove.size() || path[kAbove.size()] == '/');
}

/// The part of `path` that is below `above`; "" if they are the same. Nothing if it is not below,
/// or if the names in between are not shown.
std::optional<std::string> part_below(const std::string& path, const std::string& above) {
  const std::string prefix = above == "/" ? "" : above;
  if (path == above) return "";
  if (!path.starts_with(prefix + "/")) return {};
  std::string below = path.substr(prefix.size());
  if (begins_above(below)) return {};
  return below;
}

/// Of the directory, if the calling thread is in its cgroup.
std::optional<std::uint64_t> id_if_own(const std::string& directory, Hierarchy::Version version) {
  const char* const threads = version == Hierarchy::Version::kV1 ? "/tasks" : "/cgroup.threads";
  const Result<std::string> listed = read_small_file(directory + threads, kMaxThreadList);
  if (!listed) return {};
  const std::string own = std::to_string(::gettid());
  const std::vector<std::string_view> all = split(*listed, '\n');
  if (std::find(all.begin(), all.end(), own) == all.end()) return {};
  return inode_of(directory);
}

/// Below `directory`, with any names before `below`, as many as `depth`.
std::optional<std::uint64_t> search_own(const std::string& directory, std::size_t depth,
                                        const std::string& below, Hierarchy::Version version) {
  if (depth == 0) return id_if_own(directory + below, version);
  const Result<std::vector<ChildDirectory>, int> children = child_directories(directory);
  if (!children) return {};
  for (const ChildDirectory& child : *children) {
    const auto found = search_own(directory + "/" + child.name, depth - 1, below, version);
    if (found) return found;
  }
  return {};
}

/// In a mount that shows more than our cgroup namespace.
std::optional<std::uint64_t> search_own(const host::Mount& mount, std::string_view path,
                                        Hierarchy::Version version) {
  if (reach(mount) == 0) return {};
  std::size_t depth = reach(mount) - 1;
  for (; depth > 0 && begins_above(path); --depth) path.remove_prefix(kAbove.size());
  if (begins_above(path)) return {};
  return search_own(mount.point, depth, path == "/" ? "" : std::string(path), version);
}

/// The v1 hierarchy with the CPU time, with most of the tree; empty if there is none.
std::string accounting(const std::vector<host::Mount>& mounts) {
  const host::Mount* best = nullptr;
  for (const host::Mount& mount : mounts) {
    if (mount.fs_type != "cgroup" || !mount.has_option("cpuacct")) continue;
    if (reach(mount) > (best == nullptr ? 0 : reach(*best))) best = &mount;
  }
  return best == nullptr ? std::string{} : best->point;
}

/// Where `directory` is a mount, and so has the paths of the other hierarchies; else empty.
std::string accounting_of(const host::HostRoots& roots, const std::string& directory) {
  const Result<std::vector<host::Mount>> mounts = host::read_mounts(roots);
  if (!mounts) return {};
  const bool is_mount = std::any_of(mounts->begin(), mounts->end(), [&](const host::Mount& mount) {
    return mount.fs_type == "cgroup" && mount.point == directory;
  });
  return is_mount ? accounting(*mounts) : std::string{};
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
  Hierarchy hierarchy{directory, v2 ? Hierarchy::Version::kV2 : Hierarchy::Version::kV1};
  if (!v2) hierarchy.accounting = accounting_of(roots, directory);
  return hierarchy;
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

namespace {

/// Of the calling thread. It is only in one cgroup, so no other candidate can be taken for it, even
/// where a mount is hidden by another one.
std::optional<std::uint64_t> find_own(const std::string& cgroups, const host::HostRoots& roots,
                                      const Hierarchy& hierarchy) {
  const auto path = host::perf_cgroup_of(cgroups);
  if (!path || !path->starts_with('/')) return {};
  std::vector<host::Mount> mounts{{"/", hierarchy.mount, {}, {}}};  // in case no other shows it
  const Result<std::vector<host::Mount>> mounted = host::read_mounts(roots);
  for (const host::Mount& mount : mounted ? *mounted : std::vector<host::Mount>{}) {
    if (version_carrying_perf_event(mount) == hierarchy.version) mounts.push_back(mount);
  }
  for (const host::Mount& mount : mounts) {
    const auto below = part_below(*path, mount.root);
    if (!below) continue;
    if (const auto id = id_if_own(mount.point + *below, hierarchy.version)) return id;
  }
  for (const host::Mount& mount : mounts) {
    if (mount.point != hierarchy.mount) continue;
    if (const auto id = search_own(mount, *path, hierarchy.version)) return id;
  }
  return {};
}

}  // namespace

std::optional<std::uint64_t> OwnCgroup::operator()() {
  const Result<std::string> shown = read_small_file(roots_.own_cgroups());
  if (!shown) return {};
  if (!id_ || *shown != shown_) id_ = find_own(*shown, roots_, hierarchy_);
  shown_ = *shown;
  return id_;
}

}  // namespace pex::cgroup
