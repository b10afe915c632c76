#pragma once

#include <chrono>
#include <cstddef>

#include "base/result.h"
#include "bench/support/stop_signals.h"
#include "bench/workload/http_servers.h"

namespace pex::bench {

/// What a load of requests was answered with.
struct LoadResult {
  double requests_per_second = 0;
  double median_us = 0;  ///< from a request to its answer
  double p99_us = 0;
  double cpu_us = 0;  ///< of the servers, for each request
};

/// Keeps one request after the other under way on a connection to each of the servers, from this
/// thread. After a moment to warm up, for so long. Fails with EINTR when a stop signal arrives.
Result<LoadResult> load(const HttpServers& servers, std::chrono::duration<double> time,
                        const StopSignals& stop);

}  // namespace pex::bench
