#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/support/cgroup_tree.h"
#include "bench/support/stop_signals.h"
#include "bench/workload/child_process.h"

namespace pex::bench {

/// `g++ -O1` compiles a generated file again and again, each time in the next cgroup, as often at
/// the same time as there are CPUs for it.
class CompileWork {
 public:
  struct Cost {
    double cpu_seconds = 0;  ///< of all compilers
    double seconds = 0;      ///< from the first one's start to the last one's end
  };

  /// Writes the file into `directory`. `cpus`: where the compilers run.
  static Result<CompileWork> prepare(const std::string& directory, std::size_t files,
                                     const CgroupTree& cgroups, const std::vector<int>& cpus);

  /// Fails with EINTR when a stop signal arrives.
  Result<Cost> run(const StopSignals& stop) const;

 private:
  CompileWork(std::string directory, std::size_t files, const CgroupTree& cgroups,
              std::vector<int> cpus)
      : directory_(std::move(directory)),
        files_(files),
        cgroups_(cgroups),
        cpus_(std::move(cpus)) {}

  Result<ChildProcess> start(std::size_t number) const;

  std::string directory_;
  std::size_t files_;
  const CgroupTree& cgroups_;
  std::vector<int> cpus_;
};

}  // namespace pex::bench
