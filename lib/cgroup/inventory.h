#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace pex::cgroup {

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
