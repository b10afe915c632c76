#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/roots.h"

namespace pex::host {

/// The CPUs that run tasks. Changes when one is hotplugged, and the events of a CPU that went away
/// never count again, so it is asked at each poll: the file is held open. Not thread-safe.
class OnlineCpus {
 public:
  explicit OnlineCpus(const HostRoots& roots) : path_(roots.online_cpus()) {}

  /// Those of now, in rising order; at least one.
  Result<std::vector<int>> read();

 private:
  std::string path_;
  UniqueFd file_;
};

/// The same, once.
Result<std::vector<int>> online_cpus(const HostRoots& roots);

/// The CPUs that the scheduler is kept away from (isolcpus=), and those without a tick
/// (nohz_full=); none where the kernel knows of no such thing.
Result<std::vector<int>> isolated_cpus(const HostRoots& roots);
Result<std::vector<int>> nohz_full_cpus(const HostRoots& roots);

}  // namespace pex::host
