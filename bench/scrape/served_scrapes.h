#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "count/snapshot.h"

namespace pex::bench {

/// How scrapes are asked for.
struct Asking {
  bool gzip = false;
  bool fresh = false;  ///< each time of a snapshot that was not rendered yet
  std::size_t times = 0;
  std::chrono::milliseconds apart{};
};

struct Served {
  std::vector<double>
      milliseconds;       ///< from the first byte of the request to the last of the answer
  std::size_t bytes = 0;  ///< of one answer's body
  std::uint64_t allocated_bytes = 0;  ///< by the server and the client in the last of them
};

/// Serves `snapshot` with the exporter's own HTTP server, cache and worker on loopback, and scrapes
/// it over one connection that is kept alive.
Served serve_scrapes(const std::shared_ptr<const collect::Snapshot>& snapshot,
                     const Asking& asking);

}  // namespace pex::bench
