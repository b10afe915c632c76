#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "base/result.h"

namespace pex::cgroup {

/// A directory as its parent lists it.
struct ChildDirectory {
  std::string name;
  std::uint64_t inode = 0;
};

/// The directories in a directory, in any order, at most `most`. Opens that directory only: the
/// inode numbers are those of readdir(3). Fails with the errno of opening or reading it; with EXDEV
/// if it is not on `device`.
Result<std::vector<ChildDirectory>, int> child_directories(
    const std::string& directory, std::optional<dev_t> device = {},
    std::size_t most = std::numeric_limits<std::size_t>::max());

/// The inode of the directory that has this name now; nothing if none has.
std::optional<std::uint64_t> inode_of(const std::string& directory);

/// Whether opening a file failed for lack of descriptors, which is temporary.
bool lacks_descriptors(int code);

/// What to do about a directory that cannot be opened, or read.
Remedy remedy_for_directory(int code);

/// The cgroups below a mount, whether selected or not, in the order of their paths.
struct Inventory {
  std::vector<std::string> cgroups;
  std::vector<std::string> unreadable;  ///< what is in these is not known; "/" is the root
  bool is_cut_off = false;              ///< there are more than the limit
};

/// Reads the whole tree, but stops at `limit` cgroups: for a command or a start, not for a poll.
/// Cgroups that disappear meanwhile are left out.
Inventory take_inventory(const std::string& mount,
                         std::size_t limit = std::numeric_limits<std::size_t>::max());

}  // namespace pex::cgroup
