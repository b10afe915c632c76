#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "count/counter_source.h"
#include "count/cpu_offline.h"
#include "count/row_set.h"
#include "perf/counter_group.h"
#include "perf/perf_kernel.h"
#include "targets/poll_report.h"

namespace pex::collect {

/// The kernel as one worker calls it, with a count of its answers, by which another thread can see
/// that the worker makes progress. Only the worker writes the count, so it needs no locked
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
  Result<perf::OpenCounter> open_event(perf::EventAttr& attr,
                                       const perf::EventTarget& target) override {
    return counted(kernel_.open_event(attr, target));
  }
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument) override {
    return counted(kernel_.control(fd, operation, argument));
  }
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override {
    return counted(kernel_.map(fd, bytes, offset, writable));
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

/// Cgroups whose clock on a CPU goes on while none of their tasks runs there: enabled time grows,
/// and running time does not. Seen on Linux 6.18, now and then, after events of a cgroup were
/// closed while a task of it ran; it ends when one runs there again. The cause in the kernel is not
/// known.
using StuckClocks = RowSet;  // of targets

/// One file descriptor of perf_event_open(2) for each event and target.
class DescriptorGroup final : public GroupCounters {
 public:
  /// `kernel` and `clocks`, of all groups of the CPU, outlive it. It opens at most so many events.
  DescriptorGroup(perf::PerfKernel& kernel, int cpu, std::size_t events, StuckClocks& clocks)
      : kernel_(&kernel),
        cpu_(cpu),
        words_(perf::words_of_last_reading(events)),
        clocks_(&clocks) {}

  Result<Opened, perf::OpenFailure> open(
      std::size_t target, const GroupPlan& group, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) override;
  void close(std::size_t target) override;

  Result<State> read(std::size_t target, perf::GroupInterval& since) override;
  Result<State> read_off_pmu(std::size_t target, perf::GroupInterval& since) override;
  Result<> set_enabled(std::size_t target, bool enabled) override;

 private:
  void prefetch_after(std::size_t target) const;
  State advance(std::size_t target, perf::GroupInterval& since);
  bool has_stuck_clock(const perf::CounterGroup& opened, std::chrono::nanoseconds before);

  perf::PerfKernel* kernel_;
  int cpu_;
  std::size_t words_;
  StuckClocks* clocks_;
  bool is_of_cgroups_ = false;  ///< target 0 of the others is the CPU
  bool always_count_ = false;   ///< events in cgroups that never lose the PMU
  std::vector<std::optional<perf::CounterGroup>> counters_;  ///< by target
  std::vector<std::uint64_t> last_;                          ///< readings, [target * words_ + word]
  perf::GroupReading reading_;                               ///< reused, to allocate nothing
};

/// Counts with descriptors alone.
class DescriptorSource final : public CounterSource {
 public:
  /// `kernel` outlives it.
  DescriptorSource(perf::PerfKernel& kernel, int cpu)
      : kernel_(kernel), cpu_(cpu), offline_(kernel_, cpu) {}

  std::unique_ptr<GroupCounters> counters_of(const GroupPlan& group) override {
    return std::make_unique<DescriptorGroup>(kernel_, cpu_, group.events.size(), clocks_);
  }
  void report(PollReport& report, PollFeedback&) override { ++report.now.cpus_by_descriptors; }

  std::optional<std::chrono::nanoseconds> detect_cpu_offline(bool is_online) override {
    if (is_online) return offline_.detect();
    offline_.reset();
    return {};
  }

  std::size_t own_events() const override { return offline_.is_open() ? 1 : 0; }
  std::chrono::nanoseconds now() override { return kernel_.now(); }
  std::uint64_t progress() const override { return kernel_.answers(); }

 private:
  CountedKernel kernel_;
  int cpu_;
  StuckClocks clocks_;
  CpuOfflineDetector offline_;
};

}  // namespace pex::collect
