#include "cgroup/cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace pex::cgroup {
namespace {

bool is_of_others(const struct stat& directory, const std::string& mount) {
  const bool group_may = (directory.st_mode & S_IWGRP) != 0 && directory.st_gid != 0;
  if (group_may || (directory.st_mode & S_IWOTH) != 0) return true;
  struct stat root {};
  return directory.st_uid != 0 &&
         (::stat(mount.c_str(), &root) != 0 || directory.st_uid != root.st_uid);
}

}  // namespace

std::size_t names_of_root(const std::string& mount, const std::string& path) {
  std::size_t names = kAllNames;
  for (std::size_t end = path.rfind('/'); end != 0 && end != path.npos;
       end = path.rfind('/', end - 1)) {
    const std::string above = path.substr(0, end);
    struct stat directory {};
    const bool is_there = ::stat((mount + above).c_str(), &directory) == 0;
    if (is_there && !is_of_others(directory, mount)) break;
    names = static_cast<std::size_t>(std::count(above.begin(), above.end(), '/'));
  }
  return names;
}

bool still_exists(const Cgroup& cgroup) {
  return cgroup.directory && ::faccessat(cgroup.directory.get(), "cgroup.procs", F_OK, 0) == 0;
}

}  // namespace pex::cgroup
