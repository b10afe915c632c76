#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace pex::cgroup {

/// All names of a path: root has given them, or who owns the tree.
inline constexpr std::size_t kAllNames = static_cast<std::size_t>(-1);

/// How many names of a path below `mount`, from the beginning, are not of other users: who may
/// write to a directory names what is in it. Of a path that is gone, the first directory that is
/// gone too may have been of a user.
std::size_t names_of_root(const std::string& mount, const std::string& path);

/// One cgroup, held by its directory: paths are reused, a directory is not. A removed cgroup can
/// still be read through open counters; it stays in the kernel as dying until this and they are
/// closed. One that was removed before its directory could be opened has none: only what the kernel
/// has recorded of it can be counted (Discovery::update). It must not be opened with descriptors:
/// to perf_event_open(2), no directory means the whole CPU.
struct Cgroup {
  std::string path;                 ///< below the mount, starts with '/'
  std::uint64_t id = 0;             ///< inode number: unique while the directory is held
  UniqueFd directory;               ///< empty: it was gone before it could be opened
  std::size_t of_root = kAllNames;  ///< names_of_root()
};

/// False once it has been removed: its directory can still be held, but has lost its files.
bool still_exists(const Cgroup& cgroup);

/// A cgroup as the kernel reports it (PERF_RECORD_CGROUP). It may be gone by now.
struct NamedCgroup {
  std::uint64_t id = 0;  ///< as in Cgroup
  std::string path;

  bool operator==(const NamedCgroup&) const = default;
};

}  // namespace pex::cgroup
