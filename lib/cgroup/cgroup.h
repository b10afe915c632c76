#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace pex::cgroup {

/// One cgroup, held by its directory: paths are used again, a directory is not. Removed, it can
/// still be read through counters that are open; it stays in the kernel as dying until this and
/// they are closed.
struct Cgroup {
  std::string path;      ///< below the mount, starts with '/'
  std::uint64_t id = 0;  ///< inode number: unique as long as the directory is held
  UniqueFd directory;
};

/// False once it has been removed: its directory can still be held, but has lost its files.
bool still_exists(const Cgroup& cgroup);

}  // namespace pex::cgroup
