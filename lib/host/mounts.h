#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)), as far as we need it.
struct Mount {
  std::string root;     ///< which part of the file system is mounted; "/" for all of it
  std::string point;    ///< where it can be opened
  std::string fs_type;  ///< "cgroup2"
  std::string options;  ///< of the super block, comma-separated: "rw,perf_event"

  bool has_option(std::string_view option) const;
};

/// Lines that are not of the documented form are left out: the kernel may add mounts we know
/// nothing of, and none of them is worth failing for.
std::vector<Mount> parse_mounts(std::string_view text);

/// In mount order: a later mount on the same point hides the earlier one.
Result<std::vector<Mount>> read_mounts(const HostRoots& roots);

}  // namespace pex::host
