#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace pex::cgroup {

/// One cgroup, held by its directory: paths are reused, a directory is not. A removed cgroup can
/// still be read through open counters; it stays in the kernel as dying until this and they are
/// closed.
struct Cgroup {
  std::string path;      ///< below the mount, starts with '/'
  std::uint64_t id = 0;  ///< inode number: unique while the directory is held
  UniqueFd directory;
};

/// False once it has been removed: its directory can still be held, but has lost its files.
bool still_exists(const Cgroup& cgroup);

}  // namespace pex::cgroup
