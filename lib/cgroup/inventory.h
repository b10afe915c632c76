#pragma once

#include <string>
#include <vector>

namespace pex::cgroup {

/// The paths of all cgroups below `mount`, in their order, whether selected or not. Those that
/// disappear meanwhile, and directories that cannot be read, are no error. Reads the whole tree:
/// for a command or a start, not for a poll.
std::vector<std::string> all_cgroups(const std::string& mount);

}  // namespace pex::cgroup
