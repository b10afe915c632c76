#pragma once

#include "perf/perf_kernel.h"

namespace pex::perf {

/// The door on Linux: translates requests into system calls, and holds no state and no policy.
class LinuxPerfKernel final : public PerfKernel {
 public:
  Result<OpenCounter> open(const CounterRequest& request) override;
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override;
  Result<OpenCounter> open_event(EventAttr& attr, const EventTarget& target) override;
  Result<> control(int fd, EventControl operation, std::uint64_t argument) override;
  Result<Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override;
  std::chrono::nanoseconds now() override;
  std::optional<WorkDone> work(const KnownWork& work) override { return do_known_work(work); }
};

}  // namespace pex::perf
