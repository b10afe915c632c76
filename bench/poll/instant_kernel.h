#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/perf_kernel.h"

namespace pex::bench {

/// A kernel that answers at once, so that nothing is measured but our own work. Whatever is opened
/// counts one thing each microsecond of a clock that each read moves on by kStep, and never loses
/// the PMU. Its descriptors belong to no file. Not thread-safe.
class InstantKernel : public perf::PerfKernel {
 public:
  static constexpr std::uint64_t kStep = 1'000'000;  ///< ns

  /// No more memory is taken until so many counters are open.
  explicit InstantKernel(std::size_t counters) {
    leaders_.reserve(counters);
    has_ids_.reserve(counters);
  }

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override;
  Result<> enable_group(int leader_fd) override;
  Result<> disable_group(int leader_fd) override;
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override;
  Result<perf::OpenCounter> open_event(perf::EventAttr&, const perf::EventTarget&) override {
    return Error{ENOSYS, {}, {}};
  }
  Result<> control(int, perf::EventControl, std::uint64_t) override {
    return Error{ENOSYS, {}, {}};
  }
  Result<perf::Mapping> map(int, std::size_t, std::size_t, bool) override {
    return Error{ENOSYS, {}, {}};
  }
  std::chrono::nanoseconds now() override { return std::chrono::nanoseconds{now_}; }

 protected:
  static std::size_t index_of(int fd);
  /// A counter that leads a group, or joins that of `leader_fd`. `has_ids`: the readings of a
  /// group that it leads have the ids of all counters.
  perf::OpenCounter add(int leader_fd, bool has_ids = true);
  std::size_t members_of(std::uint64_t leader) const;  ///< with itself

 private:
  std::vector<std::size_t> leaders_;  ///< of each counter; members follow their leader
  std::vector<bool> has_ids_;         ///< of each counter
  std::uint64_t now_ = 0;             ///< ns
};

}  // namespace pex::bench
