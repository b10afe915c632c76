#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "perf/group_reading.h"
#include "perf/linux_perf_kernel.h"
#include "tests/support/forwarding_kernel.h"

namespace pex::bench {

/// The real kernel, and a memory of which groups were started on which CPU. Costs a read one more
/// indirect call, a nanosecond or two, to the daemon's disadvantage.
class RecordingKernel final : public test::ForwardingKernel {
 public:
  RecordingKernel() : ForwardingKernel(linux_) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override;
  Result<> enable_group(int leader_fd) override;

  /// The leaders of all groups started so far, in the order in which they were, by CPU. Left out
  /// are groups that were only tried and never started, and those of the event `dummy`, which count
  /// nothing: what the daemon needs them for is its own cost and none of the floor's.
  std::map<int, std::vector<int>> leaders() const;
  /// In all of those groups.
  std::size_t events() const;

  /// What was started until now was only tried: a plan opens and closes each group once.
  void forget();

 private:
  perf::LinuxPerfKernel linux_;
  mutable std::mutex mutex_;
  std::map<int, std::vector<int>> leaders_;
  std::size_t events_ = 0;
};

/// The least that reading all groups can cost: a thread pinned to each CPU, woken once, which makes
/// one read(2) for each group into the same few words and goes back to sleep. Nothing is decoded,
/// kept or passed on.
///
/// It reads the very descriptors that the daemon holds, in the daemon's order. A second set of
/// groups would be simpler, but every event in a cgroup is also work at each switch to it and takes
/// room in the caches: with one set both sides read the same memory of the kernel, equally warm.
class Floor {
 public:
  /// The descriptors stay open for longer than it lives.
  explicit Floor(const std::map<int, std::vector<int>>& leaders);
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  /// Wakes all threads with one system call and returns at once.
  void start_round();
  bool is_done() const { return done_ == rounds_ * threads_.size(); }
  /// The errno of a read that failed, in any round; 0 when none did.
  int failure() const { return failure_; }

 private:
  void serve(int cpu, const std::vector<int>& leaders);

  std::atomic<unsigned> rounds_ = 0;  ///< threads sleep on this word
  std::atomic<std::size_t> done_ = 0;
  std::atomic<int> failure_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pex::bench
