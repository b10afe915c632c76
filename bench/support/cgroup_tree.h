#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "host/roots.h"

namespace pex::bench {

/// Retries, as the kernel may need a moment after the last process has left; then says why on
/// stderr.
void remove_cgroup(const std::string& directory);

/// Of a directory. The process 0 is the calling one.
Result<> move_to_cgroup(const std::string& directory, pid_t process);

/// Some cgroups to count in, next to each other below one of our own; removed with it. Their
/// processes, if any, have to be gone by then.
class CgroupTree {
 public:
  /// In the hierarchy that the daemon would choose.
  static Result<CgroupTree> make(const host::HostRoots& roots, std::size_t cgroups);
  ~CgroupTree();
  CgroupTree(CgroupTree&&) = default;
  CgroupTree& operator=(CgroupTree&&) = delete;

  std::size_t size() const { return made_.empty() ? 0 : made_.size() - 1; }
  /// Matches every one of them, and nothing else.
  std::string glob() const { return name_ + "/*"; }
  const std::string& directory(std::size_t number) const { return made_[1 + number]; }

 private:
  CgroupTree() = default;
  std::string name_;               ///< of the one around them: below the mount, starts with '/'
  std::vector<std::string> made_;  ///< its directory, then theirs
};

}  // namespace pex::bench
