#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::host {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)), without unused fields. Root and mount
/// point are not empty.
struct Mount {
  std::string root;     ///< the part of the file system that is mounted; "/" for all of it
  std::string point;    ///< the mount point
  std::string fs_type;  ///< "cgroup2"
  std::string options;  ///< of the super block, comma-separated: "rw,perf_event"
  std::string id = {};  ///< as long as it is mounted

  bool has_option(std::string_view option) const;
};

/// Lines of another form are ignored: the kernel may add kinds of mounts, which are no reason to
/// fail.
std::vector<Mount> parse_mounts(std::string_view text);

/// In mount order: a later mount on the same point hides the earlier one.
Result<std::vector<Mount>> read_mounts(const HostRoots& roots);

/// The mount that has a file, which may be a mount of that file alone; none for the mount of the
/// root. A later mount there has another id, and a rename where it is mounted from another root.
std::optional<Mount> mount_of_file(const HostRoots& roots, const std::string& path);

/// Why `path`, in the mount that it had `before`, is still the old file: an editor that keeps that
/// as its backup gives it another name where it is mounted from. `noun`: "the configuration".
std::optional<Error> renamed_since(const std::optional<Mount>& before, const HostRoots& roots,
                                   const std::string& path, std::string_view noun);

}  // namespace pex::host
