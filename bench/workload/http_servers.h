#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bench/support/cgroup_tree.h"
#include "bench/workload/child_process.h"

namespace pex::bench {

/// A minimal HTTP server in each cgroup: a process that serves one connection after the other, and
/// hashes some bytes for each request.
class HttpServers {
 public:
  /// `cpus`: where they run. `work_bytes`: hashed for each request.
  static Result<HttpServers> start(const CgroupTree& cgroups, const std::vector<int>& cpus,
                                   std::size_t work_bytes);

  static constexpr const char kRequest[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
  static constexpr std::size_t kAnswerBytes = 56;

  const std::vector<std::uint16_t>& ports() const { return ports_; }
  /// Of all of them, so far.
  std::chrono::nanoseconds cpu_time() const;

 private:
  HttpServers() = default;

  std::vector<ChildProcess> processes_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace pex::bench
