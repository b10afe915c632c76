#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/roots.h"

namespace pex::host {

/// The CPUs that run tasks. The events of a CPU that was hotplugged never count again, so the list
/// is read at each poll: the file is held open. Not thread-safe.
class OnlineCpus {
 public:
  explicit OnlineCpus(const HostRoots& roots) : path_(roots.online_cpus()) {}

  /// The CPUs that are online now, in rising order; at least one. The same object as at the last
  /// call if nothing changed.
  Result<std::shared_ptr<const std::vector<int>>> read();

 private:
  std::string path_;
  UniqueFd file_;
  std::string text_;  ///< of the file when it was last read
  std::shared_ptr<const std::vector<int>> cpus_;
};

/// The same, read once.
Result<std::vector<int>> online_cpus(const HostRoots& roots);

/// The CPUs that are online or may come; none if the kernel does not say.
Result<std::vector<int>> present_cpus(const HostRoots& roots);

/// The CPUs isolated from the scheduler (isolcpus=), and those without a tick (nohz_full=); none if
/// the kernel does not support the set.
Result<std::vector<int>> isolated_cpus(const HostRoots& roots);
Result<std::vector<int>> nohz_full_cpus(const HostRoots& roots);

}  // namespace pex::host
