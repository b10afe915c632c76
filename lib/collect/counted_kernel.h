#pragma once

#include <atomic>
#include <cstdint>

#include "perf/perf_kernel.h"

namespace pex::collect {

/// The kernel as one worker calls it, with a count of its answers, so that another thread can see
/// that the worker gets on. The worker alone writes that count, so it costs it no locked
/// instruction.
class CountedKernel final : public perf::PerfKernel {
 public:
  /// `kernel` outlives it.
  explicit CountedKernel(perf::PerfKernel& kernel) : kernel_(kernel) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    return counted(kernel_.open(request));
  }
  Result<> enable_group(int leader_fd) override { return counted(kernel_.enable_group(leader_fd)); }
  Result<> disable_group(int leader_fd) override {
    return counted(kernel_.disable_group(leader_fd));
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    return counted(kernel_.read_group(leader_fd, words));
  }
  std::chrono::nanoseconds now() override { return kernel_.now(); }

  std::uint64_t answers() const { return answers_.load(std::memory_order_relaxed); }

 private:
  template <typename Answer>
  Answer counted(Answer answer) {
    answers_.store(answers() + 1, std::memory_order_relaxed);
    return answer;
  }

  perf::PerfKernel& kernel_;
  std::atomic<std::uint64_t> answers_ = 0;
};

}  // namespace pex::collect
