#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/roots.h"

namespace pex::bench {

/// Some cgroups to count in, next to each other below one of our own; removed with it. Their
/// processes, if any, have to be gone by then.
class CgroupTree {
 public:
  /// In the hierarchy that the daemon would choose.
  static Result<CgroupTree> make(const host::HostRoots& roots, std::size_t cgroups);
  ~CgroupTree();
  CgroupTree(CgroupTree&&) = default;
  CgroupTree& operator=(CgroupTree&&) = delete;

  std::size_t size() const { return directories_.size(); }
  /// Matches every one of them, and nothing else.
  std::string glob() const { return name_ + "/*"; }
  const std::string& directory(std::size_t number) const { return directories_[number]; }

 private:
  CgroupTree() = default;
  std::string name_;  ///< below the mount, starts with '/'
  std::string top_;   ///< its directory; empty when there is nothing to remove
  std::vector<std::string> directories_;
};

/// A process on each CPU that walks through more memory than a second-level cache holds and sleeps
/// a moment, in turns. Each sits in a cgroup of its own, as far as there are some. They do to
/// caches what the work of a real machine does.
class BusyProcesses {
 public:
  BusyProcesses(const CgroupTree& tree, const std::vector<int>& cpus);
  ~BusyProcesses();
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> processes_;
};

}  // namespace pex::bench
