#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "perf/linux_perf_kernel.h"
#include "tests/support/forwarding_kernel.h"

namespace pex::bench {

/// The kernel, in which the group of so many values never has the PMU unless another group is
/// stopped: as if the PMU had room for one of the two. All else is real. So groups of software
/// events take turns, which takes the same calls as with hardware events.
class CrowdedKernel final : public test::ForwardingKernel {
 public:
  explicit CrowdedKernel(std::size_t values) : ForwardingKernel(linux_), values_(values) {}

  Result<> enable_group(int leader_fd) override {
    stopped_ = std::max(stopped_ - 1, 0);
    return ForwardingKernel::enable_group(leader_fd);
  }
  Result<> disable_group(int leader_fd) override {
    ++stopped_;
    return ForwardingKernel::disable_group(leader_fd);
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    const Result<std::size_t> read = ForwardingKernel::read_group(leader_fd, words);
    if (!read || words[0] != values_) return read;
    const std::uint64_t passed = words[1] - enabled_;
    enabled_ = words[1];
    if (stopped_ == 0) off_pmu_ += passed;
    words[2] -= std::min(off_pmu_, words[2]);
    return read;
  }

 private:
  perf::LinuxPerfKernel linux_;
  std::size_t values_;
  int stopped_ = 0;  ///< groups
  std::uint64_t enabled_ = 0;
  std::uint64_t off_pmu_ = 0;
};

}  // namespace pex::bench
