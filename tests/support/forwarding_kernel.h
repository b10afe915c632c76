#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "perf/perf_kernel.h"

namespace pex::test {

/// Passes each call on to another kernel: a base for those that change or count some of them.
class ForwardingKernel : public perf::PerfKernel {
 public:
  /// `kernel` outlives it.
  explicit ForwardingKernel(perf::PerfKernel& kernel) : kernel_(&kernel) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    return kernel_->open(request);
  }
  Result<> enable_group(int leader_fd) override { return kernel_->enable_group(leader_fd); }
  Result<> disable_group(int leader_fd) override { return kernel_->disable_group(leader_fd); }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    return kernel_->read_group(leader_fd, words);
  }
  Result<perf::OpenCounter> open_event(perf::EventAttr& attr,
                                       const perf::EventTarget& target) override {
    return kernel_->open_event(attr, target);
  }
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument) override {
    return kernel_->control(fd, operation, argument);
  }
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override {
    return kernel_->map(fd, bytes, offset, writable);
  }
  std::chrono::nanoseconds now() override { return kernel_->now(); }
  std::optional<perf::WorkDone> work(const perf::KnownWork& work) override {
    return kernel_->work(work);
  }

 private:
  perf::PerfKernel* kernel_;
};

}  // namespace pex::test
