#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/support/cgroup_tree.h"
#include "bench/support/stop_signals.h"
#include "bench/support/way.h"
#include "bench/workload/compile_work.h"
#include "bench/workload/http_load.h"
#include "bench/workload/http_servers.h"

namespace pex::bench {

/// What is done, and who counts it.
struct WorkScene {
  std::vector<int> uncounted_cpus;  ///< on which nothing is done
  const CgroupTree& cgroups;
  const CompileWork& compiling;
  const HttpServers& servers;
  std::chrono::duration<double> load_time;  ///< of the servers
  std::string daemon;                       ///< the program
  std::string directory;                    ///< for its files
  const StopSignals& stop;
};

/// One round of one way of counting.
struct WorkSample {
  CompileWork::Cost compiling;
  LoadResult load;
  double daemon_cpu_percent = 0;  ///< of one CPU, while both went on; 0 without a daemon
  double cpus_by_records = 0;     ///< that counted by records at the end
};

/// In each round all ways, in random order: the counters are opened, both kinds of work are done,
/// and the counters are closed. Returns a row of samples for each way, one of each round.
Result<std::vector<std::vector<WorkSample>>> measure_work(const std::vector<Way>& ways,
                                                          std::size_t rounds,
                                                          const WorkScene& scene);

}  // namespace pex::bench
