#pragma once

#include "perf/perf_kernel.h"

namespace pex::perf {

/// The door on Linux: translates requests into system calls, and holds no state and no policy.
class LinuxPerfKernel final : public PerfKernel {
 public:
  Result<OpenCounter> open(const CounterRequest& request) override;
  Result<> enable_group(int leader_fd) override;
  Result<> disable_group(int leader_fd) override;
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override;
  std::chrono::nanoseconds now() override;
};

}  // namespace pex::perf
